"""Pictures disturbed as the variations disturb them; needs Pillow."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vouch.library.arrays import unmasked
from vouch.library.figure import needs


def corrupt(picture: Any, kind: str, severity: int = 3) -> NDArray[np.uint8]:
    """A picture [h, w, 3] uint8 after a corruption of ImageNet-C, severity 1 to 5; the same bytes everywhere.

    kind: blur, brighten, contrast, fog, jpeg, motion, noise or pixelate. What is random follows from the
    pixels.

    >>> int(np.ptp(corrupt(np.full((8, 8, 3), 100, np.uint8), "contrast", 5)))
    0
    """
    needs("corrupt", "PIL", "Pillow")
    from PIL import Image

    from vouch.images.operations import LEVELLED, LEVELS

    unmasked(picture, "picture")
    values = np.asarray(picture)
    if values.ndim != 3 or values.shape[2] != 3 or values.dtype != np.uint8 or not values.size:
        raise ValueError(f"picture: {values.dtype} {values.shape}, but uint8 (height, width, 3) is needed")
    if kind not in LEVELLED or severity not in range(1, LEVELS + 1):
        raise ValueError(
            f"{kind} {severity}: give one of {', '.join(LEVELLED)} and a severity of 1, 2, ... 5"
        )
    return np.asarray(LEVELLED[kind][1](Image.fromarray(values), int(severity) - 1))
