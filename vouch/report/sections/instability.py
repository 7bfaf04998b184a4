"""Instability: how far the answers to several tests of one question differ."""

from collections.abc import Iterator
from dataclasses import dataclass

from vouch.report import formatting
from vouch.report.costs import in_words
from vouch.report.evidence import Evidence
from vouch.report.grid import Cell, Column, Grid, figure
from vouch.report.numbers import Number

TITLE = "Instability"
METRIC = "instability"
RANGE = "accuracy_range"
FIRST = "first_"
"""Before a temperature: of the first sample of each test. A temperature alone: of samples of one prompt."""


@dataclass(frozen=True)
class DatasetInstability:
    """A table of one dataset."""

    dataset: str
    grid: Grid


def build(evidence: Evidence) -> tuple[DatasetInstability, ...]:
    """One part per dataset that has questions with several tests."""
    frame = evidence.headlines
    wanted = set(frame[(frame["metric"] == METRIC) & (frame["score"] == "")]["dataset"])
    return tuple(DatasetInstability(d, _grid(evidence, d)) for d in evidence.datasets if d in wanted)


def _grid(evidence: Evidence, dataset: str) -> Grid:
    frame = evidence.headlines
    here = frame[(frame["dataset"] == dataset) & (frame["metric"] == METRIC) & (frame["score"] != "")]
    scores = sorted(set(here["score"]), key=lambda score: (not score.startswith(FIRST), score))
    columns = [
        Column("Tests"),
        Column("Read-out"),
        Column("Model"),
        Column("Instability", "mean entropy of the answers to the tests of a question, nats", True),
        *(_head(score) for score in scores),
        Column("Accuracy, range", "largest minus smallest accuracy among the tests, in points", True),
    ]
    rows = [
        [
            Cell(variation, in_words(variation) or ""),
            Cell(output),
            Cell(model),
            figure(number, 3),
            *(
                figure(evidence.number(dataset, model, METRIC, score, variation=variation, output=output), 3)
                for score in scores
            ),
            figure(evidence.number(dataset, model, RANGE, variation=variation, output=output), 1, 100),
        ]
        for variation, output, model, number in _found(evidence, dataset)
    ]
    caption = f"{dataset}: tests of the same questions, clean protocol, 95{formatting.NARROW}% intervals in small print"
    return Grid("instability", caption, columns, rows)


def _head(score: str) -> Column:
    if score.startswith(FIRST):
        return Column(
            f"sampled, {score.removeprefix(FIRST)}", "of one sample of each test, as in ReForm-Eval", True
        )
    return Column(f"of samples, {score}", "the same over samples of one prompt, at that temperature", True)


def _found(evidence: Evidence, dataset: str) -> Iterator[tuple[str, str, str, Number]]:
    for variation in evidence.variations(dataset):
        for output in evidence.outputs(dataset):
            for model in evidence.models(dataset):
                number = evidence.number(dataset, model, METRIC, variation=variation, output=output)
                if number:
                    yield variation, output, model, number
