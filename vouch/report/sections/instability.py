"""Instability: how much the answers to several tests of one question differ."""

from markupsafe import Markup

from vouch.report import formatting
from vouch.report.costs import variation_cell
from vouch.report.evidence import Evidence
from vouch.report.section import Part, Section
from vouch.report.table import Column, Grid, Measured, TableSpec

TITLE = "Instability"
HEADING = "Does the model repeat its answer?"
TEXT = Markup("""\
Entropy of the answers to several tests of one question: 0 where all agree, wherever the options stand. A
text in which no answer is found counts as an answer of its own. Samples of one prompt show how much of the
instability is due to sampling.""")
METRIC = "instability"
FIRST = "first_"
"""Before a temperature: of the first sample of each test. A temperature alone: of samples of one prompt."""
CAPTION = f"tests of the same questions, clean protocol, 95{formatting.NARROW}% intervals in small print"
KEYS = (Column("Tests"), Column("Output"), Column("Model"))


def build(evidence: Evidence) -> Section | None:
    """One part per dataset that has questions with several tests."""
    frame = evidence.headlines
    wanted = set(frame[(frame["metric"] == METRIC) & (frame["score"] == "")]["dataset"])
    parts = [Part(d, [_grid(evidence, d)]) for d in evidence.datasets if d in wanted]
    return Section(HEADING, TEXT, parts) if parts else None


def _grid(evidence: Evidence, dataset: str) -> Grid:
    frame = evidence.headlines
    here = frame[(frame["dataset"] == dataset) & (frame["metric"] == METRIC) & (frame["score"] != "")]
    scores = sorted(set(here["score"]), key=lambda score: (not score.startswith(FIRST), score))
    measures = (
        Measured(METRIC),
        *(Measured(METRIC, score, *_head(score)) for score in scores),
        Measured("accuracy_range", label="Accuracy, range"),
    )
    rows = [
        (
            (variation_cell(variation), formatting.OUTPUT_NAMES[output], model),
            {"model": model, "variation": variation, "output": output},
        )
        for variation in evidence.variations(dataset)
        for output in evidence.outputs(dataset)
        for model in evidence.models(dataset)
        if evidence.number(dataset, model, METRIC, variation=variation, output=output)
    ]
    return TableSpec("instability", CAPTION, KEYS, measures).grid(evidence, dataset, rows)


def _head(score: str) -> tuple[str, str]:
    if score.startswith(FIRST):
        return f"sampled, {score.removeprefix(FIRST)}", "of one sample of each test, as in ReForm-Eval"
    return f"of samples, {score}", "the same over samples of one prompt, at that temperature"
