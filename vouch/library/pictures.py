"""Pictures disturbed as the variations disturb them; needs Pillow."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vouch.library.arrays import plain, shown, whole
from vouch.library.results import needs


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

    values = plain(picture, "picture", 1, 2, 3)
    if values.ndim != 3 or values.shape[2] != 3 or values.dtype != np.uint8 or not values.size:
        raise ValueError(f"picture: {values.dtype} {values.shape}, but uint8 (height, width, 3) is needed")
    if not isinstance(kind, str) or kind not in LEVELLED:
        raise ValueError(f"kind is {shown(kind)}; give one of {', '.join(LEVELLED)}")
    level = whole(severity, "severity", LEVELS)
    return np.asarray(LEVELLED[kind][1](Image.fromarray(values), level - 1))
