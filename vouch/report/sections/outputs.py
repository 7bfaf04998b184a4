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
    wanted = [dataset for dataset in evidence.datasets if len(evidence.outputs(dataset)) > 1]
    return tuple(DatasetReadOuts(d, _sentences(evidence, d), _grid(evidence, d)) for d in wanted)


def _sentences(evidence: Evidence, dataset: str) -> tuple[str, ...]:
    """For each model whose intervals do not all overlap, the best and the worst output."""
    said = []
    for model in evidence.models(dataset):
        found = {
            output: number
            for output in evidence.outputs(dataset)
            if (number := evidence.number(dataset, model, "accuracy", output=output))
            and number.low is not None
            and number.high is not None
        }
        ordered = sorted(found, key=lambda output: found[output].value)
        if len(ordered) < 2:
            continue
        worst, best = found[ordered[0]], found[ordered[-1]]
        assert worst.high is not None and best.low is not None
        if worst.high < best.low:
            said.append(
                f"{model} is right in {formatting.percent(best.value)} by {formatting.OUTPUT_NAMES[ordered[-1]]} and in "
                f"{formatting.percent(worst.value)} by {formatting.OUTPUT_NAMES[ordered[0]]}."
            )
    return tuple(said)


def _grid(evidence: Evidence, dataset: str) -> Grid:
    columns = [Column("Model"), Column("Read-out"), *(Column(label, note, True) for label, note, *_ in SHOWN)]
    rows = [
        [Cell(model), Cell(formatting.OUTPUT_NAMES[output]), *_cells(evidence, dataset, model, output)]
        for model in evidence.models(dataset)
        for output in evidence.outputs(dataset)
        if evidence.number(dataset, model, "accuracy", output=output)
    ]
    caption = f"{dataset}: the same questions read out in several ways, clean protocol"
    return Grid("outputs", caption, columns, rows)


def _cells(evidence: Evidence, dataset: str, model: str, output: str) -> list[Cell]:
    return [
        figure(evidence.number(dataset, model, metric, score, output=output), digits, scale)
        for _, _, metric, score, digits, scale in SHOWN
    ]
