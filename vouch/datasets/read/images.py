"""The images of a dataset's entries: reading and examining them, and drawing boxes into them.

`with_images` reads and examines the images of the next entries with a few threads, because decoding takes
most of the time of `prepare` and Pillow lets other threads run meanwhile. Everything else happens entry after
entry, in the order of the source. Memory holds the images of at most HELD entries, or as many bytes as
`prefetch` allows.
"""

import hashlib
import io
import os
import re
import warnings
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw, UnidentifiedImageError

from vouch.datasets.raw import BrokenImage, RawItem, Rejected, Unusable
from vouch.datasets.read.files import UNSEEN
from vouch.images.copies import Look, look, reduced, sideways
from vouch.images.opening import (
    LruCache,
    Unfit,
    as_rgb,
    decode,
    mode_of,
    one_large_at_a_time,
    opened,
    prefetch,
    rotated,
)
from vouch.pipeline.dag import left_out
from vouch.pipeline.files import read_file
from vouch.tables.asked import FORMATS

MAX_RATIO = 200  # of an image's sides: a model that scales the shorter one up would fill memory


@dataclass(frozen=True)
class ImageFacts:
    """Facts about one encoded image.

    width, height: pixels, before EXIF rotation. rotated: whether EXIF rotates or mirrors the image; sideways:
    whether that swaps width and height.
    """

    digest: str
    format: str
    mode: str
    width: int
    height: int
    animated: bool
    rotated: bool
    look: Look
    sideways: bool = False

    @property
    def shown_height(self) -> int:
        """Pixels, after EXIF rotation."""
        return self.width if self.sideways else self.height

    @property
    def blank(self) -> bool:
        """Whether all pixels have one colour."""
        return self.look.blank


def digest_of(data: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def examine(data: bytes, digest: str | None = None) -> ImageFacts:
    """Facts of an image, which is decoded to be sure that it can be. digest: if known. Raises Unusable."""
    start = data[:512].lstrip().lower()
    if not data:
        raise Unusable("is an empty file")
    if start.startswith(b"version https://git-lfs"):
        raise Unusable("is a Git LFS pointer, not an image; run `git lfs pull` in its source")
    if start.startswith((b"<", b"\xef\xbb\xbf<")):
        raise Unusable("is a web page or other markup, not an image; download it again")
    try:
        return _decode(data, digest or digest_of(data))
    except Unusable:
        raise
    except Unfit as error:
        raise Unusable(str(error)) from None
    except UnidentifiedImageError:
        raise Unusable(f"is not an image in any of the formats {', '.join(FORMATS)}") from None
    except Exception as error:  # Pillow's decoders raise almost anything on damaged data
        raise Unusable(f"cannot be decoded ({error or type(error).__name__}); it may be cut off") from None


def _decode(data: bytes, digest: str, whole: bool = False) -> ImageFacts:
    """whole: decode every pixel, even if a reduced image would do. In any case the whole file is read."""
    with opened(data) as image:
        if max(image.size) > MAX_RATIO * min(image.size):
            raise Unusable(f"has {image.width:,} x {image.height:,} pixels, too thin to be an image; crop it")
        name, mode, (width, height) = image.format or "", mode_of(image), image.size
        with one_large_at_a_time(width * height):
            size = None if whole else reduced(image)
            appearance, by_exif, is_sideways = look(as_rgb(image), size), rotated(image), sideways(image)
            # last, because the search for a second frame moves on from the first
            animated = name != "MPO" and getattr(image, "is_animated", False)
    if appearance is None:  # the image may have one colour, which only all pixels can show
        return _decode(data, digest, whole=True)
    return ImageFacts(digest, name, mode, width, height, animated, by_exif, appearance, is_sideways)


MAX_IMAGE_BYTES = 256 * 2**20
HELD = 12  # entries examined ahead
MOST_WORKERS = 4


@dataclass(frozen=True)
class EntryImages:
    """An entry and its images, those for exchange last. broken: why the first unusable image was refused.

    examined: each image and its bytes, None for an image that was known before.
    """

    entry: RawItem | Rejected
    examined: Sequence[tuple[ImageFacts, bytes | None]] = ()
    broken: BrokenImage | None = None


def with_images(
    entries: Iterable[RawItem | Rejected], known: Mapping[str, ImageFacts]
) -> Generator[EntryImages, None, None]:
    """Every entry with its images, in order. Close the generator to end its threads.

    known: images by their digest, which are not examined again; may grow meanwhile.
    """
    cache: LruCache[ImageFacts] = LruCache(4 * HELD)

    def read(entry: RawItem | Rejected) -> EntryImages:
        return EntryImages(entry) if isinstance(entry, Rejected) else _read(entry, known, cache)

    def has_no_image(entry: RawItem | Rejected) -> bool:
        return isinstance(entry, Rejected) or not (entry.images or entry.exchange)

    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with warnings.catch_warnings():
        # Pillow need not warn: such images are refused. Threads must not change the filters themselves.
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)
        yield from prefetch(read, entries, min(allowed, MOST_WORKERS), HELD, has_no_image, _bytes)


