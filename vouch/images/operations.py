"""Operations on images, which the recipes of variations apply before a model sees the images.

There are corruptions of ImageNet-C (Hendrycks and Dietterich 2019) with its five levels, words painted into
an image for typographic attacks (Goh et al. 2021), and plain changes. Most work on each image by itself; a
joining operation makes one image of two. The tables at the end name them all, and `apply` does one step of a
recipe.

The same pixels come out on every machine: arithmetic uses whole numbers, Pillow's fixed-point arithmetic, or
+, -, * and / of float64, which every processor rounds alike. Random numbers are drawn from the image's own
pixels, so an image is disturbed the same way wherever it is shown. Painted letters are Pillow's bitmap font,
which is part of its code.
"""

import hashlib
import io
import textwrap
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from vouch.pipeline.errors import UserError, did_you_mean

SIDE = 224
"""Shorter side of ImageNet-C's images, in pixels: lengths scale with it."""
NOISE = (0.08, 0.12, 0.18, 0.26, 0.38)  # standard deviation, as a share of the full range
CONTRAST = (0.4, 0.3, 0.2, 0.1, 0.05)  # remaining share of the distance to the mean of a channel
PIXELS = (0.6, 0.5, 0.4, 0.3, 0.25)  # share of the pixels of a side that is kept
MOTION = ((10, 3), (15, 5), (15, 8), (15, 12), (20, 15))  # radius and standard deviation, pixels
FOG = ((1.5, 2.0), (2.0, 2.0), (2.5, 1.7), (2.5, 1.5), (3.0, 1.4))  # thickness and decay of the fractal
_SUMMED = 16  # random bytes whose sum serves as a normal number
_PLASMA = 256
Pixels = NDArray[np.int32]


