"""What an encoder is; files of vouch/models/encoders, or a pinned model."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class Encoder:
    """name: for the tables. images, questions: n of them -> [n, width]; None where it cannot encode these.

    notes: measures for the run record.
    """

    name: str
    images: Callable[[Sequence[Image.Image]], Vectors] | None = None
    questions: Callable[[Sequence[str]], Vectors] | None = None
    notes: dict[str, Any] = field(default_factory=dict)