def _bytes(entry: RawItem | Rejected) -> int:
    """Size of an entry's encoded images, as far as the files are found."""
    if isinstance(entry, Rejected):
        return 0
    size = 0
    for image in (*entry.images, *entry.exchange):
        if isinstance(image, bytes):
            size += len(image)
        elif image is not None and entry.root is not None:
            with suppress(OSError, ValueError):  # reading it will report the error
                size += os.stat(os.path.join(entry.root, image)).st_size
    return size


def _read(raw: RawItem, known: Mapping[str, ImageFacts], cache: LruCache[ImageFacts]) -> EntryImages:
    """Reads and examines the images of an entry; runs in a thread."""
    examined: list[tuple[ImageFacts, bytes | None]] = []
    for image in (*raw.images, *(image for image in raw.exchange if image is not None)):
        try:
            data = image if isinstance(image, bytes) else read_image(image, raw.root)
            digest = digest_of(data)
            is_new = digest not in known
            facts = cache.get(digest, partial(examine, data, digest)) if is_new else known[digest]
            examined.append((facts, data if is_new else None))
        except BrokenImage as error:
            return EntryImages(raw, examined, error)
        except Unusable as error:
            which = repr(image) if isinstance(image, str) else str(len(examined) + 1)
            return EntryImages(raw, examined, BrokenImage(f"image {which:.200}: {error}"))
    return EntryImages(raw, examined)


def read_image(image: str, root: Path | None) -> bytes:
    """The bytes of an image file, which must lie inside `root`. Raises BrokenImage."""
    name, below = f"image {image!r:.200}", Path(image)
    if root is None or not image or below.is_absolute() or ".." in below.parts:
        raise BrokenImage(f"{name}: not a path inside the dataset's folder; give a relative one without `..`")
    try:
        path = Path(root, *below.parts)
        if through_link(root, below.parts):
            if leads_out(path, root):
                raise BrokenImage(
                    f"{name}: a link that leads out of the dataset's folder; copy the file into it"
                )
            if through_link(root, below.parts[:-1]):  # no digest covers the folder behind the link
                raise BrokenImage(
                    f"{name}: behind a link to a folder, whose changes go unseen; name the folder itself"
                )
        if part := left_out(path):
            raise BrokenImage(f"{name}: {UNSEEN.format(part)}")
        if not path.is_file():
            raise BrokenImage(f"{name}: no such file in {root}")
        size = path.stat().st_size
        if size > MAX_IMAGE_BYTES:
            raise BrokenImage(f"{name}: larger than {MAX_IMAGE_BYTES:,} bytes; scale it down")
        return read_file(str(path), size)
    except BrokenImage:
        raise
    except (OSError, ValueError) as error:
        raise BrokenImage(f"{name}: cannot be read ({getattr(error, 'strerror', None) or error})") from None


def through_link(root: Path, names: Sequence[str]) -> bool:
    """Whether the path of these names below `root` goes through a link."""
    _root, *below = accumulate(names, os.path.join, initial=str(root))
    return any(map(os.path.islink, below))


def leads_out(path: Path, root: Path) -> bool:
    """Whether links lead a path below `root` out of it; a link to itself does not."""
    return not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))


