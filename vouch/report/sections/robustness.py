"""Robustness: accuracy and consistency beside those of a guess, certainty, and what they make together."""

from dataclasses import dataclass

from vouch.report import formatting
from vouch.report.costs import in_words
from vouch.report.evidence import Evidence
from vouch.report.grid import MISSING, Cell, Column, Grid, figure
from vouch.tables.prompts import ORIGINAL

TITLE = "Reliability"
EVERY = "every_prompt"
# label, help, metric
SHOWN = (
    ("Reliability", "certainty with the sign of being right more often than a guess", "reliability"),
    ("Accuracy, calibrated", "0 is a guess, 1 always right, −1 never", "accuracy_calibrated"),
    ("Certainty", "1 where every prediction set holds one class, 0 where all", "certainty"),
    ("Consistency, calibrated", "with the answer to the original; 0 is a guess", "consistency_calibrated"),
)


@dataclass(frozen=True)
class DatasetRobustness:
    """sentence: what stands out, or empty."""

    dataset: str
    sentence: str
    grid: Grid


def build(evidence: Evidence) -> tuple[DatasetRobustness, ...]:
    """One part per dataset whose prompts were compared with the original ones."""
    return tuple(
        DatasetRobustness(dataset, _sentence(evidence, dataset), _grid(evidence, dataset))
        for dataset in evidence.datasets
        if _compared(evidence, dataset)
    )


def _compared(evidence: Evidence, dataset: str) -> bool:
    return any(
        evidence.number(dataset, model, "consistency_calibrated", variation=variation)
        for variation in evidence.variations(dataset)
        for model in evidence.models(dataset)
    )


def _sentence(evidence: Evidence, dataset: str) -> str:
    found = [
        (number, model)
        for model in evidence.models(dataset)
        if (number := evidence.number(dataset, model, "reliability", EVERY, variation=""))
    ]
    if not found:
        return ""
    number, model = max(found, key=lambda pair: pair[0].value)
    value = f"{formatting.number(number.value, 2)}{formatting.bracketed(number.low, number.high, 2)}"
    return f"Over all kinds of prompts {model} has the highest reliability: {value}."


def _grid(evidence: Evidence, dataset: str) -> Grid:
    columns = [Column("Prompt"), Column("Model"), *(Column(label, note, True) for label, note, _ in SHOWN)]
    wanted = [(name, "", Cell(name, in_words(name) or "")) for name in evidence.variations(dataset)]
    wanted.append(("", EVERY, Cell("all", "mean over the original and its language and vision variations")))
    rows = []
    for variation, score, name in wanted:
        for model in evidence.models(dataset):
            numbers = [
                evidence.number(dataset, model, metric, score, variation=variation) for *_, metric in SHOWN
            ]
            if any(numbers):
                # The original is consistent with itself.
                cells = [figure(number, 2) for number in numbers]
                rows.append([name, Cell(model), *cells[:3], MISSING if variation == ORIGINAL else cells[3]])
    caption = f"{dataset}: beside a guess, clean protocol, 95{formatting.NARROW}% intervals in small print"
    return Grid("robustness", caption, columns, rows)
