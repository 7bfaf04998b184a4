"""Conformal scores side by side: what each way to rank options makes of the same answers."""

from collections.abc import Sequence

from markupsafe import Markup

from vouch.report import formatting
from vouch.report.claims import chosen
from vouch.report.evidence import MARGINAL, Evidence
from vouch.report.numbers import Number, Numbers
from vouch.report.section import Block, Folded, by_dataset, said
from vouch.report.table import Column, Grid, Measured, TableSpec, Tone, cells, figure

TITLE = "Scores"
TEXT = Markup("""\
A score ranks the options of a question; the threshold from calibration turns it into a set. All scores have
the same coverage guarantee; the better one has smaller sets and keeps its coverage at every set size.""")
NAMES = {
    "lac": "LAC",
    "aps": "APS",
    "aps_randomised": "APS, randomised",
    "aps_crossing": "APS, crossing",
    "margin": "margin",
    "raps": "RAPS",
    "saps": "SAPS",
}
KINDS = {
    MARGINAL: "all questions",
    "class": "each letter",
    "category": "each category",
    "options": "each number of options",
}


def _below(evidence: Evidence, coverage: Number) -> Tone:
    """Stands out where the interval stays below the target."""
    return "bad" if coverage.high is not None and coverage.high < evidence.target else ""


TABLE = TableSpec(
    "scores",
    "every score on the same splits, intervals over the splits in small print",
    (Column("Model"), Column("Score")),
    (
        Measured("set_size"),
        Measured("coverage", help="share of sets that contain the answer", tone=_below),
        Measured("worst_size_coverage"),
        Measured("singleton_rate"),
        Measured("empty_rate"),
    ),
)
UNCALIBRATED = Measured(
    "infinite_threshold_rate",
    label="No threshold %",
    help="splits and parts with too few questions to calibrate",
)


def _blocks(evidence: Evidence, dataset: str) -> list[Block]:
    """Nothing where there are no prediction sets."""
    here = evidence.headlines_of(dataset)
    found = set(here.loc[(here["metric"] == "set_size") & (here["protocol"] == "clean"), "score"])
    known = [name for name in NAMES if name in found]
    scores = [*known, *sorted(found - {*known, "mean", ""})]
    if not scores:
        return []
    told = said(_smallest(evidence, dataset, model, scores) for model in chosen(evidence, dataset))
    kinds = _kinds(evidence, dataset)
    folded = [Folded("Thresholds for parts of the questions", [kinds])] if kinds else []
    return [*told, Folded("Every score", [_grid(evidence, dataset, scores)]), *folded]


def _smallest(evidence: Evidence, dataset: str, model: str, scores: Sequence[str]) -> str:
    """The score with the smallest sets, where it is apart from the largest in nearly all splits."""
    sizes = {s: n for s in scores if (n := evidence.number(dataset, model, "set_size", s))}
    if len(sizes) < 2 or evidence.is_small(dataset) or not evidence.calibrated(dataset, model):
        return ""
    best, worst = min(sizes, key=lambda s: sizes[s].value), max(sizes, key=lambda s: sizes[s].value)
    if sizes[best].ends[1] >= sizes[worst].ends[0]:
        return ""
    return (
        f"{model}: smallest sets by {NAMES.get(best, best)}, {formatting.number(sizes[best].value, 2)} "
        f"options; largest by {NAMES.get(worst, worst)}, {formatting.number(sizes[worst].value, 2)}."
    )


def _grid(evidence: Evidence, dataset: str, scores: Sequence[str]) -> Grid:
    rows = [
        ((model, NAMES.get(score, score)), {"model": model, "score": score})
        for model in evidence.models(dataset)
        for score in scores
        if evidence.number(dataset, model, "set_size", score)
    ]
    return TABLE.grid(evidence, dataset, rows)


def _kinds(evidence: Evidence, dataset: str) -> Grid | None:
    """LAC sets by what has a threshold of its own; None where all questions share one everywhere."""
    frame = evidence.leaderboard
    frame = frame[
        (frame["dataset"] == dataset)
        & (frame["output"] == evidence.outputs(dataset)[0])
        & (frame["variation"] == evidence.variations(dataset)[0])
        & (frame["protocol"] == "clean")
        & (frame["category"] == "all")
        & ((frame["alpha"] - evidence.scoring.alpha).abs() < 1e-9)
        & frame["score"].isin(("lac", ""))
        & frame["value"].notna()
    ]
    found = Numbers(frame, ("model", "calibration", "metric"))
    kinds = [kind for kind in KINDS if (frame["calibration"] == kind).any()]
    if len(kinds) < 2:
        return None
    shown = (*TABLE.measures[:3], UNCALIBRATED)
    columns = [Column("Model"), Column("A threshold for"), *(each.column for each in shown)]
    rows = [
        cells(
            *(model, KINDS[kind]),
            *(figure(found.get((model, kind, each.metric)), *each.unit) for each in shown),
        )
        for model in evidence.models(dataset)
        for kind in kinds
        if found.get((model, kind, "set_size"))
    ]
    return Grid("kinds", f"{dataset}: LAC sets by what has a threshold of its own", columns, rows)


build = by_dataset("Which sets are most informative?", TEXT, _blocks, opened=1)
