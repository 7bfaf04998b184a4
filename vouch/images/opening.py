"""Images as a model sees them: decoded the same way everywhere, to 8-bit RGB.

A recipe (vouch/tables/asked.py) names its source images and the operations (operations.py) that make one
image of them. `render` follows a recipe; that is cheap, so prompts carry recipes and no rendered image is
ever stored. `prefetch` and `LruCache` let threads decode ahead within a bound of memory.
"""

import hashlib
import io
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from threading import Lock
from typing import Any, Generic, TypeVar

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from vouch.images.operations import apply
from vouch.pipeline.errors import UserError, reason
from vouch.tables.asked import FORMATS, MAX_PIXELS, image_revision

T = TypeVar("T")
R = TypeVar("R")


def prefetch(
    function: Callable[[T], R],
    items: Iterable[T],
    workers: int,
    held: int,
    light: Callable[[T], bool] = lambda _: False,
    weigh: Callable[[T], int] = lambda _: 0,
) -> Iterator[R]:
    """function(item) for every item, in the order of the items, computed up to `held` items ahead.

    weigh: bytes that an item and its result take. Items ahead take at most ROOM, unless there is only one.
    light: whether an item is less work than handing it to a thread; the caller's thread then computes it.

    The caller's thread iterates over `items`, so they may come from files that threads must not share. An
    exception of the function is raised in place of its result.
    """
    waiting: deque[tuple[Callable[[], R], int]] = deque()
    taken = 0
    with ThreadPoolExecutor(workers, thread_name_prefix="vouch-prefetch") as pool:
        try:
            for item in items:
                weight = weigh(item)
                while waiting and taken + weight > ROOM:
                    taken -= waiting[0][1]
                    yield waiting.popleft()[0]()
                begun = partial(function, item) if light(item) else pool.submit(function, item).result
                waiting.append((begun, weight))
                taken += weight
                if len(waiting) > held:
                    taken -= waiting[0][1]
                    yield waiting.popleft()[0]()
            while waiting:
                yield waiting.popleft()[0]()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


ROOM = 1 << 28  # bytes, about one of the largest images


class LruCache(Generic[R]):
    """The last `held` results, by key. If threads want one at the same time, all wait for the first of them.

    Errors are raised in all threads that wait, and not kept. weigh: bytes of a result; about ROOM bytes are
    kept.
    """

    def __init__(self, held: int, weigh: Callable[[R], int] | None = None) -> None:
        self._held, self._weigh, self._lock = held, weigh, Lock()
        self._kept: OrderedDict[Hashable, Future[Any]] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], R]) -> R:
        """make(), or its earlier result for this key."""
        with self._lock:
            future = self._kept.get(key)
            is_new = future is None
            if future is None:
                future = self._kept[key] = Future()
                self._shrink()
            else:
                self._kept.move_to_end(key)
        if is_new:
            try:
                future.set_result(make())
            except BaseException as error:
                with self._lock:
                    if self._kept.get(key) is future:
                        del self._kept[key]
                future.set_exception(error)
            with self._lock:
                self._shrink()
        result: R = future.result()
        return result

    def _shrink(self) -> None:
        """Removes the oldest results until the rest fit or only one is left."""
        weights = [self._weight(future) for future in self._kept.values()]
        while len(weights) > self._held or (len(weights) > 1 and sum(weights) > ROOM):
            self._kept.popitem(last=False)
            del weights[0]

    def _weight(self, future: Future[Any]) -> int:
        known = self._weigh is not None and future.done() and not future.exception()
        return self._weigh(future.result()) if known and self._weigh else 0


REVISION = 2  # raise when the same recipe gives other pixels


class Undecodable(UserError):
    """A source image cannot be decoded. This is recorded in place of an answer; other errors end the run."""


class Unfit(ValueError):
    """An image is refused, although a decoder could read it; the message follows the image's name."""


