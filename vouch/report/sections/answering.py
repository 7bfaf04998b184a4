"""Answer, or hand to a person: how many questions a model may answer alone."""

from markupsafe import Markup

from vouch.metrics.conformal.selective import SURE, WRONG
from vouch.report import formatting
from vouch.report.claims import answers_alone, chosen
from vouch.report.evidence import Evidence
from vouch.report.section import Block, Figures, Folded, by_dataset, said
from vouch.report.table import ITEMS, MISSING, Cell, Column, Grid, Measured, cells, figure
from vouch.tables.asked import OUTPUTS

TITLE = "Answering alone"
ALONE, CONFORMAL = "answered_alone_", "answered_conformal_"
TEXT = Markup("""\
A model may answer alone where its confidence is high enough; all other questions go to a person. The share
that it may answer is shown on questions that did not choose the threshold: with a probability of 90&#8239;%
no more than the stated share of these answers is wrong. One question of each group counts. It takes 45
answers without an error to show 5&#8239;%, and confidence that tells right answers from wrong ones.""")
SAMPLED = (
    Measured("tron_unreached", label="No right sample %"),
    Measured("tron_samples"),
    Measured("tron_coverage"),
    Measured("tron_set_size", label="Set size"),
)


def _blocks(evidence: Evidence, dataset: str) -> list[Block]:
    """Nothing where no confidence is known."""
    found = {model: _of(evidence, dataset, model) for model in evidence.models(dataset)}
    found = {model: shares for model, shares in found.items() if shares}
    sampled = _sampled(evidence, dataset)
    if not found:
        return sampled
    return [
        *said(_sentence(evidence, dataset, model) for model in chosen(evidence, dataset)),
        _grid(evidence, dataset, found),
        Figures([f"answering-{dataset}"]),
        *sampled,
    ]


def _of(evidence: Evidence, dataset: str, model: str) -> list[Cell]:
    """By per cent of WRONG, alone and on average; nothing where neither was tried."""
    row = []
    for metric in (ALONE, CONFORMAL):
        for percent in WRONG:
            number = evidence.number(dataset, model, f"{metric}{percent}")
            if number is None:
                return []
            row.append(figure(number, 1, 100) if number.value else Cell("none shown", key=0.0, tone="quiet"))
    return row


def _sentence(evidence: Evidence, dataset: str, model: str) -> str:
    found = answers_alone(evidence).get((dataset, model))
    if found is None:
        return ""
    return (
        f"{model} may answer {formatting.percent(found.answered, 0)} of the questions alone with at most "
        f"5{formatting.NARROW}% wrong, at {formatting.percent(SURE, 0)} confidence for all models and "
        f"datasets together: where its confidence is {formatting.number(found.threshold, 3)} or more."
    )


def _grid(evidence: Evidence, dataset: str, found: dict[str, list[Cell]]) -> Grid:
    sure = formatting.percent(SURE, 0)
    columns = [
        Column("Model"),
        ITEMS,
        *(
            Column(
                f"At most {percent} % wrong", f"% answered alone; holds with a probability of {sure}", True
            )
            for percent in WRONG
        ),
        *(
            Column(f"{percent} % of all, average", "% answered where so many of all questions go wrong", True)
            for percent in WRONG
        ),
    ]
    rows = []
    for model, shares in found.items():
        number = evidence.number(dataset, model, f"{ALONE}{WRONG[0]}")
        rows.append(cells(model, number.items if number else MISSING, *shares))
    return Grid("answering", f"{dataset}: questions that a model may answer alone, %", columns, rows)


def _sampled(evidence: Evidence, dataset: str) -> list[Block]:
    """Sets of sampled answers, of every temperature."""
    frame = evidence.headlines
    drawn = frame[(frame["dataset"] == dataset) & (frame["metric"] == "tron_unreached")]
    places = sorted({(output, score) for output, score in zip(drawn["output"], drawn["score"], strict=True)})
    rows = []
    for output, score in sorted(places, key=lambda place: (OUTPUTS.index(place[0]), place[1])):
        for model in evidence.models(dataset):
            where = {"output": output, "score": score}
            if number := evidence.number(dataset, model, "tron_unreached", **where):
                values = (each.cell(evidence, dataset, model, **where) for each in SAMPLED)
                rows.append(cells(model, score.removeprefix("t"), number.items, *values))
    if not rows:
        return []
    columns = [Column("Model"), Column("Temperature"), ITEMS, *(each.column for each in SAMPLED)]
    grid = Grid("sampled-sets", f"{dataset}: sets of sampled answers (TRON)", columns, rows)
    return [Folded("Sets of sampled answers", [grid])]


build = by_dataset("How many questions may a model answer alone?", TEXT, _blocks, opened=1)
