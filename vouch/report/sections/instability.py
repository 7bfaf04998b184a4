"""Instability: how much the answers to several tests of one question differ."""

from markupsafe import Markup

from vouch.report import formatting
from vouch.report.costs import variation_cell
from vouch.report.evidence import Evidence
from vouch.report.section import Block, by_dataset
from vouch.report.table import Column, Measured, TableSpec

TITLE = "Instability"
TEXT = Markup("""\
Entropy of the answers to several tests of one question: 0 where all agree, wherever the options stand. A
text in which no answer is found counts as an answer of its own. Samples of one prompt show how much of the
instability is due to sampling.""")
METRIC = "instability"
FIRST = "first_"
"""Before a temperature: of the first sample of each test. A temperature alone: of samples of one prompt."""
CAPTION = f"tests of the same questions, clean protocol, 95{formatting.NARROW}% intervals in small print"
KEYS = (Column("Tests"), Column("Output"), Column("Model"))


def _blocks(evidence: Evidence, dataset: str) -> list[Block]:
    """Nothing where no question has several tests."""
    frame = evidence.headlines
    found = set(frame.loc[(frame["dataset"] == dataset) & (frame["metric"] == METRIC), "score"])
    if "" not in found:
        return []
    scores = sorted(found - {""}, key=lambda score: (not score.startswith(FIRST), score))
    measures = (
        Measured(METRIC),
        *(Measured(METRIC, score, *_head(score)) for score in scores),
        Measured(
            "accuracy_range",
            label="Accuracy, range",
            help="largest minus smallest accuracy of a test, over the questions that have all of them",
        ),
    )
    rows = [
        (
            (variation_cell(variation), formatting.OUTPUT_NAMES[output], model),
            {"model": model, "variation": variation, "output": output},
        )
        for variation in evidence.variations(dataset)
        for output in evidence.outputs(dataset)
        for model in evidence.numbers(dataset, METRIC, variation=variation, output=output)
    ]
    return [TableSpec("instability", CAPTION, KEYS, measures).grid(evidence, dataset, rows)]


def _head(score: str) -> tuple[str, str]:
    if score.startswith(FIRST):
        return f"sampled, {score.removeprefix(FIRST)}", "of one sample of each test, as in ReForm-Eval"
    return f"of samples, {score}", "the same over samples of one prompt, at that temperature"


build = by_dataset("Does the model repeat its answer?", TEXT, _blocks)