# The n-th box has the n-th colour; there can be no more boxes.
_BOX_COLOURS = ((255, 0, 0), (0, 128, 0), (0, 0, 255), (255, 215, 0))
_COLOUR_NAMES = ("red", "green", "blue", "yellow")
_BOX_REFERENCE = re.compile(r"<box ([0-9]{1,3})>")
_FARTHEST = 100_000  # pixels; no image is larger, and Pillow takes forever for longer lines


def with_boxes(data: bytes, boxes: Sequence[Any], thickness: int, form: str) -> bytes:
    """The image with its boxes drawn, as PNG. Raises Unusable.

    form: `corners` (x1, y1, x2, y2) or `size` (x, y, width, height), in pixels. The pixels are those of
    `rectangle` of OpenCV, which the authors of ReForm-Eval used: from a thickness of two on a line reaches as
    many pixels to both sides, so 2 is three pixels wide, 3 and 4 are five, and corners are round outside.
    """
    if len(boxes) > len(_BOX_COLOURS):
        raise Unusable(f"has {len(boxes)} boxes, but at most {len(_BOX_COLOURS)} can be drawn")
    image = _examined(data)
    pen, out = ImageDraw.Draw(image), (thickness + 1) // 2 if thickness > 1 else 0
    reach = range(-out, out + 1)
    disc = [(across, down) for across in reach for down in reach if across**2 + down**2 <= out**2]
    for box, colour in zip(boxes, _BOX_COLOURS, strict=False):
        x1, y1, x2, y2 = _corners(box, form)
        for x in (x1, x2):
            pen.rectangle((x - out, y1, x + out, y2), fill=colour)
            pen.point([(x + across, y + down) for y in (y1, y2) for across, down in disc], fill=colour)
        for y in (y1, y2):
            pen.rectangle((x1, y - out, x2, y + out), fill=colour)
    return _png(image)


def cropped(data: bytes, box: Sequence[Any], form: str) -> bytes:
    """The part of the image in a box, as PNG. Raises Unusable, also for a box that has no pixel of it."""
    image = _examined(data)
    x1, y1, x2, y2 = _corners(box, form)
    part = (max(x1, 0), max(y1, 0), min(x2, image.width), min(y2, image.height))
    if part[0] >= part[2] or part[1] >= part[3]:
        raise Unusable(f"has the box {box!r:.60}, which has no pixel of its image")
    return _png(image.crop(part))


def _examined(data: bytes) -> Image.Image:
    try:
        examine(data)  # checks the size before the whole image is in memory
    except Unusable as error:
        raise Unusable(f"has an image that {error}") from None
    return decode(data)


def _png(image: Image.Image) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, format="PNG")
    return buffer.getvalue()


def spoken(text: str, boxes: Sequence[Any], drawn: bool) -> str:
    """A text with each `<box 1>` in words: `the red box` if it is drawn, otherwise its corners in pixels.

    boxes: x1, y1, x2, y2 each. Raises Unusable if there is no such box.
    """
    words = [str(list(_corners(box, "corners"))) for box in boxes]
    if drawn:
        words = [f"the {colour} box" for colour in _COLOUR_NAMES[: len(words)]]

    def of_box(reference: re.Match[str]) -> str:
        number = int(reference[1])
        if not 1 <= number <= len(words):
            raise Unusable(f"refers to {reference[0]}, but has {len(boxes)} boxes")
        return words[number - 1]

    return _BOX_REFERENCE.sub(of_box, text)


def _corners(box: Any, form: str) -> tuple[int, int, int, int]:
    if not isinstance(box, list | tuple) or len(box) != 4 or not all(map(_is_coordinate, box)):
        raise Unusable(f"has the box {box!r:.60}, which is not four numbers of pixels")
    x, y, across, down = box
    x2, y2 = (across, down) if form == "corners" else (x + across, y + down)
    if x2 < x or y2 < y:
        raise Unusable(f"has the box {box!r:.60}, whose second corner is left of or above its first")
    return int(x), int(y), int(x2), int(y2)


def _is_coordinate(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and -_FARTHEST <= value <= _FARTHEST