LARGE = 1 << 24  # pixels; larger images are processed one at a time, because they take hundreds of MB
MOST_SCANS = 1 << 31  # pixels of a JPEG times its scans, each of which visits all pixels
_STRIP = 1 << 22  # pixels
_BLOCK = 1 << 20  # bytes decoded at once; the rest of a block is copied to the next
_PIXEL = 4  # bytes of a pixel in memory, also of RGB
_ORIENTATION = 0x0112
_large = Lock()
_SIXTEEN_BIT = ("I;16", "I;16L", "I;16B", "I;16N", "I")
_CONVERTED = ("1", "L", "P", "CMYK", "YCbCr", "LAB", "HSV")
_TRANSPARENT = ("RGBA", "LA", "PA", "La", "RGBa")
_MODES = ("RGB", *_SIXTEEN_BIT, *_CONVERTED, *_TRANSPARENT)
_HIGHEST = {"L;2": 3, "L;4": 15, "I;12": 4095}  # largest value of a sample with neither 8 nor 16 bits
_DEEP = (";16B", ";16L", ";16N")  # raw modes with samples of 16 bits
_FILLERS = (b"", b"\x5a" * 64, b"\xa5" * 64)  # a code that was cut off goes on with other bits in each
_START, _FRAME, _SCAN, _END = b"\xff\xd8", b"\xff\xc2", b"\xff\xda", b"\xff\xd9"  # markers of a JPEG
_COEFFICIENTS = 64  # in a block of a JPEG


def decode(data: bytes) -> Image.Image:
    """An encoded image as 8-bit RGB, see `as_rgb`. Raises ValueError or OSError."""
    with opened(data) as file:
        image = as_rgb(file)
    return image.copy() if image is file else image


def opened(data: bytes) -> Image.Image:
    """An encoded image whose pixels `as_rgb` decodes. Raises Unfit, another ValueError or OSError.

    `prepare` checks the same image that a model gets. A JPEG that lacks only its end marker is complete.
    """
    data = _completed(data)
    too_large = Unfit(f"has more than {MAX_PIXELS:,} pixels; scale it down")
    try:
        file = Image.open(io.BytesIO(data), formats=FORMATS)
    except Image.DecompressionBombError:
        raise too_large from None
    if file.width * file.height > MAX_PIXELS:  # Pillow only warns up to twice as many
        raise too_large
    if file.mode not in _MODES:
        raise Unfit(f"has the pixel mode {file.mode}, which has no standard 8-bit form; save it as 8-bit PNG")
    if file.format == "JPEG" and file.info.get("progressive"):
        scans = data.count(_SCAN)
        if scans * file.width * file.height > MOST_SCANS:
            raise Unfit(f"has {scans} scans of {file.width:,} x {file.height:,} pixels; save it again")
    file.decodermaxblock = _BLOCK
    return file


def mode_of(file: Image.Image) -> str:
    """Pillow's mode of an opened image, with `;16` if it keeps 8 of 16 bits of several channels."""
    deep = _raw_mode(file).endswith(_DEEP) and file.mode not in _SIXTEEN_BIT
    return f"{file.mode};16" if deep else file.mode


def _raw_mode(file: Image.Image) -> str:
    """The format of the file's samples, as Pillow's decoders name it; empty if they do not name one."""
    args = next((tile.args for tile in getattr(file, "tile", ())), None)
    return args if isinstance(args, str) else str(args[0]) if args else ""


def rotated(image: Image.Image) -> bool:
    """Whether EXIF rotates or mirrors the image before it is shown."""
    return image.getexif().get(_ORIENTATION, 1) not in (0, 1)


