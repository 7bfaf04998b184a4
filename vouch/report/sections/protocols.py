"""Two readings: what the authors' code makes of the answers, and what a clean analysis makes of them."""

from dataclasses import dataclass

from vouch.report import formatting
from vouch.report.evidence import Evidence
from vouch.report.grid import MISSING, Cell, Column, Grid, figure

TITLE = "Two readings"

# label, metric, score, decimals, scale
SHOWN = (
    ("Accuracy %", "accuracy", "", 1, 100.0),
    ("Coverage LAC %", "coverage", "lac", 1, 100.0),
    ("Set size LAC", "set_size", "lac", 2, 1.0),
    ("Set size APS", "set_size", "aps", 2, 1.0),
    ("ECE %", "ece", "", 1, 100.0),
)


@dataclass(frozen=True)
class DatasetReadings:
    """sentences: what changes between the protocols."""

    dataset: str
    sentences: tuple[str, ...]
    grid: Grid
    figures: tuple[str, ...] = ("protocols",)


def build(evidence: Evidence) -> tuple[DatasetReadings, ...]:
    """One part per dataset."""
    return tuple(DatasetReadings(d, _sentences(evidence, d), _grid(evidence, d)) for d in evidence.datasets)


def _most(evidence: Evidence, dataset: str, metric: str, protocol: str) -> float | None:
    """The greatest value over the models, for facts about rows rather than about a model."""
    numbers = [evidence.number(dataset, m, metric, protocol=protocol) for m in evidence.models(dataset)]
    return max((n.value for n in numbers if n), default=None)


def _sentences(evidence: Evidence, dataset: str) -> tuple[str, ...]:
    said = []
    share = _most(evidence, dataset, "sibling_share", "faithful")
    if share:
        said.append(
            f"In the faithful split {formatting.percent(share, 0)} of the test rows have a sibling, a copy of "
            "the same question, among the rows that calibrate; the clean protocol keeps siblings on one side."
        )
    elif share is not None:
        said.append("No question has copies on both sides of the faithful split.")
    dropped = _most(evidence, dataset, "rows_dropped", "clean")
    if dropped is not None:
        rows = formatting.plural(int(dropped), "row") if dropped else "no row"
        said.append(f"The clean protocol leaves {rows} out as defective.")
    said += filter(None, (_moves(evidence, dataset), _carries(evidence, dataset)))
    return tuple(said)


def _moves(evidence: Evidence, dataset: str) -> str:
    gaps: dict[str, list[float]] = {"accuracy": [], "set_size": []}
    changed = known = 0
    for model in evidence.models(dataset):
        for metric, score in (("accuracy", ""), ("set_size", "lac")):
            clean = evidence.number(dataset, model, metric, score)
            faithful = evidence.number(dataset, model, metric, score, "faithful")
            if clean and faithful:
                gaps[metric].append(abs(clean.value - faithful.value))
                if metric == "accuracy":
                    known += 1
                    changed += clean.rank != faithful.rank
    if not gaps["accuracy"]:
        return ""
    size = (
        f" and LAC set size by {formatting.number(max(gaps['set_size']), 2)} options"
        if gaps["set_size"]
        else ""
    )
    order = f"; {changed} of {known} models change rank" if known > 1 else ""
    return (
        f"Accuracy moves by at most {formatting.number(100 * max(gaps['accuracy']), 1)} points{size}{order}."
    )


def _carries(evidence: Evidence, dataset: str) -> str:
    numbers = [n for m in evidence.models(dataset) if (n := evidence.number(dataset, m, "accuracy"))]
    widths = [(n.high - n.low) / 2 for n in numbers if n.low is not None and n.high is not None]
    spans = [
        n.rank_high - n.rank_low + 1 for n in numbers if n.rank_low is not None and n.rank_high is not None
    ]
    if not widths:
        return ""
    reach = formatting.number(100 * sum(widths) / len(widths), 1)
    said = f"The clean interval of an accuracy reaches ±{reach} points on average"
    if len(spans) > 1:
        said += f", which leaves a model {formatting.number(sum(spans) / len(spans), 1)} possible ranks"
    return f"{said}; the faithful protocol has no intervals."


def _grid(evidence: Evidence, dataset: str) -> Grid:
    columns = [
        Column("Model"),
        Column("Rank, faithful", "by accuracy", True),
        Column("Rank, clean", "by accuracy", True),
    ]
    for label, *_ in SHOWN:
        columns += [Column(f"{label}, faithful", "", True), Column(f"{label}, clean", "", True)]
    rows = []
    for model in evidence.models(dataset):
        row = [
            Cell(model),
            _rank(evidence, dataset, model, "faithful"),
            _rank(evidence, dataset, model, "clean"),
        ]
        for _, metric, score, digits, scale in SHOWN:
            row.append(
                figure(
                    evidence.number(dataset, model, metric, score, "faithful"), digits, scale, interval=False
                )
            )
            row.append(figure(evidence.number(dataset, model, metric, score), digits, scale))
        rows.append(row)
    return Grid("protocols", f"{dataset}: both protocols side by side", columns, rows)


def _rank(evidence: Evidence, dataset: str, model: str, protocol: str) -> Cell:
    number = evidence.number(dataset, model, "accuracy", protocol=protocol)
    if number is None or number.rank is None:
        return MISSING
    text = formatting.ranks(number.rank_low, number.rank_high) if protocol == "clean" else str(number.rank)
    return Cell(text, key=number.rank)
