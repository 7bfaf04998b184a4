"""Pictures as a model gets to see them: decoded the same way everywhere, 8-bit RGB.

A recipe (see vouch/tables/prompts.py) names its source images and the operations (operations.py)
that make one picture of them. Rendering is cheap, so prompts carry recipes and nothing rendered is
ever stored.
"""

import hashlib
import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from threading import Lock
from typing import Any

from PIL import Image, ImageOps, UnidentifiedImageError

from vouch.images.operations import apply
from vouch.pipeline.errors import UserError, reason
from vouch.tables.images import FORMATS, MAX_PIXELS

REVISION = 1  # raise when the same recipe comes out with other pixels


class Undecodable(UserError):
    """A source image that is no picture: an answer of its own kind, where other errors end the run."""


LARGE = 1 << 24  # pixels; larger pictures are worked on one at a time, for they take hundreds of MB
MOST_SCANS = 1 << 31  # pixels of a JPEG times its scans, each of which goes over all of them
_STRIP = 1 << 22  # pixels
_PIXEL = 4  # bytes of a pixel in memory, also of RGB
_large = Lock()
_SIXTEEN_BIT = ("I;16", "I;16L", "I;16B", "I;16N", "I")
_CONVERTED = ("1", "L", "P", "CMYK", "YCbCr", "LAB", "HSV")
TRANSPARENT = ("RGBA", "LA", "PA", "La", "RGBa")


def decode(data: bytes) -> Image.Image:
    """An encoded picture as 8-bit RGB.

    EXIF rotation is applied, transparency is laid on white, 16-bit grey keeps its range, of an
    animation the first frame counts; colour profiles are ignored. Raises ValueError or OSError.
    """
    with Image.open(io.BytesIO(data), formats=FORMATS) as file:
        if file.width * file.height > MAX_PIXELS:
            raise ValueError(f"more than {MAX_PIXELS:,} pixels")
        check_scans(file, data)
        file.load()
        image = ImageOps.exif_transpose(file)
    del file  # its pixels
    if image.mode == "RGB" and "transparency" not in image.info:
        return image
    if image.mode in TRANSPARENT or "transparency" in image.info:
        return by_strips(image, on_white)
    if image.mode in _SIXTEEN_BIT:
        # Pillow's own conversion clips at 255, which turns such a picture white.
        return by_strips(
            image, lambda strip: strip.convert("I").point(lambda value: value * (1 / 257) + 0.5).convert("L")
        )
    if image.mode in _CONVERTED:
        return image.convert("RGB")
    raise ValueError(f"pixels of mode {image.mode} have no agreed 8-bit form")


def check_scans(image: Image.Image, data: bytes) -> None:
    """Raises ValueError for a progressive JPEG of so many scans that decoding it takes minutes."""
    if image.format == "JPEG" and image.info.get("progressive"):
        scans = data.count(b"\xff\xda")
        if scans * image.width * image.height > MOST_SCANS:
            raise ValueError(f"{scans} scans of {image.width:,} x {image.height:,} pixels; save it anew")


def alone(pixels: int) -> AbstractContextManager[object]:
    """Holds back other large pictures while one of so many pixels is worked on; small ones go on."""
    return _large if pixels > LARGE else nullcontext()


def by_strips(image: Image.Image, change: Callable[[Image.Image], Image.Image]) -> Image.Image:
    """RGB of a change that treats pixels one by one, without a second and third copy of all of them."""
    if image.width * image.height <= _STRIP:
        return change(image).convert("RGB")
    made = Image.new("RGB", image.size)
    for top, strip in _strips(image):
        made.paste(change(strip).convert("RGB"), (0, top))
    return made


def _strips(image: Image.Image) -> Iterator[tuple[int, Image.Image]]:
    """Parts of a picture from its top on, each with the row where it begins."""
    rows = max(1, _STRIP // max(1, image.width))
    for top in range(0, image.height, rows):
        yield top, image.crop((0, top, image.width, min(top + rows, image.height)))


def on_white(image: Image.Image) -> Image.Image:
    """A transparent picture on a white ground."""
    opaque = image.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", opaque.size, "white"), opaque)


def weight(image: Image.Image) -> int:
    """Bytes that a decoded picture takes."""
    return _PIXEL * image.width * image.height


def render(recipe: Mapping[str, Any], read: Callable[[str], bytes]) -> Image.Image:
    """The picture of one recipe; `read` gives the encoded bytes of a digest.

    Raises UserError for a recipe that is not understood, Undecodable for damaged pictures.
    """
    sources = [(digest, read(digest)) for digest in recipe["images"]]
    with alone(sum(_pixels(data) for _, data in sources)):
        images = [_decoded(digest, data) for digest, data in sources]
        for step in recipe["steps"]:
            images = apply(images, step["operation"], step["severity"], step["revision"])
    if len(images) != 1:
        raise UserError(
            f"a picture recipe of {len(recipe['images'])} images comes to {len(images)} pictures instead of "
            "one; run `dvc repro` to make the prompts anew"
        )
    return images[0]


def _pixels(data: bytes) -> int:
    """Of an encoded picture, by its head; 0 where it has none."""
    try:
        with Image.open(io.BytesIO(data), formats=FORMATS) as image:
            return image.width * image.height
    except Exception:  # which `_decoded` raises again
        return 0


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
        for _, strip in _strips(image):
            digest.update(strip.tobytes())
        seen = True
    return digest.hexdigest() if seen else ""
