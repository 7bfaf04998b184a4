"""Calibration: whether a model is right as often as it says, and whether it knows when it is not."""

from dataclasses import dataclass

from vouch.report import formatting
from vouch.report.evidence import Evidence
from vouch.report.grid import Cell, Column, Grid, figure

TITLE = "Confidence"

Shown = tuple[str, str, str, int, float]  # label, help, metric, decimals, scale
SHOWN: tuple[Shown, ...] = (
    ("ECE %", "mean gap between confidence and accuracy, bins of equal width", "ece", 1, 100.0),
    ("T", "temperature that fits best; above 1 the model is too sure", "temperature", 2, 1.0),
    ("NLL", "negative log-likelihood of the answer, nats", "nll", 3, 1.0),
    ("NLL after T", "on the test half after temperature scaling", "nll_scaled", 3, 1.0),
    (
        "ECE, test half %",
        "of the test half alone; fewer questions make it larger",
        "ece_test",
        1,
        100.0,
    ),
    ("ECE after T %", "on the same test half after temperature scaling", "ece_scaled", 1, 100.0),
    ("Brier", "squared distance between probabilities and answer, 0 to 2", "brier", 3, 1.0),
    ("AUROC %", "how often a right answer is surer than a wrong one", "auroc", 1, 100.0),
    ("AURC %", "mean error of the surest questions, over all shares: less is better", "aurc", 1, 100.0),
    (
        "Surest 80 %, right %",
        "accuracy where the least sure fifth is declined",
        "selective_accuracy_80",
        1,
        100.0,
    ),
)
MORE: tuple[Shown, ...] = (
    ("MCE %", "largest gap of a bin of equal width", "mce", 1, 100.0),
    ("ECE, equal mass %", "the mean gap over bins of equally many questions", "ece_mass", 1, 100.0),
    ("MCE, equal mass %", "the largest gap of these", "mce_mass", 1, 100.0),
)


@dataclass(frozen=True)
class DatasetCalibration:
    """sentences: who is too sure. more: what is asked less often, where it was measured."""

    dataset: str
    sentences: tuple[str, ...]
    grid: Grid
    more: Grid | None
    figures: tuple[str, ...] = ("reliability",)


def build(evidence: Evidence) -> tuple[DatasetCalibration, ...]:
    """One part per dataset on which confidence was held against accuracy."""
    parts = []
    for dataset in evidence.datasets:
        if any(evidence.number(dataset, model, "ece") for model in evidence.models(dataset)):
            said = [_sentence(evidence, dataset, model) for model in evidence.models(dataset)]
            parts.append(
                DatasetCalibration(
                    dataset,
                    tuple(filter(None, said)),
                    _grid(evidence, dataset, "calibration", "confidence against accuracy", SHOWN),
                    _more(evidence, dataset),
                )
            )
    return tuple(parts)


def _sentence(evidence: Evidence, dataset: str, model: str) -> str:
    """What one temperature mends, where the interval says that it is not 1."""
    fitted = evidence.number(dataset, model, "temperature")
    if fitted is None or fitted.low is None or fitted.high is None or fitted.low <= 1 <= fitted.high:
        return ""
    manner = "too sure" if fitted.value > 1 else "not sure enough"
    said = f"{model} is {manner}: temperature {formatting.number(fitted.value, 2)} fits best"
    before, after = (evidence.number(dataset, model, metric) for metric in ("nll", "nll_scaled"))
    if before and after:
        said += (
            f"; NLL {formatting.number(before.value, 3)} before, {formatting.number(after.value, 3)} after"
        )
    # Of the test half, as that of all questions is smaller whatever the temperature.
    before, after = (evidence.number(dataset, model, metric) for metric in ("ece_test", "ece_scaled"))
    if before and after:
        said += f"; ECE of the test half {formatting.percent(before.value)} before, {formatting.percent(after.value)} after"
    return f"{said}."


def _more(evidence: Evidence, dataset: str) -> Grid | None:
    grid = _grid(evidence, dataset, "calibration-more", "other bins", MORE)
    return grid if len(grid.columns) > 1 else None


def _grid(evidence: Evidence, dataset: str, name: str, caption: str, columns_of: tuple[Shown, ...]) -> Grid:
    shown = [
        column
        for column in columns_of
        if any(evidence.number(dataset, model, column[2]) for model in evidence.models(dataset))
    ]
    columns = [Column("Model"), *(Column(label, note, True) for label, note, *_ in shown)]
    rows = [
        [
            Cell(model),
            *(figure(evidence.number(dataset, model, metric), d, scale) for _, _, metric, d, scale in shown),
        ]
        for model in evidence.models(dataset)
    ]
    return Grid(name, f"{dataset}: {caption}, clean protocol", columns, rows)
