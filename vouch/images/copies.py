"""The look of an image in 64 bits and in 256 cells, for finding copies that do not have the same bytes.

The hash is the usual perceptual one: the lowest 8 x 8 coefficients of the discrete cosine transform of a grey
32 x 32 version, each compared with their median. It is computed in whole numbers, which 64-bit floats hold
exactly, so it has the same bits on every machine. The cells are the mean colours of a 16 x 16 grid. Both use
means of all pixels: from a quicker sample of 256 x 256 pixels, a page of text does not look like its own
smaller copy. JPEGs can be decoded directly to means of 2 x 2, 4 x 4 or 8 x 8 pixels, which is faster
(`reduced`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from PIL import Image

from vouch.images.opening import rotated

SIDE = 32
CELLS = 16
LEAST = (112, 112)  # pixels, in width and height, that a look needs
_GAP = 6.0  # images more than so many times larger than SIDE are first averaged in whole blocks
_FLAT = 4  # of 255: means closer together may come from an image of one colour
_LOW = 8
_SCALE = 2**12  # sums stay below 2**53
_ANGLES = np.outer(np.arange(_LOW), 2 * np.arange(SIDE) + 1) * np.pi / (2 * SIDE)
_DCT = np.rint(np.cos(_ANGLES) * _SCALE)
_GREY = np.array([299.0, 587.0, 114.0])
_ORIENTATION = 0x0112


@dataclass(frozen=True)
class Look:
    """hash: 63 bits. cells: CELLS x CELLS x RGB, one byte each. blank: all pixels have one colour."""

    hash: int
    cells: bytes
    blank: bool


def sideways(image: Image.Image) -> bool:
    """Whether EXIF swaps width and height before the image is shown."""
    return image.getexif().get(_ORIENTATION, 1) in (5, 6, 7, 8)


def reduced(image: Image.Image) -> tuple[float, float] | None:
    """Makes an upright JPEG that is not decoded yet decode to fewer pixels, at least LEAST.

    Returns the width and height of the image in those pixels, which are fractions if the last pixels of a row
    or column cover less. None if it will be decoded whole, because it is not such a JPEG or too small.
    """
    if image.format != "JPEG" or rotated(image):
        return None
    before = image.size
    drafted = image.draft(None, LEAST)
    if drafted is None or image.size == before:
        return None
    _mode, (_left, _top, width, height) = drafted
    return width, height


def look(image: Image.Image, size: tuple[float, float] | None = None) -> Look | None:
    """The look of an image as models see it, decoded by `as_rgb`.

    size: of an image that was `reduced`. Its look is None if all pixels may have one colour, which only
    the whole image shows.
    """
    box = (0.0, 0.0, *(size or image.size))
    small = image.resize((SIDE, SIDE), Image.Resampling.BILINEAR, box, _GAP)
    data = small.tobytes()
    flat = _is_flat(small, data, bool(size))
    if flat and size:
        return None
    return Look(_hash(data), small.reduce(SIDE // CELLS).tobytes(), flat and _one_colour(image))


def _is_flat(small: Image.Image, data: bytes, reduced: bool) -> bool:
    """Whether the means, whose bytes are `data`, are so close that the image may have one colour."""
    row = data[: 3 * (SIDE - 1)]  # usually enough to show that they are not close
    if any(max(row[channel::3]) - min(row[channel::3]) > _FLAT for channel in range(3)):
        return False
    # the padding of a JPEG's last blocks is not part of the image, but is in the means at its edge
    inner = small.crop((0, 0, SIDE - 1, SIDE - 1)) if reduced else small
    return all(high - low <= _FLAT for low, high in _ranges(inner))


def _one_colour(image: Image.Image) -> bool:
    return all(low == high for low, high in _ranges(image))


def _ranges(image: Image.Image) -> Sequence[tuple[int, int]]:
    """The lowest and the highest value of each of three channels."""
    return cast(Sequence[tuple[int, int]], image.getextrema())


def _hash(data: bytes) -> int:
    """data: SIDE x SIDE x RGB."""
    grey = (np.frombuffer(data, np.uint8).reshape(-1, 3) @ _GREY).reshape(SIDE, SIDE)
    coefficients = (_DCT @ grey @ _DCT.T).ravel()[1:]  # without the mean brightness
    above = coefficients > np.sort(coefficients)[len(coefficients) // 2]
    return int.from_bytes(np.packbits(above, bitorder="little").tobytes(), "little")
