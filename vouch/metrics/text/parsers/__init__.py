"""Rules that read an option out of a generated text, one file each; `score.parsers` says which, in order.

A file defines

parse(text, choices) -> options or None

None: the rule finds nothing, the next one is tried. A tuple: 0-based places of the options that the text
names, as shown. Most rules name one; an index that no option has is an answer, and a wrong one. The empty
tuple: the model declines to answer. A rule never raises and takes time linear in the text.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from vouch.metrics.plugins import load

Named = tuple[int, ...] | None


@dataclass(frozen=True)
class Choices:
    """marks: the letter before each option as shown. texts: of the options."""

    marks: tuple[str, ...]
    texts: tuple[str, ...]


def read(text: str, choices: Choices, parsers: Sequence[str]) -> tuple[str | None, tuple[int, ...]]:
    """The first rule that finds something, and what; (None, ()) where none does."""
    for name in parsers:
        named = load("text.parsers")[name].parse(text, choices)
        if named is not None:
            return name, named
    return None, ()