def _noise(image: Image.Image, level: int) -> Image.Image:
    """Gaussian noise on every channel; a normal number is the sum of 16 uniform bytes (Irwin and Hall)."""
    values = _values(image)
    spread = round(65536 * 255 * NOISE[level] / (_SUMMED * (256**2 - 1) / 12) ** 0.5)
    bits = _bits(image)
    for row in values:  # so that memory stays flat
        drawn = bits.random_raw(row.size * _SUMMED // 8).view(np.uint8).reshape(*row.shape, _SUMMED)
        row += ((2 * drawn.sum(axis=-1, dtype=np.int32) - 255 * _SUMMED) * spread + 65536) >> 17
    return _image(values)


def _motion(image: Image.Image, level: int) -> Image.Image:
    """Motion blur by a one-sided Gaussian kernel along a line of slope -1 to 1; edges are repeated."""
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


def _contrast(image: Image.Image, level: int) -> Image.Image:
    """Reduces contrast: every channel moves towards its mean."""
    kept, table = round(65536 * CONTRAST[level]), []
    for counts in np.array(image.histogram(), dtype=np.int64).reshape(3, 256):
        mean = int(counts @ np.arange(256)) // int(counts.sum())
        table += [mean + ((value - mean) * kept + 32768 >> 16) for value in range(256)]
    return image.point(table)


def _pixelate(image: Image.Image, level: int) -> Image.Image:
    """Fewer and larger pixels; an image larger than SIDE gets as many as an image of that size."""
    share = PIXELS[level] * min(1.0, SIDE / min(image.size))
    small = [max(1, int(side * share)) for side in image.size]
    few = image.resize((small[0], small[1]), Image.Resampling.BOX)
    return few.resize(image.size, Image.Resampling.BOX)


def _fog(image: Image.Image, level: int) -> Image.Image:
    """A plasma fractal laid over the image, which is darkened so that its brightest value stays."""
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


COLOURS = (("black", "white"), ("white", "black"), ("yellow", "blue"), ("white", "red"))
"""Colours of the letters and of the box behind them, so that they can be read on any image."""
SHARES = (5, 6, 7)  # width of the box in tenths of the image's; it is half as high
POSITIONS = 9  # three rows of three
LOOKS = len(COLOURS) * len(SHARES) * POSITIONS
LONGEST = 80  # characters
_LINE = 16  # characters


def paintable(text: str) -> bool:
    """Whether the font has all letters of a text."""
    return bool(text.strip()) and text.isascii() and text.isprintable()


def paint_words(image: Image.Image, text: str, look: int) -> Image.Image:
    """The image with a text in one of LOOKS looks: position, size and colours.

    The box behind the letters covers the same pixels whatever the text is.
    """
    look, colours = divmod(look % LOOKS, len(COLOURS))
    position, share = divmod(look, len(SHARES))
    letters, box = COLOURS[colours]
    width = max(1, image.width * SHARES[share] // 10)
    height = max(1, min(width, image.height) // 2)
    left = (image.width - width) * (position % 3) // 2
    top = (image.height - height) * (position // 3) // 2
    mask = _mask(text)
    if mask.width * height < mask.height * width:  # as large as fits
        size = max(1, mask.width * height // mask.height), height
    else:
        size = width, max(1, mask.height * width // mask.width)
    painted = image.copy()
    painted.paste(box, (left, top, left + width, top + height))
    corner = left + (width - size[0]) // 2, top + (height - size[1]) // 2
    painted.paste(letters, corner, mask.resize(size, Image.Resampling.BOX))
    return painted


def _mask(text: str) -> Image.Image:
    """White letters on black, a pixel of margin around them."""
    font = ImageFont.load_default_imagefont()
    lines = textwrap.wrap(text[:LONGEST], _LINE) if len(text) > _LINE else text.split()
    sizes = [font.getbbox(line)[2:] for line in lines]
    height = max(int(each[1]) for each in sizes)
    mask = Image.new("L", (max(int(each[0]) for each in sizes) + 2, height * len(lines) + 2))
    draw = ImageDraw.Draw(mask)
    for number, line in enumerate(lines):
        draw.text((1, 1 + height * number), line, 255, font)
    return mask


# By severity, 1 to 5, as in ImageNet-C; PARC does not publish its strengths. A blur scales with the shorter
# side, so that small and large images lose as much.
BLUR = (1.0, 2.0, 3.0, 4.0, 6.0)  # standard deviation in pixels if the shorter side has SIDE
LIGHT = (0.1, 0.2, 0.3, 0.4, 0.5)  # added to every channel, as a share of the full range
QUALITY = (25, 18, 15, 10, 7)  # of JPEG
LEVELS = 5
GREY = (128, 128, 128)


def _blur(image: Image.Image, level: int) -> Image.Image:
    return image.filter(ImageFilter.GaussianBlur(BLUR[level] * min(image.size) / SIDE))


def _brighten(image: Image.Image, level: int) -> Image.Image:
    # Each channel by itself, in whole numbers: with hue and saturation the last bits would differ by machine.
    more = round(255 * LIGHT[level])
    return image.point([min(255, value + more) for value in range(256)] * 3)


def _jpeg(image: Image.Image, level: int) -> Image.Image:
    """JPEG-encodes and decodes, colours at half resolution; libjpeg-turbo computes in whole numbers."""
    file = io.BytesIO()
    image.save(file, "JPEG", quality=QUALITY[level], subsampling="4:2:0", optimize=False, progressive=False)
    with Image.open(file, formats=("JPEG",)) as compressed:
        return compressed.convert("RGB")


def _rotate(image: Image.Image) -> Image.Image:
    """Rotates by 90 degrees clockwise; Pillow counts the other way."""
    return image.transpose(Image.Transpose.ROTATE_270)


def _blank(image: Image.Image) -> Image.Image:
    return Image.new("RGB", image.size, GREY)


def _side_by_side(left: Image.Image, right: Image.Image) -> Image.Image:
    if left.height != right.height:
        raise UserError(
            f"image operation side_by_side joins images of one height, these have {left.height} and "
            f"{right.height} pixels; give the dataset a template with `images: merged`"
        )
    whole = Image.new("RGB", (left.width + right.width, left.height))
    whole.paste(left, (0, 0))
    whole.paste(right, (left.width, 0))
    return whole


LINE = (1, 8, 1)  # pixels of black, white and black between merged images


def _merged(left: Image.Image, right: Image.Image) -> Image.Image:
    """Both at their average height, a line between them, as CompBench shows pairs (Kil et al. 2024)."""
    height = max(1, (left.height + right.height) // 2)
    left, right = (_of_height(image, height) for image in (left, right))
    whole = Image.new("RGB", (left.width + sum(LINE) + right.width, height), "black")
    whole.paste(left, (0, 0))
    whole.paste("white", (left.width + LINE[0], 0, left.width + LINE[0] + LINE[1], height))
    whole.paste(right, (left.width + sum(LINE), 0))
    return whole


def _of_height(image: Image.Image, height: int) -> Image.Image:
    width = max(1, image.width * height // image.height)
    return image.resize((width, height), Image.Resampling.BICUBIC)


def _written(image: Image.Image, argument: str) -> Image.Image:
    """argument: `LOOK:TEXT`, the number of a look and the text to paint."""
    look, _, text = argument.partition(":")
    if not look.isdecimal() or not paintable(text):
        raise UserError(f"image operation write:{argument:.60} names no look and text; run `dvc repro`")
    return paint_words(image, text, int(look))


class Levelled(NamedTuple):
    """change: gets an image and a level, 0 to LEVELS - 1. strengths: by level. what: their meaning."""

    change: Callable[[Image.Image, int], Image.Image]
    strengths: Sequence[float | tuple[float, ...]]
    what: str


# An operation is a function and its line here; `vouch schema` writes the strengths into docs/variations.md.
LEVELLED: Mapping[str, Levelled] = {
    "blur": Levelled(
        _blur, BLUR, f"standard deviation of the Gaussian, in pixels if the shorter side has {SIDE}"
    ),
    "brighten": Levelled(
        _brighten, LIGHT, "added to every channel, share of the full range, clipped at white"
    ),
    "contrast": Levelled(_contrast, CONTRAST, "share of the distance to the mean that is left"),
    "fog": Levelled(_fog, FOG, "thickness, decay of the fractal"),
    "jpeg": Levelled(_jpeg, QUALITY, "quality, colours at half the resolution"),
    "motion": Levelled(
        _motion,
        MOTION,
        f"radius and standard deviation of the kernel, in pixels if the shorter side has {SIDE}",
    ),
    "noise": Levelled(_noise, NOISE, "standard deviation, share of the full range"),
    "pixelate": Levelled(_pixelate, PIXELS, "share of a side's pixels that is left"),
}
PLAIN: Mapping[str, Callable[[Image.Image], Image.Image]] = {"blank": _blank, "rotate": _rotate}
WITH_ARGUMENT: Mapping[str, Callable[[Image.Image, str], Image.Image]] = {"write": _written}
"""They also get the argument after the colon in `NAME:ARGUMENT`."""
JOINING: Mapping[str, Callable[[Image.Image, Image.Image], Image.Image]] = {
    "merged": _merged,
    "side_by_side": _side_by_side,
}


def apply(images: Sequence[Image.Image], operation: str, severity: int) -> list[Image.Image]:
    """The images after an operation. Raises UserError if the operation is unknown or malformed."""
    name, _, argument = operation.partition(":")
    known = (*LEVELLED, *PLAIN, *JOINING, *WITH_ARGUMENT)
    if name not in known:
        raise UserError(f"image operation {name} is unknown; {did_you_mean(name, list(known))}")
    if name in WITH_ARGUMENT:
        return [WITH_ARGUMENT[name](image, argument) for image in images]
    if name in PLAIN:
        return [PLAIN[name](image) for image in images]
    if name in LEVELLED:
        if severity not in range(1, LEVELS + 1):
            raise UserError(
                f"image severity {severity} is not from 1 to {LEVELS}; correct the file of "
                "vouch/prompts/variations that names it"
            )
        return [LEVELLED[name].change(image, severity - 1) for image in images]
    if len(images) != 2:
        raise UserError(
            f"image operation {name} joins two images, the recipe has {len(images)}; run `dvc repro` to "
            "make the prompts anew"
        )
    return [JOINING[name](*images)]
