"""The page Calibration: whether confidence matches accuracy, and what a model can answer alone.

Its other sections are in transfer.py and protocols.py.
"""

import re
from functools import partial
from typing import Any

import pandas as pd
from markupsafe import Markup

from vouch.metrics.conformal.selective import SURE, WRONG, curve
from vouch.metrics.uncertainty import CONFIDENCE, ESTIMATES
from vouch.report import formatting
from vouch.report import vegalite as alt
from vouch.report.claims import MOST_CHOSEN, answers_alone, chosen, miscalibrated
from vouch.report.evidence import Evidence
from vouch.report.page import (
    Block,
    DatasetFigure,
    Figures,
    Folded,
    Page,
    PageSection,
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
    TableSpec,
    cells,
    figure,
    whole,
)
from vouch.report.table_files import reliability_bins
from vouch.tables.asked import OUTPUTS

RELIABILITY_TIPS = [
    *alt.tips(".1%", confidence="Confidence", accuracy="Accuracy"),
    *alt.tips(",", answers="Answers"),
]


def _reliability_panel(data: pd.DataFrame, heading: str, named: bool, side: int) -> Any:
    domain = alt.Scale(domain=[0, 1])
    ticks = alt.Axis(format=".0%", values=[0, 0.5, 1])
    across = alt.X("confidence:Q", title="Confidence", scale=domain, axis=ticks)
    up = alt.Y("accuracy:Q", title="Accuracy" if named else None, scale=domain, axis=ticks)
    line = alt.Chart(pd.DataFrame({"confidence": [0.0, 1.0], "accuracy": [0.0, 1.0]}))
    base = alt.Chart(data)
    size = alt.Size("answers:Q", scale=alt.Scale(range=[12, 160]), legend=None)
    return alt.layer(
        line.mark_line(strokeDash=[4, 3], color=alt.INK, strokeWidth=1).encode(x=across, y=up),
        base.mark_rule(color=alt.BLUE, opacity=0.4, strokeWidth=1.5).encode(
            x=across, y=alt.Y("low:Q", scale=domain), y2="high:Q"
        ),
        base.mark_line(color=alt.BLUE, strokeWidth=1.2, opacity=0.6).encode(x=across, y=up),
        base.mark_circle(color=alt.BLUE, opacity=1).encode(
            x=across, y=up, size=size, tooltip=RELIABILITY_TIPS
        ),
    ).properties(width=side, height=side, title=heading)


def reliability_chart(evidence: Evidence, dataset: str, columns: int = MOST_CHOSEN, side: int = 210) -> Any:
    """One panel per model: points below the dashed line are overconfident. None without outcomes."""
    data = reliability_bins(evidence, dataset)
    if data.empty:
        return None
    panels = [
        _reliability_panel(group.drop(columns=["panel"]), str(heading), index % columns == 0, side)
        for index, (heading, group) in enumerate(data.groupby("panel", sort=False))
    ]
    return alt.concat(*panels, columns=columns, spacing=alt.SPACING)


def reliability_in_words(evidence: Evidence, dataset: str) -> str:
    """The figure in words."""
    data = reliability_bins(evidence, dataset)
    if data.empty:
        return ""
    parts = []
    for model, group in data.groupby("model", sort=False):
        gap = ((group["confidence"] - group["accuracy"]) * group["answers"]).sum() / group["answers"].sum()
        manner = "overconfident" if gap > 0 else "underconfident"
        parts.append(f"{model} is {manner} by {formatting.number(100 * abs(gap), 1)} points on average")
    return f"Reliability diagrams on {dataset}: {'; '.join(parts)}."


RELIABILITY_FIGURE = DatasetFigure(
    "reliability",
    "Reliability diagram",
    reliability_chart,
    reliability_in_words,
    narrow={"columns": 2, "side": 120},
)


