"""Rules that read an option out of a generated text, PARSERS; `score.parsers` says which, in order.

To add one, add an entry: parse(text, choices) -> Reading. Where its verdict is NONE, the next one is tried. A
rule never raises and takes time linear in the text. `reader` weighs all that a text says
(vouch/metrics/text/parsers/reader); the others are those of published benchmarks, and give no reason.
"""

from collections.abc import Callable, Sequence

from vouch.metrics.text.parsers import published
from vouch.metrics.text.parsers.marks import NONE, OPTION, Choices, Reading
from vouch.metrics.text.parsers.reader import read as weighed

READER = "reader"
DEFAULT_PARSERS = (READER,)


def _of(rule: Callable[[str, Choices], published.Named]) -> Callable[[str, Choices], Reading]:
    """A published rule as a parser: what it names is the answer, be it several options."""

    def parse(text: str, choices: Choices) -> Reading:
        places = rule(text, choices)
        return Reading(NONE) if places is None else Reading(OPTION, places)

    return parse


PARSERS: dict[str, Callable[[str, Choices], Reading]] = {
    "contains": _of(published.contains),
    "first_mark": _of(published.first_mark),
    "mmmu": _of(published.mmmu),
    READER: weighed,
}


def read(text: str, choices: Choices, parsers: Sequence[str]) -> tuple[str, Reading]:
    """The first parser that finds something, else the last one, and what it found."""
    name, reading = "", Reading(NONE)
    for name in parsers:
        reading = PARSERS[name](text, choices)
        if reading.verdict != NONE:
            break
    return name, reading
