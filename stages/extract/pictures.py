"""Pictures as a model gets to see them: decoded the same way everywhere, 8-bit RGB.

A recipe (see stages/contracts/prompts.py) names its source images and one operation. Rendering is
cheap, so prompts carry recipes and nothing rendered is ever stored.
"""

import hashlib
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from PIL import Image, ImageFilter, ImageOps, UnidentifiedImageError

from stages.contracts.images import FORMATS, MAX_PIXELS
from stages.extract.reasons import reason
from stages.runtime.errors import UserError, did_you_mean

REVISION = 1  # raise when the same recipe comes out with other pixels


class Undecodable(UserError):
    """A source image that is no picture: an answer of its own kind, where other errors end the run."""


_SIXTEEN_BIT = ("I;16", "I;16L", "I;16B", "I;16N", "I")
_CONVERTED = ("1", "L", "P", "CMYK", "YCbCr", "LAB", "HSV")
_TRANSPARENT = ("RGBA", "LA", "PA", "La", "RGBa")


def decode(data: bytes) -> Image.Image:
    """An encoded picture as 8-bit RGB.

    EXIF rotation is applied, transparency is laid on white, 16-bit grey keeps its range, of an
    animation the first frame counts; colour profiles are ignored. Raises ValueError or OSError.
    """
    with Image.open(io.BytesIO(data), formats=FORMATS) as file:
        if file.width * file.height > MAX_PIXELS:
            raise ValueError(f"more than {MAX_PIXELS:,} pixels")
        file.load()
        image = ImageOps.exif_transpose(file)
    if image.mode == "RGB" and "transparency" not in image.info:
        return image
    if image.mode in _TRANSPARENT or "transparency" in image.info:
        opaque = image.convert("RGBA")
        ground = Image.new("RGBA", opaque.size, "white")
        return Image.alpha_composite(ground, opaque).convert("RGB")
    if image.mode in _SIXTEEN_BIT:
        # Pillow's own conversion clips at 255, which turns such a picture white.
        return image.convert("I").point(lambda value: value * (1 / 257) + 0.5).convert("L").convert("RGB")
    if image.mode in _CONVERTED:
        return image.convert("RGB")
    raise ValueError(f"pixels of mode {image.mode} have no agreed 8-bit form")


def _original(images: Sequence[Image.Image], severity: int) -> Image.Image:
    (image,) = images
    return image


# By severity, 1 to 5, as in ImageNet-C (Hendrycks and Dietterich 2019), whose pictures are 224 pixels wide;
# PARC leaves its strengths open. A blur scales with the shorter side, so that small and large pictures
# lose as much.
BLUR = (1.0, 2.0, 3.0, 4.0, 6.0)  # standard deviation in pixels where the shorter side has BLUR_SIDE
BLUR_SIDE = 224
LIGHT = (0.1, 0.2, 0.3, 0.4, 0.5)  # added to every channel, as a share of the full range
GREY = (128, 128, 128)


def _strength(levels: Sequence[float], severity: int) -> float:
    if not 1 <= severity <= len(levels):
        raise UserError(
            f"picture severity {severity} is none of 1 to {len(levels)}; correct the file of "
            "stages/vary/variations that names it"
        )
    return levels[severity - 1]


def _blur(images: Sequence[Image.Image], severity: int) -> Image.Image:
    (image,) = images
    sigma = _strength(BLUR, severity) * min(image.size) / BLUR_SIDE
    return image.filter(ImageFilter.GaussianBlur(sigma))


def _brighten(images: Sequence[Image.Image], severity: int) -> Image.Image:
    # Channels alone, in whole numbers: by way of hue and saturation the last bits would be the machine's.
    (image,) = images
    more = round(255 * _strength(LIGHT, severity))
    return image.point([min(255, value + more) for value in range(256)] * 3)


def _rotate(images: Sequence[Image.Image], severity: int) -> Image.Image:
    """By 90 degrees clockwise; Pillow counts the other way."""
    (image,) = images
    return image.transpose(Image.Transpose.ROTATE_270)


def _blank(images: Sequence[Image.Image], severity: int) -> Image.Image:
    (image,) = images
    return Image.new("RGB", image.size, GREY)


def _side_by_side(images: Sequence[Image.Image], severity: int) -> Image.Image:
    left, right = images
    if left.height != right.height:
        raise UserError(
            f"picture operation side_by_side joins pictures of one height, these have {left.height} and "
            f"{right.height} pixels; give the dataset a style with `pictures: first`"
        )
    whole = Image.new("RGB", (left.width + right.width, left.height))
    whole.paste(left, (0, 0))
    whole.paste(right, (left.width, 0))
    return whole


# name -> the revision that its recipes carry, and what makes the picture from sources and severity
OPERATIONS: Mapping[str, tuple[int, Callable[[Sequence[Image.Image], int], Image.Image]]] = {
    "original": (1, _original),
    "blank": (1, _blank),
    "blur": (1, _blur),
    "brighten": (1, _brighten),
    "rotate": (1, _rotate),
    "side_by_side": (1, _side_by_side),
}


def render(recipe: Mapping[str, Any], read: Callable[[str], bytes]) -> Image.Image:
    """The picture of one recipe; `read` gives the encoded bytes of a digest.

    Raises UserError for a recipe that is not understood, Undecodable for damaged pictures.
    """
    name = recipe["operation"]
    if name not in OPERATIONS:
        raise UserError(f"picture operation {name} is unknown; {did_you_mean(name, list(OPERATIONS))}")
    revision, operation = OPERATIONS[name]
    if recipe["revision"] != revision:
        raise UserError(
            f"picture operation {name} is at revision {revision}, the prompts were made for "
            f"{recipe['revision']}; run `dvc repro` to make the prompts anew"
        )
    images = []
    for digest in recipe["images"]:
        data = read(digest)
        try:
            images.append(decode(data))
        except MemoryError:
            raise  # the next run may have more
        except Exception as error:  # Pillow's decoders raise whatever the damage makes them raise
            # Pillow's own words hold an address in memory, another one in every run.
            unknown = isinstance(error, UnidentifiedImageError)
            why = f"in none of the formats {', '.join(FORMATS)}" if unknown else reason(error)
            raise Undecodable(
                f"image {digest[:12]} cannot be decoded ({why}); remove the item, or repair its picture"
            ) from None
    try:
        return operation(images, recipe["severity"])
    except ValueError as error:
        raise UserError(
            f"picture operation {name} cannot be done with {len(images)} images ({error}); run "
            "`dvc repro` to make the prompts anew"
        ) from None


def pixel_digest(images: Iterable[Image.Image]) -> str:
    """SHA-256 over mode, size and raw pixels of the pictures in order; empty without pictures."""
    digest, seen = hashlib.sha256(), False
    for image in images:
        digest.update(f"{image.mode} {image.width} {image.height}\n".encode())
        digest.update(image.tobytes())
        seen = True
    return digest.hexdigest() if seen else ""
