"""What a model can answer alone, on the page Calibration (calibration.py)."""

import math
from functools import partial
from typing import Any

import pandas as pd
from markupsafe import Markup

from vouch.metrics.conformal.selective import SURE, TOLERATED, WRONG, abstention, answer_threshold, curve
from vouch.report import formatting, summaries
from vouch.report import vegalite as alt
from vouch.report.claims import ANSWERED_ALONE, answers_alone, chosen
from vouch.report.evidence import Evidence
from vouch.report.gates import too_small
from vouch.report.page import (
    Block,
    DatasetFigure,
    Figures,
    Folded,
    PageSection,
    Text,
    by_dataset,
    sentence_list,
)
from vouch.report.table import (
    ITEMS,
    MISSING,
    Cell,
    Column,
    Grid,
    Measured,
    cells,
    figure,
)
from vouch.tables.asked import OUTPUTS

TESTED = Column(
    "Questions tested",
    "one question of each group, without the quarter of the groups that chooses the threshold",
    True,
)
OBSERVED, BOUND, TOLERABLE = (
    "wrong among the answers",
    f"bound, {100 * SURE:.0f} % confidence",
    f"{100 * TOLERATED:.0f} % wrong",
)
ANSWERING_LINES = {OBSERVED: alt.SOLID, BOUND: alt.DOTTED, TOLERABLE: alt.DASHED}
ANSWERING_TIPS = alt.tips(
    ".1%", answered="Answered", wrong="Wrong", bound="Wrong, bound", threshold="Confidence"
)


def answering_frame(evidence: Evidence, dataset: str) -> pd.DataFrame:
    """A row for each model and threshold: answered, wrong, bound. Empty if a dataset is too small."""
    parts = []
    for model in () if evidence.is_small(dataset) else chosen(evidence, dataset):
        found = curve(*evidence.confidences(dataset, model), seed=evidence.scoring.seed)
        columns = {name: getattr(found, name) for name in ("answered", "wrong", "bound")}
        parts.append(pd.DataFrame(columns | {"threshold": found.thresholds}).assign(model=model))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def answering_chart(evidence: Evidence, dataset: str, columns: int = 2, width: int = 370) -> Any:
    """A panel for each model; None if the dataset is too small."""
    data = answering_frame(evidence, dataset)
    if data.empty:
        return None
    shares = alt.Axis(format=".0%", tickCount=5)
    across = alt.X("answered:Q", title="Answered by the model", scale=alt.Scale(domain=[0, 1]), axis=shares)
    up = {"title": "Wrong", "scale": alt.Scale(domain=[0, 1]), "axis": shares}
    named = partial(alt.in_legend, names=ANSWERING_LINES, width=columns * width)
    panels = []
    for model, own in data.groupby("model", sort=False):
        colour, _ = alt.model_looks(evidence.all_models)[model]
        base = alt.Chart(own.drop(columns=["model"])).encode(x=across)
        observed, bound = (alt.Y(f"{name}:Q", **up) for name in ("wrong", "bound"))
        line = base.mark_line(strokeWidth=1.5, color=colour)
        panels.append(
            alt.layer(
                named(alt.target(TOLERATED).encode(y=alt.Y("value:Q", **up)), TOLERABLE),
                named(line.encode(y=bound), BOUND),
                named(line.encode(y=observed), OBSERVED),
                base.mark_circle(size=30, opacity=1, color=colour).encode(y=observed, tooltip=ANSWERING_TIPS),
            ).properties(width=width, height=170, title=str(model))
        )
    return alt.concat(*panels, columns=columns, spacing=alt.SPACING)


def answering_in_words(evidence: Evidence, dataset: str) -> str:
    """The figure in words."""
    data = answering_frame(evidence, dataset)
    parts = []
    for model, group in data.groupby("model", sort=False):
        low = group[group["bound"] <= TOLERATED]
        share = f"up to {formatting.percent(low['answered'].max(), 0)}" if len(low) else "no share"
        parts.append(
            f"{model}, {share} of the questions with a bound of at most {formatting.percent(TOLERATED, 0)}"
        )
    return f"Wrong answers by share of the questions answered on {dataset}: {'; '.join(parts)}."


ANSWERING_FIGURE = DatasetFigure(
    "answering",
    "Answer, or pass on to a person",
    answering_chart,
    answering_in_words,
    narrow={"columns": 1, "width": 250},
)


CONFORMAL = "answered_conformal_"
ANSWERING_TEXT = Markup("""\
A model answers alone if its confidence reaches a threshold; all other questions go to a person. One question
of each group counts. A quarter of these chooses the threshold, and the others test it: with a probability of
90&#8239;%, at most the stated share of the answers above it is wrong. To show 5&#8239;% takes at least 45
answers without an error, and a confidence that tells correct answers from wrong ones.""")
SAMPLED_MEASURES = (
    Measured("tron_unreached", label="No correct sample %"),
    Measured("tron_samples"),
    Measured("tron_coverage"),
    Measured("tron_set_size", label="Set size"),
)


def _answering_blocks(evidence: Evidence, dataset: str) -> list[Block]:
    """Shares of questions that models can answer alone; no blocks if no confidence is known."""
    found = {model: _of(evidence, dataset, model) for model in evidence.models(dataset)}
    found = {model: shares for model, shares in found.items() if shares}
    sampled = _sampled(evidence, dataset)
    if not found:
        return sampled
    if evidence.is_small(dataset):
        why = f"{too_small(evidence.groups(dataset))}, so none may answer alone."
        return [Text(why[:1].upper() + why[1:]), *sampled]
    sentences = [_tested(evidence, dataset)]
    sentences += [_answering_sentence(evidence, dataset, model) for model in chosen(evidence, dataset)]
    return [
        *sentence_list(sentences),
        *_answering_grids(evidence, dataset, found),
        Figures([f"answering-{dataset}"]),
        *sampled,
    ]


