"""Answer, or pass on to a person: how many questions a model can answer alone."""

from typing import Any

import pandas as pd
from markupsafe import Markup

from vouch.metrics.conformal.selective import SURE, WRONG, curve
from vouch.report import formatting
from vouch.report import vegalite as alt
from vouch.report.claims import answers_alone, chosen
from vouch.report.evidence import Evidence
from vouch.report.page import Block, DatasetFigure, Figures, Folded, PageSection, by_dataset, sentence_list
from vouch.report.table import ITEMS, MISSING, Cell, Column, Grid, Measured, cells, figure
from vouch.tables.asked import OUTPUTS

OBSERVED, BOUND = "wrong among the answers", "bound, 90 % confidence"
ANSWERING_TIPS = [
    *alt.tips(kind_n="Shown"),
    *alt.tips(".1%", answered="Answered", value="Wrong", threshold="Confidence"),
]


def answering_frame(evidence: Evidence, dataset: str) -> pd.DataFrame:
    """A row for each model, threshold and kind: answered, value. Empty if a dataset is too small."""
    parts = []
    for model in () if evidence.is_small(dataset) else chosen(evidence, dataset):
        found = curve(*evidence.confidences(dataset, model), seed=evidence.scoring.seed)
        for kind, values in ((OBSERVED, found.wrong), (BOUND, found.bound)):
            columns = {"answered": found.answered, "value": values, "threshold": found.thresholds}
            parts.append(pd.DataFrame(columns).assign(model=model, kind=kind))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def answering_chart(evidence: Evidence, dataset: str, columns: int = 2, width: int = 300) -> Any:
    """A panel for each model; None if the dataset is too small."""
    data = answering_frame(evidence, dataset)
    if data.empty:
        return None
    colour = alt.Color("kind:N", scale=alt.Scale(domain=[OBSERVED, BOUND], range=[alt.BLUE, alt.ORANGE]))
    panels = []
    for model, group in data.groupby("model", sort=False):
        across = alt.X(
            "answered:Q",
            title="Answered by the model",
            scale=alt.Scale(domain=[0, 1]),
            axis=alt.Axis(format=".0%", tickCount=5),
        )
        up = alt.Y(
            "value:Q", title="Wrong", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format=".0%", tickCount=5)
        )
        base = alt.Chart(group.drop(columns=["model"])).encode(x=across, y=up, color=colour)
        panels.append(
            alt.layer(
                alt.target(0.05).encode(y=up),
                base.mark_line(strokeWidth=1.5),
                base.mark_circle(size=30, opacity=1).encode(tooltip=ANSWERING_TIPS),
            ).properties(width=width, height=170, title=str(model))
        )
    return alt.concat(*panels, columns=columns, spacing=alt.SPACING)


def answering_in_words(evidence: Evidence, dataset: str) -> str:
    """The figure in words."""
    data = answering_frame(evidence, dataset)
    parts = []
    for model, group in data[data["kind"] == BOUND].groupby("model", sort=False):
        low = group[group["value"] <= 0.05]
        share = f"up to {formatting.percent(low['answered'].max(), 0)}" if len(low) else "no share"
        parts.append(f"{model}, {share} of the questions with a bound of at most 5{formatting.NARROW}%")
    return f"Wrong answers by share of the questions answered on {dataset}: {'; '.join(parts)}."


ANSWERING_FIGURE = DatasetFigure(
    "answering",
    "Answer, or pass on to a person",
    answering_chart,
    answering_in_words,
    narrow={"columns": 1, "width": 250},
)


ALONE, CONFORMAL = "answered_alone_", "answered_conformal_"
ANSWERING_TEXT = Markup("""\
A model answers alone if its confidence is high enough; all other questions go to a person. The share that it
can answer is measured on questions that were not used to choose the threshold: with a probability of
90&#8239;%, at most the stated share of these answers is wrong. One question of each group counts. To show
5&#8239;% takes at least 45 answers without an error, and a confidence that tells correct answers from wrong
ones.""")
SAMPLED_MEASURES = (
    Measured("tron_unreached", label="No correct sample %"),
    Measured("tron_samples"),
    Measured("tron_coverage"),
    Measured("tron_set_size", label="Set size"),
)


def _answering_blocks(evidence: Evidence, dataset: str) -> list[Block]:
    """Nothing if no confidence is known."""
    found = {model: _of(evidence, dataset, model) for model in evidence.models(dataset)}
    found = {model: shares for model, shares in found.items() if shares}
    sampled = _sampled(evidence, dataset)
    if not found:
        return sampled
    return [
        *sentence_list(_answering_sentence(evidence, dataset, model) for model in chosen(evidence, dataset)),
        _answering_grid(evidence, dataset, found),
        Figures([f"answering-{dataset}"]),
        *sampled,
    ]


def _of(evidence: Evidence, dataset: str, model: str) -> list[Cell]:
    """Shares answered alone for each level of WRONG, guaranteed and on average; empty if not computed."""
    row = []
    for metric in (ALONE, CONFORMAL):
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
        f"5{formatting.NARROW}% wrong: those with a confidence of at least "
        f"{formatting.number(found.threshold, 3)}. The statement holds with {formatting.percent(SURE, 0)} "
        "confidence for all models and datasets together."
    )


def _answering_grid(evidence: Evidence, dataset: str, found: dict[str, list[Cell]]) -> Grid:
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
            Column(
                f"{percent} % of all, average",
                "% answered if on average this share of all questions is wrong",
                True,
            )
            for percent in WRONG
        ),
    ]
    rows = []
    for model, shares in found.items():
        number = evidence.number(dataset, model, f"{ALONE}{WRONG[0]}")
        rows.append(cells(model, number.items if number else MISSING, *shares))
    return Grid("answering", f"{dataset}: questions that a model can answer alone, %", columns, rows)


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
)
