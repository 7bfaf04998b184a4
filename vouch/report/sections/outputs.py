"""Outputs side by side: letters, likelihood of options and generated text of the same questions."""

from markupsafe import Markup

from vouch.report import formatting
from vouch.report.evidence import Evidence
from vouch.report.section import Part, Section, said
from vouch.report.table import Column, Grid, Measured, TableSpec

TITLE = "Outputs"
HEADING = "Does it matter how the answer is read?"
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
        Measured("unparsed_rate"),
    ),
)


def build(evidence: Evidence) -> Section | None:
    """One part per dataset with several outputs."""
    wanted = [dataset for dataset in evidence.datasets if len(evidence.outputs(dataset)) > 1]
    parts = [Part(d, [*said(_sentences(evidence, d)), _grid(evidence, d)]) for d in wanted]
    return Section(HEADING, TEXT, parts) if parts else None


def _sentences(evidence: Evidence, dataset: str) -> list[str]:
    """For each model whose intervals do not all overlap, the best and the worst output."""
    told = []
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
            shares = [
                f"{formatting.percent(found[output].value)} by {formatting.OUTPUT_NAMES[output]}"
                for output in (ordered[-1], ordered[0])
            ]
            told.append(f"{model} is right in {shares[0]} and in {shares[1]}.")
    return told


def _grid(evidence: Evidence, dataset: str) -> Grid:
    rows = [
        ((model, formatting.OUTPUT_NAMES[output]), {"model": model, "output": output})
        for model in evidence.models(dataset)
        for output in evidence.outputs(dataset)
        if evidence.number(dataset, model, "accuracy", output=output)
    ]
    return TABLE.grid(evidence, dataset, rows)
