"""Pictures as a model gets to see them: decoded the same way everywhere, 8-bit RGB.

A recipe (see vouch/tables/prompts.py) names its source images and the operations (operations.py)
that make one picture of them. Rendering is cheap, so prompts carry recipes and nothing rendered is
ever stored.
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
from vouch.tables.asked import FORMATS, MAX_PIXELS

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
    """function(item) for every item, in their order, computed up to `held` items ahead.

    weigh: bytes that an item and its result take; those ahead take no more than ROOM, but for a single one.

    `items` are drawn by the caller's thread, so they may come from files that threads must not share.
    A `light` item is less work than handing it to a thread: it is done by the caller's, in its turn.
    An exception of the function is raised where its result would have come.
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


ROOM = 1 << 28  # bytes, about one of the largest pictures


class LruCache(Generic[R]):
    """The last `held` results, by key. Threads that want one at the same time wait for the first of them.

    Errors are raised to all that wait and not kept. weigh: bytes of a result, of which about ROOM are kept.
    """

    def __init__(self, held: int, weigh: Callable[[R], int] | None = None) -> None:
        self._held, self._weigh, self._lock = held, weigh, Lock()
        self._kept: OrderedDict[Hashable, Future[Any]] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], R]) -> R:
        """make(), or what it gave for this key."""
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
        """Forgets the oldest until the others fit, or one is left."""
        weights = [self._weight(future) for future in self._kept.values()]
        while len(weights) > self._held or (len(weights) > 1 and sum(weights) > ROOM):
            self._kept.popitem(last=False)
            del weights[0]

    def _weight(self, future: Future[Any]) -> int:
        known = self._weigh is not None and future.done() and not future.exception()
        return self._weigh(future.result()) if known and self._weigh else 0


REVISION = 2  # raise when the same recipe comes out with other pixels


class Undecodable(UserError):
    """A source image that is no picture: an answer of its own kind, where other errors end the run."""


class Unfit(ValueError):
    """Why a picture is refused that a decoder could read, in words that fit after its name."""


LARGE = 1 << 24  # pixels; larger pictures are worked on one at a time, for they take hundreds of MB
MOST_SCANS = 1 << 31  # pixels of a JPEG times its scans, each of which goes over all of them
_STRIP = 1 << 22  # pixels
_BLOCK = 1 << 20  # bytes decoded at once; what is left of a block is copied to the next
_PIXEL = 4  # bytes of a pixel in memory, also of RGB
_ORIENTATION = 0x0112
_large = Lock()
_SIXTEEN_BIT = ("I;16", "I;16L", "I;16B", "I;16N", "I")
_CONVERTED = ("1", "L", "P", "CMYK", "YCbCr", "LAB", "HSV")
_TRANSPARENT = ("RGBA", "LA", "PA", "La", "RGBa")
_MODES = ("RGB", *_SIXTEEN_BIT, *_CONVERTED, *_TRANSPARENT)
_HIGHEST = {"L;2": 3, "L;4": 15, "I;12": 4095}  # value in the file, where its samples have no 8 or 16 bits
_DEEP = (";16B", ";16L", ";16N")  # of samples of 16 bits
_FILLERS = (b"", b"\x5a" * 64, b"\xa5" * 64)  # no two begin a code of the same bits
_START, _FRAME, _SCAN, _END = b"\xff\xd8", b"\xff\xc2", b"\xff\xda", b"\xff\xd9"  # marks of a JPEG
_COEFFICIENTS = 64  # of a block of a JPEG


def decode(data: bytes) -> Image.Image:
    """An encoded picture as 8-bit RGB, see `as_rgb`. Raises ValueError or OSError."""
    with opened(data) as file:
        image = as_rgb(file)
    return image.copy() if image is file else image


def opened(data: bytes) -> Image.Image:
    """An encoded picture whose pixels `as_rgb` decodes. Raises ValueError, of it Unfit, or OSError.

    What `prepare` checks and what a model gets come from here. A JPEG that lacks nothing but the mark of its
    end is whole.
    """
    data = _completed(data)
    too_large = Unfit(f"has more than {MAX_PIXELS:,} pixels; scale it down")
    try:
        file = Image.open(io.BytesIO(data), formats=FORMATS)
    except Image.DecompressionBombError:
        raise too_large from None
    if file.width * file.height > MAX_PIXELS:  # for fewer than twice as many Pillow only warns
        raise too_large
    if file.mode not in _MODES:
        raise Unfit(f"has pixels of mode {file.mode}, which have no agreed 8-bit form; save it as 8-bit PNG")
    if file.format == "JPEG" and file.info.get("progressive"):
        scans = data.count(_SCAN)
        if scans * file.width * file.height > MOST_SCANS:
            raise Unfit(f"has {scans} scans of {file.width:,} x {file.height:,} pixels; save it anew")
    file.decodermaxblock = _BLOCK
    return file


