"""Robustness: accuracy and consistency relative to chance, certainty, and reliability."""

from markupsafe import Markup

from vouch.report import formatting
from vouch.report.costs import variation_cell
from vouch.report.evidence import Evidence
from vouch.report.section import Block, by_dataset
from vouch.report.table import Cell, Column, Measured, TableSpec

TITLE = "Reliability"
TEXT = Markup("""\
Accuracy and consistency are relative to guessing, so that questions with two and with five options can be
compared, and variations that keep the answer with those that flip it. A <em>consistent</em> answer follows
the one to the original prompt: the same where the variation keeps the correct answer, another one where it
flips it. <em>Reliability</em> is certainty, negative where a model is right less often than a guess.""")
EVERY = ("", "every_prompt")
"""Variation and score of the mean over prompts."""
TABLE = TableSpec(
    "robustness",
    f"relative to guessing, clean protocol, 95{formatting.NARROW}% intervals in small print",
    (Column("Prompt"), Column("Model")),
    tuple(map(Measured, ("reliability", "accuracy_calibrated", "certainty", "consistency_calibrated"))),
)


def _blocks(evidence: Evidence, dataset: str) -> list[Block]:
    """Nothing where no prompts were compared with the original ones."""
    variations = evidence.variations(dataset)
    if not any(evidence.numbers(dataset, "consistency_calibrated", variation=name) for name in variations):
        return []
    names = {(name, ""): variation_cell(name) for name in variations}
    names[EVERY] = Cell(
        "all", "mean over the original and its language and vision variations, each counted once"
    )
    rows = [
        ((name, model), {"model": model, "variation": variation, "score": score})
        for (variation, score), name in names.items()
        for model in evidence.models(dataset)
        if any(
            each.number(evidence, dataset, model, variation=variation, score=score) for each in TABLE.measures
        )
    ]
    return [TABLE.grid(evidence, dataset, rows)]


build = by_dataset("Is it certain where it is right?", TEXT, _blocks, opened=0)
