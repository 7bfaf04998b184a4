"""Words for a model that answers a dataset in another form than letters (vouch/metrics/letter_mass.py)."""

from collections.abc import Sequence

from vouch.metrics.letter_mass import LOW_MASS_RATE
from vouch.report import formatting
from vouch.report.evidence import Evidence
from vouch.tables.prompts import TEXT

MARK = "answers in another form; sets say little"
REMEDY = "Ask for text: add `text` to the outputs of the dataset's prompt template."
ASKED = "Text was asked as well: read that output."


def left_out(evidence: Evidence, datasets: Sequence[str]) -> list[str]:
    """One text, if any: the models that claims leave out, their shares of prompts, and what to do."""
    found = []
    for name in datasets:
        away = evidence.left_out(name)
        rates = {m: rate for m, rate in evidence.numbers(name, LOW_MASS_RATE).items() if m in away}
        said = [f"{model} ({formatting.percent(rate.value, 0)})" for model, rate in rates.items()]
        found += [f"{formatting.listed(said)} on {name}"] if said else []
    if not found:
        return []
    asked = all(TEXT in evidence.outputs(name) for name in datasets if evidence.left_out(name))
    return [
        "Answers in another form, so that prediction sets say little and verdict, ranks and comparisons "
        f"leave the model out: {formatting.listed(found, 3)}. In brackets the share of prompts where most of "
        f"the first token's probability is not on option letters. {ASKED if asked else REMEDY}"
    ]