CALIBRATION_TEXT = Markup("""\
A model is calibrated if answers given with 80&#8239;% confidence are correct 80&#8239;% of the time. A single
temperature, fitted on the calibration half, corrects a model that is overconfident everywhere. Its effect is
measured on the test half, best by the NLL, because ECE grows if there are fewer questions. AUROC and AURC
measure something else: whether more confident answers are more often correct.""")
CALIBRATION_TABLE = TableSpec(
    "calibration",
    "confidence against accuracy, clean protocol",
    (Column("Model"),),
    (
        Measured("ece"),
        Measured("temperature", help="the best-fitting temperature; above 1, the model is overconfident"),
        Measured("nll"),
        Measured("auroc", help="how often a correct answer has more confidence than a wrong one"),
        Measured(
            "selective_accuracy_80",
            label="Most confident 80 %, accuracy %",
            help="accuracy if the least confident fifth is left unanswered",
        ),
    ),
)
CALIBRATION_MORE = TableSpec(
    "calibration-more",
    "after one temperature; other measures; other bins; clean protocol",
    (Column("Model"),),
    (
        Measured("nll_scaled"),
        Measured("ece_test"),
        Measured("ece_scaled"),
        Measured("brier"),
        Measured(
            "aurc", help="mean error among the most confident questions, over all shares; lower is better"
        ),
        Measured("mce"),
        Measured("ece_mass"),
        Measured("mce_mass"),
    ),
)


def _calibration_blocks(evidence: Evidence, dataset: str) -> list[Block]:
    """Reliability of each model; no blocks if confidence was not compared with accuracy."""
    if not evidence.numbers(dataset, "ece"):
        return []
    more = CALIBRATION_MORE.known(evidence, dataset)
    return [
        *sentence_list(
            [
                _counted(evidence, dataset),
                *(_calibration_sentence(evidence, dataset, m) for m in chosen(evidence, dataset)),
            ]
        ),
        CALIBRATION_TABLE.known(evidence, dataset).grid(evidence, dataset),
        Figures([f"reliability-{dataset}"]),
        *([Folded("Other measures", [more.grid(evidence, dataset)])] if more.measures else []),
    ]


def _counted(evidence: Evidence, dataset: str) -> str:
    """How many models are miscalibrated, if not all of them get a sentence."""
    models, found = evidence.models(dataset), miscalibrated(evidence)
    above = [found[dataset, model].above for model in models if (dataset, model) in found]
    if len(models) == len(chosen(evidence, dataset)) or not above:
        return ""
    return (
        f"Of {len(models)} models, {sum(above)} are shown to be overconfident and {len(above) - sum(above)} "
        "underconfident."
    )


def _calibration_sentence(evidence: Evidence, dataset: str, model: str) -> str:
    """How much one temperature corrects, if it differs significantly from 1."""
    fitted = evidence.number(dataset, model, "temperature")
    if fitted is None or (dataset, model) not in miscalibrated(evidence):
        return ""
    manner = "overconfident" if fitted.value > 1 else "underconfident"
    text = f"{model} is {manner}: a temperature of {formatting.number(fitted.value, 2)} fits best"
    # Both ECEs are of the test half: on all questions, ECE is smaller whatever the temperature.
    for label, metrics, form in (
        ("NLL", ("nll", "nll_scaled"), partial(formatting.number, digits=3)),
        ("ECE on the test half", ("ece_test", "ece_scaled"), formatting.percent),
    ):
        before, after = (evidence.number(dataset, model, metric) for metric in metrics)
        if before and after:
            text += f"; {label} {form(before.value)} before, {form(after.value)} after"
    return f"{text}."


CALIBRATION_SECTION = PageSection(
    "calibration",
    "Confidence",
    by_dataset("Does confidence match accuracy?", CALIBRATION_TEXT, _calibration_blocks, opened=1),
    page="calibration",
    place=10,
)


UNCERTAINTY_TEXT = Markup("""\
AUROC of every uncertainty estimate on the same answers to the original prompts. In small print: the gain over
plain confidence, in points, with a paired 95&#8239;% interval. In bold if it is better than plain confidence:
the whole interval is above 0.""")
_SAMPLED = re.compile(r"(.+)_t([0-9.e-]+)")


def _column(estimate: str) -> Column:
    sampled = _SAMPLED.fullmatch(estimate)
    label, help = ESTIMATES[sampled[1] if sampled else estimate]
    at = f", temperature {sampled[2]}" if sampled else ""
    return Column(f"{label} AUROC %", help + at, True)


