"""Read-outs side by side: letters, likelihood of options and generated text of the same questions."""

from dataclasses import dataclass

from vouch.report import formatting
from vouch.report.evidence import Evidence
from vouch.report.grid import Cell, Column, Grid, figure

TITLE = "Read-outs"
# label, help, metric, score, decimals, scale
SHOWN = (
    ("Accuracy %", "a text in which no answer is found is not right", "accuracy", "", 1, 100.0),
    (
        "per token %",
        "accuracy by mean log-likelihood per token of an option",
        "accuracy_per_token",
        "",
        1,
        100.0,
    ),
    (
        "per byte %",
        "accuracy by mean log-likelihood per byte of an option",
        "accuracy_per_byte",
        "",
        1,
        100.0,
    ),
    ("Set size LAC", "mean number of options in a LAC set", "set_size", "lac", 2, 1.0),
    ("Coverage LAC %", "share of LAC sets that hold the answer", "coverage", "lac", 1, 100.0),
    ("ECE %", "expected calibration error", "ece", "", 1, 100.0),
    ("Unparsed %", "texts in which no answer is found", "unparsed_rate", "", 1, 100.0),
)


@dataclass(frozen=True)
class DatasetReadOuts:
    """sentences: where a model's accuracy hangs on how it is read out."""

    dataset: str
    sentences: tuple[str, ...]
    grid: Grid


def build(evidence: Evidence) -> tuple[DatasetReadOuts, ...]:
    """One part per dataset that was read out in several ways."""
    wanted = [dataset for dataset in evidence.datasets if len(evidence.asks(dataset)) > 1]
    return tuple(DatasetReadOuts(d, _sentences(evidence, d), _grid(evidence, d)) for d in wanted)


def _sentences(evidence: Evidence, dataset: str) -> tuple[str, ...]:
    """For each model whose intervals do not all overlap, the best and the worst read-out."""
    said = []
    for model in evidence.models(dataset):
        found = {
            ask: number
            for ask in evidence.asks(dataset)
            if (number := evidence.number(dataset, model, "accuracy", ask=ask))
            and number.low is not None
            and number.high is not None
        }
        ordered = sorted(found, key=lambda ask: found[ask].value)
        if len(ordered) < 2:
            continue
        worst, best = found[ordered[0]], found[ordered[-1]]
        assert worst.high is not None and best.low is not None
        if worst.high < best.low:
            said.append(
                f"{model} is right in {formatting.percent(best.value)} by {formatting.READ_OUTS[ordered[-1]]} and in "
                f"{formatting.percent(worst.value)} by {formatting.READ_OUTS[ordered[0]]}."
            )
    return tuple(said)


def _grid(evidence: Evidence, dataset: str) -> Grid:
    columns = [Column("Model"), Column("Read-out"), *(Column(label, note, True) for label, note, *_ in SHOWN)]
    rows = [
        [Cell(model), Cell(formatting.READ_OUTS[ask]), *_cells(evidence, dataset, model, ask)]
        for model in evidence.models(dataset)
        for ask in evidence.asks(dataset)
        if evidence.number(dataset, model, "accuracy", ask=ask)
    ]
    caption = f"{dataset}: the same questions read out in several ways, clean reading"
    return Grid("read-outs", caption, columns, rows)


def _cells(evidence: Evidence, dataset: str, model: str, ask: str) -> list[Cell]:
    return [
        figure(evidence.number(dataset, model, metric, score, ask=ask), digits, scale)
        for _, _, metric, score, digits, scale in SHOWN
    ]
