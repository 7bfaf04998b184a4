"""A uniform number for each item, for the scores that have a random term."""

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray


def uniform(items: Sequence[str]) -> NDArray[np.float64]:
    """[n] in 0 ... 1 without 1; hangs on the item's id alone, whatever else is scored and in which order."""
    digests = b"".join(blake2b(item.encode(), digest_size=8).digest() for item in items)
    return np.asarray((np.frombuffer(digests, dtype="<u8") >> np.uint64(11)) * 2.0**-53)
