"""Answers to open questions read out of longer texts, as the references ask: a number, a list, or words."""

from collections.abc import Sequence

from vouch.metrics.text.numbers import number, undressed
from vouch.metrics.text.parsers.marks import ANSWER
from vouch.metrics.text.parsers.reader.open import items, phrase, value
from vouch.metrics.text.wording import plain

_EXACT = 1e-9


def numeric(references: Sequence[str]) -> bool:
    """Whether the question asks for a number."""
    return bool(references) and all(of_reference(one) is not None for one in references)


def of_reference(reference: str) -> float | None:
    """The number that a reference is."""
    return number(undressed(reference))


def of_text(text: str) -> float | None:
    """The number that a text gives as its answer."""
    reading = value(text)
    return number(undressed(reading.span)) if reading.verdict == ANSWER else None


def same(text: str, reference: str) -> bool:
    """Whether a text gives the reference as its answer: a number to the decimals of the reference, a list
    item by item, else the words."""
    wanted = of_reference(reference)
    if wanted is not None:
        found = of_text(text)
        return found is not None and abs(found - wanted) <= _precision(reference, wanted)
    if reference.strip().startswith("["):
        listed = items(text)
        return listed is not None and list(map(_item, listed)) == list(map(_item, items(reference) or []))
    return plain(phrase(text)) == plain(reference)


def _precision(reference: str, wanted: float) -> float:
    """Half a unit of the last decimal; of a whole number what arithmetic leaves."""
    decimals = len(reference.partition(".")[2].strip().rstrip("%"))
    return (0.5 * 10.0**-decimals if decimals else 0.0) + _EXACT * abs(wanted)


def _item(item: str) -> float | str:
    found = number(item)
    return item if found is None else found
