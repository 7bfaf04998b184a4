"""Which option a generated text names."""

from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_uppercase

from vouch.library.figure import Result
from vouch.metrics.text.parsers import DEFAULT_PARSERS, read
from vouch.metrics.text.parsers.marks import Choices


@dataclass(frozen=True, repr=False)
class ReadAnswer(Result):
    """option: index of the one option that the text names, None for none or several. verdict: `option`,
    `several`, `declined` or `unread`. rule: what decided.
    """

    option: int | None
    verdict: str
    rule: str


def read_answer(text: str, options: Sequence[str], marks: Sequence[str] | None = None) -> ReadAnswer:
    """Reads an option out of a generated text.

    options: their texts as shown, empty where a question has none. marks: what stood before them; A, B, ...
    by default.

    >>> read_answer("I think the answer is (B).", ["a cat", "a dog"])
    ReadAnswer(option=1, verdict='option', rule='tail')
    """
    shown = tuple(marks) if marks is not None else tuple(ascii_uppercase[: len(options)])
    if not options or len(shown) != len(options):
        raise ValueError(f"{len(options)} options and {len(shown)} marks; give as many of each, at least 1")
    rule, named = read(text, Choices(shown, tuple(options)), DEFAULT_PARSERS)
    if rule is None:
        return ReadAnswer(None, "unread", "")
    if len(named) == 1:
        return ReadAnswer(named[0], "option", rule)
    return ReadAnswer(None, "several" if named else "declined", rule)
