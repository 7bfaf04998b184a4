"""The page Calibration: whether confidence matches accuracy, and what a model can answer alone.

Its other sections are in transfer.py and protocols.py.
"""

import re
from functools import partial
from typing import Any

import pandas as pd
from markupsafe import Markup

from vouch.metrics.conformal.selective import SURE, TOLERATED, WRONG, curve
from vouch.metrics.uncertainty import CONFIDENCE, ESTIMATES
from vouch.report import formatting, summaries
from vouch.report import vegalite as alt
from vouch.report.claims import answers_alone, chosen, miscalibrated
from vouch.report.evidence import Evidence
from vouch.report.page import (
    Beside,
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
PERFECT = "perfectly calibrated"
RELIABILITY_LINES = {alt.INTERVAL: alt.SOLID, PERFECT: alt.DASHED}
RELIABILITY_SIDE = 300
COUNTS_HEIGHT = 56
WIDEST_COUNT = 15  # pixels that the count of a bin needs
TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)


def _reliability_panel(data: pd.DataFrame, heading: str, looks: dict[str, Any], side: int) -> Any:
    """Accuracy by confidence; below it, how many answers each bin holds."""
    domain = alt.Scale(domain=[0, 1])
    across = alt.X(
        "confidence:Q", title=None, scale=domain, axis=alt.Axis(values=TICKS, labels=False, ticks=False)
    )
    up = alt.Y("accuracy:Q", title="Accuracy", scale=domain, axis=alt.Axis(format=".0%", values=TICKS))
    line = alt.Chart(pd.DataFrame({"confidence": [0.0, 1.0], "accuracy": [0.0, 1.0]}))
    base = alt.Chart(data).encode(x=across, color=looks["color"])
    perfect = line.mark_line(color=alt.INK, strokeWidth=1).encode(x=across, y=up)
    whiskers = base.mark_rule(opacity=0.4, strokeWidth=1.5)
    whiskers = whiskers.encode(y=alt.Y("low:Q", scale=domain), y2="high:Q")
    diagram = alt.layer(
        alt.in_legend(perfect, PERFECT, RELIABILITY_LINES),
        alt.in_legend(whiskers, alt.INTERVAL, RELIABILITY_LINES),
        base.mark_line(strokeWidth=1.2, opacity=0.6).encode(y=up),
        base.mark_point(filled=True, size=50, opacity=1).encode(
            y=up, shape=looks["shape"], tooltip=RELIABILITY_TIPS
        ),
    )
    return alt.vconcat(
        diagram.properties(width=side, height=side, title=heading), _counts(data, looks, side), spacing=8
    )


def _counts(data: pd.DataFrame, looks: dict[str, Any], side: int) -> Any:
    """A bar for each bin with the number of its answers, if there is room for it."""
    bins = alt.Axis(format=".0%", values=TICKS, grid=False)
    across = alt.X("start:Q", title="Confidence", scale=alt.Scale(domain=[0, 1]), axis=bins)
    room = alt.Scale(domain=[0, 1.25 * float(data["answers"].max())], nice=False)
    bare = alt.Axis(labels=False, ticks=False, grid=False, domain=False)
    up = alt.Y("answers:Q", title="Answers", scale=room, axis=bare)
    base = alt.Chart(data).encode(y=up)
    bars = base.mark_rect(opacity=0.45).encode(
        x=across, x2="end:Q", y2=alt.datum(0), color=looks["color"], tooltip=RELIABILITY_TIPS
    )
    texts = base.mark_text(baseline="bottom", dy=-2, fontSize=9, color=alt.INK).encode(
        x=alt.X("middle:Q"), text="count:N"
    )
    wide = side * float((data["end"] - data["start"]).min()) >= WIDEST_COUNT
    return alt.layer(bars, *([texts] if wide else [])).properties(width=side, height=COUNTS_HEIGHT)


def _short(count: int) -> str:
    """A count in at most four characters: 999, 1.2k, 12k."""
    return str(count) if count < 1000 else f"{count / 1000:.1f}k" if count < 9950 else f"{count / 1000:.0f}k"


def reliability_chart(
    evidence: Evidence, dataset: str, columns: int = 2, side: int = RELIABILITY_SIDE
) -> Any:
    """A panel for each model: points below the dashed line are overconfident. None without outcomes."""
    data, bins = reliability_bins(evidence, dataset), evidence.scoring.bins
    if data.empty:
        return None
    data = data.assign(start=data["bin"] / bins, middle=(data["bin"] + 0.5) / bins)
    data = data.assign(end=(data["bin"] + 1) / bins, count=data["answers"].map(_short))
    panels = []
    for (heading, model), own in data.groupby(["panel", "model"], sort=False):
        looks = alt.by_model(evidence.all_models, [model], legend=None)
        looks = {name: alt.value(channel["scale"]["range"][0]) for name, channel in looks.items()}
        panels.append(_reliability_panel(own.drop(columns=["panel", "model", "bin"]), heading, looks, side))
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
    narrow={"columns": 1, "side": 255},
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
    sentences = sentence_list(
        [
            _counted(evidence, dataset),
            *(_calibration_sentence(evidence, dataset, m) for m in chosen(evidence, dataset)),
        ]
    )
    return [
        CALIBRATION_TABLE.known(evidence, dataset).grid(evidence, dataset),
        Beside([*sentences, Figures([f"reliability-{dataset}"])]),
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
    summary=summaries.confidence,
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
    summary=summaries.uncertainty,
)

PAGE = Page(
    "calibration",
    "Calibration",
    "Whether confidence matches accuracy, what thresholds are worth elsewhere, and what the protocol "
    "changes.",
    place=50,
    folds=True,
)


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


def answering_chart(evidence: Evidence, dataset: str, columns: int = 2, width: int = 420) -> Any:
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
            f" No model is shown to answer some of them with at most {formatting.percent(TOLERATED, 0)} "
            "wrong, if that is to hold for all models and datasets together: none may answer alone. Shares "
            "in the table hold one by one."
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
        f"{formatting.percent(TOLERATED, 0)} wrong: those with a confidence of at least "
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
    summary=summaries.answering,
)