def _tested(evidence: Evidence, dataset: str) -> str:
    """How many of the questions test a threshold, and whether a model may answer alone at all."""
    numbers = evidence.numbers(dataset, f"{ANSWERED_ALONE}{WRONG[0]}").values()
    tested, asked = max((number.items for number in numbers), default=0), evidence.questions(dataset)
    if not tested:
        return ""
    whole = (
        f"{formatting.plural(asked, 'question')} in {formatting.plural(evidence.groups(dataset), 'group')}"
    )
    text = f"Of {whole}, {formatting.count(tested)} test the threshold."
    if not any((dataset, model) in answers_alone(evidence) for model in evidence.models(dataset)):
        text += (
            f" No model is shown to answer some of them with at most {formatting.percent(TOLERATED, 0)} "
            "wrong, if that is to hold for all models and datasets together: none may answer alone. Shares "
            "in the table hold one by one, each for a model and a level that were chosen beforehand."
        )
    return text


def _of(evidence: Evidence, dataset: str, model: str) -> list[Cell]:
    """Shares answered alone for each level of WRONG, guaranteed and on average; empty if not computed."""
    row = []
    for metric in (ANSWERED_ALONE, CONFORMAL):
        for percent in WRONG:
            number = evidence.number(dataset, model, f"{metric}{percent}")
            if number is None:
                return []
            row.append(figure(number, 1, 100) if number.value else Cell("none shown", key=0.0, tone="quiet"))
    return row


def _answering_sentence(evidence: Evidence, dataset: str, model: str) -> str:
    found = answers_alone(evidence).get((dataset, model))
    if found is None:
        return ""
    return (
        f"{model} can answer {formatting.percent(found.answered, 0)} of the questions alone with at most "
        f"{formatting.percent(TOLERATED, 0)} wrong: those with a confidence of at least "
        f"{formatting.percent(found.threshold)}. This holds with {formatting.percent(SURE, 0)} confidence "
        "for all models and datasets together; shares in the table hold one by one."
    )


def _answering_grids(evidence: Evidence, dataset: str, shares: dict[str, list[Cell]]) -> list[Grid]:
    """The shares that models can answer alone, and the confidence from which they do."""
    sure = formatting.percent(SURE, 0)
    levels = [
        *(Column(f"At most {percent} % wrong", f"with a probability of {sure}", True) for percent in WRONG),
        *(
            Column(
                f"{percent} % of all wrong, on average",
                "on average at most this share of all questions is answered wrongly",
                True,
            )
            for percent in WRONG
        ),
    ]
    rows = []
    for model, own in shares.items():
        number = evidence.number(dataset, model, f"{ANSWERED_ALONE}{WRONG[0]}")
        rows.append(cells(model, number.items if number else MISSING, *own))
    from_which = [cells(model, *_thresholds(evidence, dataset, model)) for model in shares]
    return [
        Grid(
            "answering",
            f"{dataset}: questions that a model can answer alone, %",
            [Column("Model"), TESTED, *levels],
            rows,
        ),
        Grid(
            "answering-from",
            f"{dataset}: confidence from which it answers alone, %",
            [Column("Model"), *levels],
            from_which,
        ),
    ]


def _thresholds(evidence: Evidence, dataset: str, model: str) -> list[Cell]:
    """The thresholds behind the shares of `_of`, in its order."""
    graded, seed = evidence.confidences(dataset, model), evidence.scoring.seed
    values = [answer_threshold(*graded, percent / 100, seed=seed).threshold for percent in WRONG]
    values += [abstention(*graded, percent / 100, seed)[0] for percent in WRONG]
    return [
        Cell(formatting.number(100 * value, 1), key=value) if math.isfinite(value) else MISSING
        for value in values
    ]


def _sampled(evidence: Evidence, dataset: str) -> list[Block]:
    """Sets of sampled answers, for every temperature."""
    frame = evidence.headlines
    drawn = frame[(frame["dataset"] == dataset) & (frame["metric"] == "tron_unreached")]
    places = sorted({(output, score) for output, score in zip(drawn["output"], drawn["score"], strict=True)})
    rows = []
    for output, score in sorted(places, key=lambda place: (OUTPUTS.index(place[0]), place[1])):
        for model in evidence.models(dataset):
            where = {"output": output, "score": score}
            if number := evidence.number(dataset, model, "tron_unreached", **where):
                values = (each.cell(evidence, dataset, model, **where) for each in SAMPLED_MEASURES)
                rows.append(cells(model, score.removeprefix("t"), number.items, *values))
    if not rows:
        return []
    columns = [Column("Model"), Column("Temperature"), ITEMS, *(each.column for each in SAMPLED_MEASURES)]
    grid = Grid("sampled-sets", f"{dataset}: sets of sampled answers (TRON)", columns, rows)
    return [Folded("Sets of sampled answers", [grid])]


ANSWERING_SECTION = PageSection(
    "answering",
    "Answering alone",
    by_dataset("How many questions can a model answer alone?", ANSWERING_TEXT, _answering_blocks, opened=1),
    page="calibration",
    place=30,
    summary=summaries.answering,
)