def as_rgb(file: Image.Image) -> Image.Image:
    """The pixels of an `opened` image as 8-bit RGB; if it already is, the image itself.

    EXIF rotation is applied, transparency becomes white, 16-bit grey keeps its range, an animation becomes
    its first frame; colour profiles are ignored. Raises Unfit, another ValueError or OSError.
    """
    raw = _raw_mode(file)
    if raw == "RGB;16B" and "transparency" in file.info:
        _clear_on_white(file)
    file.load()
    image = ImageOps.exif_transpose(file) if rotated(file) else file
    if image.mode in _SIXTEEN_BIT:
        low, high = image.getextrema() if image.mode == "I" else (0, 65535)
        if low < 0 or not 255 < high <= 65535:  # type: ignore[operator]
            raise Unfit(  # values up to 255 may be 8-bit values, or nearly black
                f"has 32-bit values of {low:,} to {high:,}, which have no standard 8-bit form; save it as "
                "8-bit PNG"
            )
        grey = partial(_eight_bit, highest=_HIGHEST.get(raw, 65535), clear=image.info.get("transparency"))
        return by_strips(image, grey)
    if image.mode in _TRANSPARENT or "transparency" in image.info:
        _scale_transparency(image, raw)
        return by_strips(image, _on_white)
    return image if image.mode == "RGB" else image.convert("RGB")


def _clear_on_white(file: Image.Image) -> None:
    """Makes the transparent colour of a PNG of 16-bit colours white; Pillow compares only 8 of its bits."""
    clear = np.array(file.info.pop("transparency"))
    with Image.open(io.BytesIO(file.fp.getvalue()), formats=("PNG",)) as low:  # type: ignore[attr-defined]
        low.tile = [tile._replace(args="RGB;16L") for tile in low.tile]  # the lower bytes of its samples
        same = (np.asarray(low) == clear & 255).all(axis=2)
    file.load()
    same &= (np.asarray(file) == clear >> 8).all(axis=2)
    file.paste((255, 255, 255), None, Image.fromarray(same))


def _scale_transparency(image: Image.Image, raw: str) -> None:
    """Scales the transparent value like Pillow scales the pixels, if those of the file have fewer bits."""
    clear = image.info.get("transparency")
    if isinstance(clear, int) and raw in _HIGHEST:
        image.info["transparency"] = clear * 255 // _HIGHEST[raw]


def _eight_bit(image: Image.Image, highest: int, clear: int | None) -> Image.Image:
    """Grey of more than 8 bits, which Pillow's own conversion clips at 255. clear: the transparent value."""
    values = image.convert("I")
    grey = values.point(lambda value: value * (255 / highest) + 0.5).convert("L")
    if clear is not None:
        grey.paste(255, None, Image.fromarray(np.asarray(values) == clear))
    return grey


def _completed(data: bytes) -> bytes:
    """A JPEG with its end marker added if it lacks only that; Pillow calls such a JPEG truncated.

    Nothing else is missing if the pixels are the same whatever bytes follow.
    """
    scan = data.rfind(_SCAN) if data.startswith(_START) else -1
    if scan < 0 or data.find(_END, scan) >= 0:
        return data
    body = data.rstrip(b"\xff")
    try:
        with Image.open(io.BytesIO(body), formats=("JPEG",)) as head:
            small = head.width * head.height <= MAX_PIXELS
            if not small or (head.info.get("progressive") and not _all_scans(body)):
                return data
        seen = set()
        for filler in _FILLERS:
            with Image.open(io.BytesIO(body + filler + _END), formats=("JPEG",)) as image:
                seen.add(pixel_digest([image]))
    except Exception:  # Pillow raises almost anything on damaged data; decoding it reports the error
        return data
    return body + _END if len(seen) == 1 else data


def _all_scans(data: bytes) -> bool:
    """Whether the scans of a progressive JPEG include the last bit of all coefficients."""
    frame, known = data.index(_FRAME), set[tuple[int, int]]()
    at = frame
    while (at := data.find(_SCAN, at)) >= 0:
        count = data[at + 4]
        first, last, bits = data[at + 5 + 2 * count : at + 8 + 2 * count]
        if bits & 15 == 0:
            components = data[at + 5 : at + 5 + 2 * count : 2]
            known |= {(one, k) for one in components for k in range(first, last + 1)}
        at += len(_SCAN)
    return len(known) == _COEFFICIENTS * data[frame + 9]


