"""Pictures as a model gets to see them: decoded the same way everywhere, 8-bit RGB.

A recipe (see vouch/tables/prompts.py) names its source images and the operations (operations.py)
that make one picture of them. Rendering is cheap, so prompts carry recipes and nothing rendered is
ever stored.
"""

import hashlib
import io
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from PIL import Image, ImageOps, UnidentifiedImageError

from vouch.images.operations import apply
from vouch.pipeline.errors import UserError, reason
from vouch.tables.images import FORMATS, MAX_PIXELS

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


def render(recipe: Mapping[str, Any], read: Callable[[str], bytes]) -> Image.Image:
    """The picture of one recipe; `read` gives the encoded bytes of a digest.

    Raises UserError for a recipe that is not understood, Undecodable for damaged pictures.
    """
    images = [_decoded(digest, read(digest)) for digest in recipe["images"]]
    for step in recipe["steps"]:
        images = apply(images, step["operation"], step["severity"], step["revision"])
    if len(images) != 1:
        raise UserError(
            f"a picture recipe of {len(recipe['images'])} images comes to {len(images)} pictures instead of "
            "one; run `dvc repro` to make the prompts anew"
        )
    return images[0]


def _decoded(digest: str, data: bytes) -> Image.Image:
    try:
        return decode(data)
    except MemoryError:
        raise  # the next run may have more
    except Exception as error:  # Pillow's decoders raise whatever the damage makes them raise
        # Pillow's own words hold an address in memory, another one in every run.
        unknown = isinstance(error, UnidentifiedImageError)
        why = f"in none of the formats {', '.join(FORMATS)}" if unknown else reason(error)
        raise Undecodable(
            f"image {digest[:12]} cannot be decoded ({why}); remove the item, or repair its picture"
        ) from None


def pixel_digest(images: Iterable[Image.Image]) -> str:
    """SHA-256 over mode, size and raw pixels of the pictures in order; empty without pictures."""
    digest, seen = hashlib.sha256(), False
    for image in images:
        digest.update(f"{image.mode} {image.width} {image.height}\n".encode())
        digest.update(image.tobytes())
        seen = True
    return digest.hexdigest() if seen else ""