def mode_of(file: Image.Image) -> str:
    """Pillow's mode of an opened picture, of several samples of 16 bits with `;16`: it keeps 8 of them."""
    deep = _raw_mode(file).endswith(_DEEP) and file.mode not in _SIXTEEN_BIT
    return f"{file.mode};16" if deep else file.mode


def _raw_mode(file: Image.Image) -> str:
    """How the file holds its samples, as Pillow's decoders name it; empty where none says."""
    args = next((tile.args for tile in getattr(file, "tile", ())), None)
    return args if isinstance(args, str) else str(args[0]) if args else ""


def rotated(image: Image.Image) -> bool:
    """Whether EXIF says that the picture is to be rotated or mirrored before it is shown."""
    return image.getexif().get(_ORIENTATION, 1) not in (0, 1)


def as_rgb(file: Image.Image) -> Image.Image:
    """The pixels of an `opened` picture as 8-bit RGB; the picture itself where they are so already.

    EXIF rotation is applied, transparency is laid on white, 16-bit grey keeps its range, of an animation the
    first frame counts; colour profiles are ignored. Raises ValueError, of it Unfit, or OSError.
    """
    raw = _raw_mode(file)
    if raw == "RGB;16B" and "transparency" in file.info:
        _clear_on_white(file)
    file.load()
    image = ImageOps.exif_transpose(file) if rotated(file) else file
    if image.mode in _SIXTEEN_BIT:
        low, high = image.getextrema() if image.mode == "I" else (0, 65535)
        if low < 0 or not 255 < high <= 65535:  # type: ignore[operator]
            raise Unfit(  # values up to 255 may be of 8 bits, or nearly black
                f"has 32-bit values of {low:,} to {high:,}, which have no agreed 8-bit form; save it as "
                "8-bit PNG"
            )
        grey = partial(_eight_bit, highest=_HIGHEST.get(raw, 65535), clear=image.info.get("transparency"))
        return by_strips(image, grey)
    if image.mode in _TRANSPARENT or "transparency" in image.info:
        _scale_transparency(image, raw)
        return by_strips(image, _on_white)
    return image if image.mode == "RGB" else image.convert("RGB")


def _clear_on_white(file: Image.Image) -> None:
    """White where a PNG of 16-bit colours has its transparent one, of which Pillow compares 8 bits."""
    clear = np.array(file.info.pop("transparency"))
    with Image.open(io.BytesIO(file.fp.getvalue()), formats=("PNG",)) as low:  # type: ignore[attr-defined]
        low.tile = [tile._replace(args="RGB;16L") for tile in low.tile]  # the lower bytes of its samples
        same = (np.asarray(low) == clear & 255).all(axis=2)
    file.load()
    same &= (np.asarray(file) == clear >> 8).all(axis=2)
    file.paste((255, 255, 255), None, Image.fromarray(same))


def _scale_transparency(image: Image.Image, raw: str) -> None:
    """The transparent value as Pillow gives the pixels, where the file's have fewer bits."""
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
    """A JPEG with the mark of its end, where it lacks that and nothing else: Pillow calls it truncated.

    Nothing else is missing where the pixels are the same whatever follows.
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
    except Exception:  # Pillow's decoders raise almost anything on damaged data; who decodes it says so
        return data
    return body + _END if len(seen) == 1 else data


def _all_scans(data: bytes) -> bool:
    """Whether the scans of a progressive JPEG come to the last bit of all coefficients."""
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


def _on_white(image: Image.Image) -> Image.Image:
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
        damaged = f"cannot be decoded ({why}); remove the item, or repair its picture"
        raise Undecodable(f"image {digest[:12]} {error if isinstance(error, Unfit) else damaged}") from None


def pixel_digest(images: Iterable[Image.Image]) -> str:
    """SHA-256 over mode, size and raw pixels of the pictures in order; empty without pictures."""
    digest, seen = hashlib.sha256(), False
    for image in images:
        digest.update(f"{image.mode} {image.width} {image.height}\n".encode())
        for _, strip in _strips(image):
            digest.update(strip.tobytes())
        seen = True
    return digest.hexdigest() if seen else ""