def one_large_at_a_time(pixels: int) -> AbstractContextManager[object]:
    """A lock for an image with this many pixels, so that only one large image is processed at a time."""
    return _large if pixels > LARGE else nullcontext()


def by_strips(image: Image.Image, change: Callable[[Image.Image], Image.Image]) -> Image.Image:
    """Applies a change that treats each pixel by itself, without further copies of the whole image."""
    if image.width * image.height <= _STRIP:
        return change(image).convert("RGB")
    changed = Image.new("RGB", image.size)
    for top, strip in _strips(image):
        changed.paste(change(strip).convert("RGB"), (0, top))
    return changed


def _strips(image: Image.Image) -> Iterator[tuple[int, Image.Image]]:
    """Strips of an image from the top, each with its first row."""
    rows = max(1, _STRIP // max(1, image.width))
    for top in range(0, image.height, rows):
        yield top, image.crop((0, top, image.width, min(top + rows, image.height)))


def _on_white(image: Image.Image) -> Image.Image:
    """A transparent image on white."""
    opaque = image.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", opaque.size, "white"), opaque)


def weight(image: Image.Image) -> int:
    """Bytes that a decoded image takes."""
    return _PIXEL * image.width * image.height


def render(recipe: Mapping[str, Any], read: Callable[[str], bytes]) -> Image.Image:
    """The image of one recipe; `read` returns the encoded bytes of a digest.

    Raises UserError for an unknown recipe, Undecodable for damaged images.
    """
    for operation, revision in ((step["operation"], step["revision"]) for step in recipe["steps"]):
        if revision != (current := image_revision(operation)):
            raise UserError(
                f"image operation {operation} is at revision {current}, the prompts were made for "
                f"{revision}; run `dvc repro` to make the prompts anew"
            )
    sources = [(digest, read(digest)) for digest in recipe["images"]]
    with one_large_at_a_time(sum(_pixels(data) for _, data in sources)):
        images = [_decoded(digest, data) for digest, data in sources]
        for step in recipe["steps"]:
            images = apply(images, step["operation"], step["severity"])
    if len(images) != 1:
        raise UserError(
            f"an image recipe of {len(recipe['images'])} images gives {len(images)} images instead of "
            "one; run `dvc repro` to make the prompts anew"
        )
    return images[0]


def _pixels(data: bytes) -> int:
    """Number of pixels that an encoded image's header states; 0 if it states none."""
    try:
        with Image.open(io.BytesIO(data), formats=FORMATS) as image:
            return image.width * image.height
    except Exception:  # `_decoded` raises it again
        return 0


def _decoded(digest: str, data: bytes) -> Image.Image:
    try:
        return decode(data)
    except MemoryError:
        raise  # the next run may have more memory
    except Exception as error:  # Pillow's decoders raise almost anything on damaged data
        # Pillow's own message has an address in memory, which differs in every run.
        unknown = isinstance(error, UnidentifiedImageError)
        why = f"in none of the formats {', '.join(FORMATS)}" if unknown else reason(error)
        damaged = f"cannot be decoded ({why}); remove the item, or repair its image"
        raise Undecodable(f"image {digest[:12]} {error if isinstance(error, Unfit) else damaged}") from None


def pixel_digest(images: Iterable[Image.Image]) -> str:
    """SHA-256 over mode, size and raw pixels of the images in order; empty without images."""
    digest, seen = hashlib.sha256(), False
    for image in images:
        digest.update(f"{image.mode} {image.width} {image.height}\n".encode())
        for _, strip in _strips(image):
            digest.update(strip.tobytes())
        seen = True
    return digest.hexdigest() if seen else ""
