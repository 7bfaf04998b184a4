"""What a picture looks like, in 64 bits and in 256 cells: for finding copies that are not the same bytes.

The hash is the usual perceptual one: the lowest 8 x 8 coefficients of the discrete cosine transform of
a grey 32 x 32 version, each compared with their median. It is computed in whole numbers, so that it has
the same bits on every machine. The cells are the mean colours of a 16 x 16 grid. Both come from all pixels:
with a quicker sample of 256 x 256 no page of text is like its own smaller copy.
"""

from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageOps

SIDE = 32
CELLS = 16
_LOW = 8
_SCALE = 2**14
_ANGLES = np.outer(np.arange(_LOW), 2 * np.arange(SIDE) + 1) * np.pi / (2 * SIDE)
_DCT = np.rint(np.cos(_ANGLES) * _SCALE).astype(np.int64)
_GREY = np.array([299, 587, 114], dtype=np.int64)
_BITS = np.uint64(1) << np.arange(63, dtype=np.uint64)
_OWN_ALPHA = ("RGBA", "LA", "PA", "La", "RGBa")
_ORIENTATION = 0x0112


@dataclass(frozen=True)
class Look:
    """hash: 63 bits. cells: CELLS x CELLS x RGB, one byte each. blank: all pixels have one colour."""

    hash: int
    cells: bytes
    blank: bool


def turned(image: Image.Image) -> bool:
    """Whether EXIF says that the picture is to be rotated or mirrored before it is shown."""
    return image.getexif().get(_ORIENTATION, 1) not in (0, 1)


def look(image: Image.Image) -> Look:
    """The look of a decoded picture, upright and on a white ground, as models get to see it."""
    opaque = _rgb(ImageOps.exif_transpose(image) if turned(image) else image)
    # a few pixels tell most pictures from one of a single colour
    blank = _one_colour(opaque.resize((SIDE, SIDE), Image.Resampling.NEAREST)) and _one_colour(opaque)
    small = opaque.resize((SIDE, SIDE), Image.Resampling.BILINEAR, reducing_gap=3.0)
    grey = np.asarray(small).astype(np.int64) @ _GREY
    return Look(_hash(grey), small.reduce(SIDE // CELLS).tobytes(), blank)


def _one_colour(image: Image.Image) -> bool:
    return all(low == high for low, high in (band.getextrema() for band in image.split()))


def _hash(grey: np.ndarray) -> int:
    coefficients = (_DCT @ grey @ _DCT.T).ravel()[1:]  # without the mean brightness
    return int(_BITS[coefficients > np.sort(coefficients)[len(coefficients) // 2]].sum())


def _rgb(image: Image.Image) -> Image.Image:
    if image.mode.startswith("I"):
        grey = np.clip(np.asarray(image).astype(np.int64) // 257, 0, 255)
        return Image.fromarray(grey.astype(np.uint8)).convert("RGB")
    if image.mode in _OWN_ALPHA or "transparency" in image.info:
        clear = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", clear.size, "white"), clear).convert("RGB")
    return image if image.mode == "RGB" else image.convert("RGB")
