"""Words for models whose scored answers are not all theirs: left out of claims, or told with their bounds.

vouch/metrics/unranked.py has the limits.
"""

from collections.abc import Sequence

from vouch.metrics.unranked import LIMITS, UNDECIDED_RATE, WORTH_SAYING
from vouch.report import formatting
from vouch.report.evidence import Evidence
from vouch.tables.prompts import LETTERS, TEXT

MARK = {
    LETTERS: "answers in another form; sets say little",
    TEXT: "leaves too many texts undecided; not ranked",
}
REMEDY = {
    LETTERS: "Ask for text: add `text` to the outputs of the dataset's prompt template.",
    TEXT: "Read such texts on the page Items; name the parsers that fit them in score.parsers.",
}
ASKED = "Text was asked as well: read that output."
_WHY = {
    LETTERS: "Answers in another form, so that prediction sets say little and verdict, ranks and comparisons "
    "leave the model out: {}. In brackets the share of prompts where most of the first token's probability "
    "is not on option letters. {}",
    TEXT: "Too many texts undecided, so that verdict, ranks and comparisons leave the model out: {}. In "
    "brackets the share of texts that are unparsed or name several options. {}",
}


def left_out(evidence: Evidence, datasets: Sequence[str]) -> list[str]:
    """A text for each reason, if any: the models that claims leave out, their rates, and what to do."""
    return [text for output in (LETTERS, TEXT) if (text := _left_out(evidence, datasets, output))]


def _left_out(evidence: Evidence, datasets: Sequence[str], output: str) -> str:
    away = {name: evidence.left_out(name) for name in datasets if evidence.outputs(name)[0] == output}
    away = {name: models for name, models in away.items() if models}
    if not away:
        return ""
    found = []
    for name, models in away.items():
        rates = evidence.numbers(name, LIMITS[output][0])
        said = [f"{model} ({formatting.percent(rates[model].value, 0)})" for model in models]
        found.append(f"{formatting.listed(said)} on {name}")
    asked = output == LETTERS and all(TEXT in evidence.outputs(name) for name in away)
    return _WHY[output].format(formatting.listed(found, 3), ASKED if asked else REMEDY[output])


def undecided(evidence: Evidence, dataset: str) -> list[str]:
    """Of each model that leaves too many texts undecided, how many and what that does to its accuracy."""
    rates = evidence.numbers(dataset, UNDECIDED_RATE, output=TEXT)
    accuracies = evidence.numbers(dataset, "accuracy", output=TEXT)
    return [
        f"{model}: {bounds(rate.value, accuracies[model].value)}."
        for model, rate in rates.items()
        if rate.value > WORTH_SAYING and model in accuracies
    ]


def bounds(rate: float, accuracy: float) -> str:
    """The accuracy of texts of which a share is undecided: they count as wrong, and may all be right."""
    return (
        f"{formatting.percent(rate)} of its texts are unparsed or name several options, so its accuracy lies "
        f"between {formatting.percent(accuracy)} (all of these wrong) and "
        f"{formatting.percent(min(1.0, accuracy + rate))} (all right)"
    )
