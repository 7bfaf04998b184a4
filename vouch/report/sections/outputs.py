"""Outputs side by side: letters, likelihood of options and generated text of the same questions."""

from collections.abc import Mapping

from markupsafe import Markup

from vouch.metrics.comparison.leaderboard import READING
from vouch.report import formatting
from vouch.report.claims import differing_outputs
from vouch.report.evidence import Evidence
from vouch.report.numbers import Number
from vouch.report.section import Block, by_dataset, said
from vouch.report.table import Column, Measured, TableSpec

TITLE = "Outputs"
TEXT = Markup("""\
A model can be asked for the letter of an option, for the likelihood of each option's text, or for an answer
in its own words. Likelihoods are sums over the tokens of an option, which favours short ones; the means per
token and per byte stand beside them. A generated text has no prediction set.""")
TABLE = TableSpec(
    "outputs",
    "the same questions by output, clean protocol",
    (Column("Model"), Column("Output")),
    (
        Measured("accuracy", help="a text in which no answer is found is not right"),
        Measured("accuracy_per_token"),
        Measured("accuracy_per_byte"),
        Measured("set_size", "lac"),
        Measured("coverage", "lac", help="share of LAC sets that contain the answer"),
        Measured("ece"),
        *(Measured(metric, interval=False) for metric in READING),
    ),
)


def _blocks(evidence: Evidence, dataset: str) -> list[Block]:
    """Nothing where there is but one output."""
    asked = evidence.outputs(dataset)
    if len(asked) < 2:
        return []
    accuracy = {output: evidence.numbers(dataset, "accuracy", output=output) for output in asked}
    models = evidence.models(dataset)
    found = {m: {output: of[m] for output, of in accuracy.items() if m in of} for m in models}
    rows = [
        ((model, formatting.OUTPUT_NAMES[output]), {"model": model, "output": output})
        for model in models
        for output in found[model]
    ]
    told = said(_sentence(evidence, dataset, model, numbers) for model, numbers in found.items())
    return [*told, TABLE.grid(evidence, dataset, rows)]


def _sentence(evidence: Evidence, dataset: str, model: str, numbers: Mapping[str, Number]) -> str:
    """The best and the worst output of a model where they significantly differ."""
    if (dataset, model) not in differing_outputs(evidence):
        return ""
    ordered = sorted(numbers, key=lambda output: -numbers[output].value)
    best, worst = (
        f"{formatting.percent(numbers[output].value)} by {formatting.OUTPUT_NAMES[output]}"
        for output in (ordered[0], ordered[-1])
    )
    return f"{model} is right in {best} and in {worst}."


build = by_dataset("Does it matter how the answer is read?", TEXT, _blocks, opened=1)
