"""What one model said to one variation of one dataset, as arrays.

Every [n, k] array has one row per prompt and one column per letter. Arrays are stored column by
column (Fortran order), because every rule below works on whole columns.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]
Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

NO_ROLE = -3


def count(marked: Bools) -> NDArray[np.uint8]:
    """[n] how many letters of each row are marked [n, k]; rows have no more than 26."""
    return np.asarray(marked.view(np.uint8).sum(axis=1, dtype=np.uint8))


def uniform(items: Sequence[str]) -> Array:
    """[n] in 0 ... 1 without 1; depends on the item's id alone, whatever else is scored, in which order."""
    digests = b"".join(blake2b(item.encode(), digest_size=8).digest() for item in items)
    return np.asarray((np.frombuffer(digests, dtype="<u8") >> np.uint64(11)) * 2.0**-53)


@dataclass(frozen=True)
class Responses:
    """n prompts with at most k letters, in the order of the items.

    logits    [n, k] float32 or float64 as stored; -inf where the row has no such letter
    answers   [n, k] whether the letter is a correct answer
    roles     [n, k] what the letter stands for: an option's index in the item, DONT_KNOW or
              NONE_OF_ABOVE for an option that the template added, NO_ROLE for none
    letters   [n] how many logits the row has
    options   [n] how many options its prompt shows, never more than letters
    groups    [n] number of the row's group: items that belong together share it
    categories [n] number of the item's category
    noise     [n] a uniform number in 0 ... 1 that depends on the item alone
    defective [n] whether cleaning found a defect that a fair score cannot repair
    """

    logits: Floats
    answers: Bools
    roles: NDArray[np.int32]
    letters: Ints
    options: Ints
    groups: Ints
    categories: Ints
    noise: Array
    defective: Bools

    def __len__(self) -> int:
        return len(self.logits)

    def take(self, rows: Bools | Ints) -> "Responses":
        """Some rows, by mask or by index, in the order given."""
        return Responses(**{f.name: np.asfortranarray(getattr(self, f.name)[rows]) for f in fields(self)})
