"""Released logits in memory, checked whatever file form they came in."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vouch.pipeline.errors import UserError

MAX_ROWS = 2_000_000
MAX_LETTERS = 26
MAX_ID = 1000


@dataclass(frozen=True)
class Rows:
    """ids: as texts, distinct. logits: [row, letter], A first, finite, float32 or float64 as stored."""

    ids: tuple[str, ...]
    logits: npt.NDArray[Any]


def id_text(value: Any, where: str) -> str:
    """An id as text. Raises UserError where it is neither an integer nor a text of sensible length."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise UserError(
            f"{where}: id is a {type(value).__name__}, neither an integer nor a text; correct the file"
        )
    text = str(value)
    if not 0 < len(text) <= MAX_ID:
        raise UserError(f"{where}: id has {len(text)} characters, not 1 to {MAX_ID}; correct the file")
    return text


def checked(ids: Sequence[str], logits: npt.NDArray[Any], where: str) -> Rows:
    """Rows out of columns. Raises UserError naming file, row and id of the first problem."""
    if not ids:
        raise UserError(f"{where}: holds no rows; fetch it again")
    if logits.shape[1] > MAX_LETTERS:
        raise UserError(
            f"{where}: {logits.shape[1]} logits per row, more than the {MAX_LETTERS} letters; drop the others"
        )
    first: dict[str, int] = {}
    for number, name in enumerate(ids, start=1):
        if first.setdefault(name, number) != number:
            raise UserError(f"{where} row {number}: id {name} stands already in row {first[name]}; keep one")
    bad = np.argwhere(~np.isfinite(logits))
    if len(bad):
        row, letter = bad[0]
        raise UserError(
            f"{where} row {row + 1}: id {ids[row]}: logit {letter + 1} is {logits[row, letter]}; "
            "a row needs finite numbers, remove it here and among the items"
        )
    return Rows(tuple(ids), logits)
