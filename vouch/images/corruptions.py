"""Corruptions of ImageNet-C (Hendrycks and Dietterich 2019), by formula and with its five levels.

What is drawn comes from the picture's own pixels, so that a picture is disturbed the same way wherever it is
shown. All arithmetic is of whole numbers, or of +, -, * and / of float64, which every processor rounds alike.
"""

import hashlib
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray
from PIL import Image

SIDE = 224
"""Shorter side of ImageNet-C's pictures: lengths scale with it."""
NOISE = (0.08, 0.12, 0.18, 0.26, 0.38)  # standard deviation, as a share of the full range
CONTRAST = (0.4, 0.3, 0.2, 0.1, 0.05)  # what is left of the distance to the mean of a channel
PIXELS = (0.6, 0.5, 0.4, 0.3, 0.25)  # share of the pixels of a side that is kept
MOTION = ((10, 3), (15, 5), (15, 8), (15, 12), (20, 15))  # radius and standard deviation, pixels
FOG = ((1.5, 2.0), (2.0, 2.0), (2.5, 1.7), (2.5, 1.5), (3.0, 1.4))  # thickness and decay of the fractal
_SUMMED = 16  # random bytes whose sum stands for a normal number
_PLASMA = 256
Pixels = NDArray[np.int32]


def noise(image: Image.Image, level: int) -> Image.Image:
    """Gaussian noise on every channel; a normal number is the sum of 16 uniform bytes (Irwin and Hall)."""
    values = _values(image)
    spread = round(65536 * 255 * NOISE[level] / (_SUMMED * (256**2 - 1) / 12) ** 0.5)
    bits = _bits(image)
    for row in values:  # so that memory stays flat
        drawn = bits.random_raw(row.size * _SUMMED // 8).view(np.uint8).reshape(*row.shape, _SUMMED)
        row += ((2 * drawn.sum(axis=-1, dtype=np.int32) - 255 * _SUMMED) * spread + 65536) >> 17
    return _image(values)


def motion(image: Image.Image, level: int) -> Image.Image:
    """A one-sided Gaussian kernel along a line of a slope between -1 and 1, edges repeated."""
    radius, sigma = MOTION[level]
    values, slope = _values(image), int(_bits(image).random_raw() % 17) - 8
    scale = min(image.size)
    across, down = np.arange(image.width), np.arange(image.height)
    total, weights = np.zeros_like(values), 0
    for step in range(2 * radius + 1):
        weight = round(65536 * (-Decimal(step**2) / (2 * sigma**2)).exp())
        shift = step * scale // SIDE
        columns = np.clip(across - shift, 0, image.width - 1)
        rows = np.clip(down - shift * slope // 8, 0, image.height - 1)
        total += weight * values[rows][:, columns]
        weights += weight
    return _image((2 * total + weights) // (2 * weights))


def contrast(image: Image.Image, level: int) -> Image.Image:
    """Every channel drawn towards its mean."""
    kept, table = round(65536 * CONTRAST[level]), []
    for counts in np.array(image.histogram(), dtype=np.int64).reshape(3, 256):
        mean = int(counts @ np.arange(256)) // int(counts.sum())
        table += [mean + ((value - mean) * kept + 32768 >> 16) for value in range(256)]
    return image.point(table)


def pixelate(image: Image.Image, level: int) -> Image.Image:
    """Fewer pixels, each as large as those it stands for; of pictures larger than SIDE as many as of one of
    that size."""
    share = PIXELS[level] * min(1.0, SIDE / min(image.size))
    small = [max(1, int(side * share)) for side in image.size]
    few = image.resize((small[0], small[1]), Image.Resampling.BOX)
    return few.resize(image.size, Image.Resampling.BOX)


def fog(image: Image.Image, level: int) -> Image.Image:
    """A plasma fractal laid over the picture, which is darkened so that its brightest value stays."""
    thickness, decay = FOG[level]
    cloud = Image.fromarray(np.rint(255 * plasma(_bits(image), decay)).astype(np.uint8))
    values = _values(image)
    cover = _values(cloud.resize(image.size, Image.Resampling.BILINEAR))[..., None]
    most, thick = int(values.max()), round(256 * thickness)
    whole = 256 * most + 255 * thick or 1
    return _image((2 * (256 * values + thick * cover) * most + whole) // (2 * whole))


def plasma(bits: np.random.SFC64, decay: float) -> NDArray[np.float64]:
    """[256, 256] heights in 0 ... 1 of a fractal by diamonds and squares on a torus (Fournier et al. 1982).

    A point in the middle of four others gets their mean and a uniform number in -wibble^2 ... wibble^2; the
    wibble starts at 100, as in ImageNet-C's code, and is divided by `decay` at every step.
    """
    heights, step, wibble = np.zeros((_PLASMA, _PLASMA)), _PLASMA, 100.0

    def middle(of_four: NDArray[np.float64]) -> NDArray[np.float64]:
        raw = (bits.random_raw(of_four.size) >> np.uint64(32)).astype(np.float64).reshape(of_four.shape)
        return of_four / 4 + wibble * wibble * (raw / 2147483648.0 - 1.0)

    while step >= 2:
        half = step // 2
        corners = heights[::step, ::step]
        pairs = corners + np.roll(corners, -1, axis=0)
        heights[half::step, half::step] = middle(pairs + np.roll(pairs, -1, axis=1))
        centres, corners = heights[half::step, half::step], heights[::step, ::step]
        sides = centres + np.roll(centres, 1, axis=0) + corners + np.roll(corners, -1, axis=1)
        heights[::step, half::step] = middle(sides)
        sides = centres + np.roll(centres, 1, axis=1) + corners + np.roll(corners, -1, axis=0)
        heights[half::step, ::step] = middle(sides)
        step, wibble = half, wibble / decay
    heights -= heights.min()
    return np.asarray(heights / heights.max())


def _bits(image: Image.Image) -> np.random.SFC64:
    digest = hashlib.sha256(f"{image.size}".encode() + image.tobytes()).digest()
    return np.random.SFC64(int.from_bytes(digest[:16], "little"))


def _values(image: Image.Image) -> Pixels:
    return np.array(image, dtype=np.int32)


def _image(values: Pixels) -> Image.Image:
    return Image.fromarray(np.clip(values, 0, 255).astype(np.uint8))