def _uncertainty_cell(evidence: Evidence, dataset: str, model: str, output: str, estimate: str) -> Cell:
    number = evidence.number(dataset, model, "uncertainty_auroc", estimate, output=output)
    gain = evidence.number(dataset, model, "uncertainty_gain", estimate, output=output)
    if number is None:
        return MISSING
    text = formatting.number(100 * number.value, 1)
    if gain is None:
        return Cell(text, key=number.value)
    ends = formatting.bracketed(gain.low, gain.high, 1, 100)
    note = f"{formatting.number(100 * gain.value, 1)}{ends}"
    better = gain.excludes_zero and gain.value > 0
    return Cell(text, note, number.value, tone="strong" if better else "")


def _uncertainty_blocks(evidence: Evidence, dataset: str) -> list[Block]:
    """A table for each request type that has uncertainty estimates."""
    frame = evidence.headlines
    frame = frame[(frame["dataset"] == dataset) & (frame["metric"] == "uncertainty_auroc")]
    blocks: list[Block] = []
    for output in evidence.outputs(dataset):
        known = set(frame.loc[frame["output"] == output, "score"])
        order = list(ESTIMATES)
        estimates = sorted(
            known, key=lambda name: (order.index(m[1] if (m := _SAMPLED.fullmatch(name)) else name), name)
        )
        rows = []
        for model in evidence.models(dataset):
            plain = evidence.number(dataset, model, "uncertainty_auroc", CONFIDENCE, output=output)
            if plain is not None:
                values = (
                    _uncertainty_cell(evidence, dataset, model, output, estimate) for estimate in estimates
                )
                rows.append(cells(model, whole(plain.items), *values))
        if rows:
            columns = [Column("Model"), Column("Items", "for which all estimates are known", True)]
            caption = f"{dataset}: uncertainty estimates, {output}"
            blocks.append(Grid(f"uncertainty-{output}", caption, [*columns, *map(_column, estimates)], rows))
    return blocks


UNCERTAINTY_SECTION = PageSection(
    "uncertainty",
    "Uncertainty estimates",
    by_dataset(
        "Which uncertainty estimate tells correct answers from wrong ones?",
        UNCERTAINTY_TEXT,
        _uncertainty_blocks,
        opened=1,
    ),
    page="calibration",
    place=20,
)

PAGE = Page(
    "calibration",
    "Calibration",
    "Whether confidence matches accuracy, what thresholds are worth elsewhere, and what the protocol "
    "changes.",
    place=50,
)


TESTED = Column(
    "Questions tested",
    "one question of each group, without the quarter of the groups that chooses the threshold",
    True,
)
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
    sentences = [_tested(evidence, dataset)]
    sentences += [_answering_sentence(evidence, dataset, model) for model in chosen(evidence, dataset)]
    return [
        *sentence_list(sentences),
        _answering_grid(evidence, dataset, found),
        Figures([f"answering-{dataset}"]),
        *sampled,
    ]


def _tested(evidence: Evidence, dataset: str) -> str:
    """How many of the questions test a threshold, and whether a model may answer alone at all."""
    numbers = evidence.numbers(dataset, f"{ALONE}{WRONG[0]}").values()
    tested, asked = max((number.items for number in numbers), default=0), evidence.questions(dataset)
    if not tested:
        return ""
    whole = (
        f"{formatting.plural(asked, 'question')} in {formatting.plural(evidence.groups(dataset), 'group')}"
    )
    text = f"Of {whole}, {formatting.count(tested)} test the threshold."
    if not any((dataset, model) in answers_alone(evidence) for model in evidence.models(dataset)):
        text += (
            f" No model is shown to answer some of them with at most 5{formatting.NARROW}% wrong, if that is "
            "to hold for all models and datasets together: none may answer alone. Shares in the table hold "
            "one by one."
        )
    return text


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
        f"{formatting.percent(found.threshold)}. This holds with {formatting.percent(SURE, 0)} confidence "
        "for all models and datasets together; shares in the table hold one by one."
    )


def _answering_grid(evidence: Evidence, dataset: str, found: dict[str, list[Cell]]) -> Grid:
    sure = formatting.percent(SURE, 0)
    columns = [
        Column("Model"),
        TESTED,
        *(
            Column(
                f"At most {percent} % wrong", f"% answered alone; holds with a probability of {sure}", True
            )
            for percent in WRONG
        ),
        *(
            Column(
                f"{percent} % of all wrong, on average",
                "% answered alone if on average at most this share of all questions may be answered wrongly",
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
    page="calibration",
    place=30,
)
