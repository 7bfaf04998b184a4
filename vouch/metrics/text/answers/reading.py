"""Answers to open questions read out of longer texts, as the references ask: a number, a list, or words."""

import re
from collections.abc import Sequence

from vouch.metrics.text.numbers import Quantity, number, quantity, tight, trimmed, undressed
from vouch.metrics.text.parsers.marks import ANSWER
from vouch.metrics.text.parsers.reader.open import items, phrase, value
from vouch.metrics.text.wording import plain

_EXACT, _THOUSAND = 1e-9, 1000
_BRACKETS = frozenset("()[]{}")
_DECIMALS = re.compile(r"\.(\d+)(?!\d|[eE*x×]|\s?[x×])")
_FORMULA = re.compile(r"[\d=+*/^<>(\[\\√π]")


def numeric(references: Sequence[str]) -> bool:
    """Whether the question asks for a number."""
    return bool(references) and all(of_reference(one) is not None for one in references)


def of_reference(reference: str) -> float | None:
    """The number that a reference is."""
    return number(undressed(reference))


def of_text(text: str) -> float | None:
    """The number that a text gives as its answer."""
    found = _given(text)
    return found.value if found else None


def _given(text: str) -> Quantity | None:
    reading = value(text)
    return quantity(undressed(reading.span)) if reading.verdict == ANSWER else None


def same(text: str, reference: str) -> bool:
    """Whether a text gives the reference as its answer: a number to the decimals of the reference, and in its
    unit where both name one, a list item by item, a formula but for blanks, else the words."""
    wanted = quantity(undressed(reference))
    if wanted is not None:
        found = _given(text)
        if found is None or (found.unit and wanted.unit and found.unit != wanted.unit):
            return False
        slack = _precision(reference, wanted.value)
        # A chart may count in millions and not say so in its labels.
        scale = max(found.scale, wanted.scale) if min(found.scale, wanted.scale) == 1 else 1.0
        scale = scale if scale >= _THOUSAND else 1.0
        return any(abs(found.value * each - wanted.value) <= slack for each in (1, scale, 1 / scale))
    if reference.strip().startswith("[") and (known := items(reference)) is not None:
        listed = items(text) or (None if _BRACKETS & set(text) else items(f"[{text.strip()}]"))
        return listed is not None and list(map(_item, listed)) == list(map(_item, known))
    said = phrase(text)
    return plain(said) == plain(reference) or (
        _FORMULA.search(reference) is not None and _tight(said) == _tight(reference)
    )


def _tight(text: str) -> str:
    """Undressed, without blanks."""
    return tight(trimmed(undressed(text)).lower())


def _precision(reference: str, wanted: float) -> float:
    """Half a unit of the last decimal; of a whole number what arithmetic leaves."""
    decimals = _DECIMALS.search(reference)
    return (0.5 * 10.0 ** -len(decimals[1]) if decimals else 0.0) + _EXACT * abs(wanted)


def _item(item: str) -> float | str:
    found = number(item)
    return item if found is None else found
