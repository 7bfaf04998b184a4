"""Pictures of entries, read and examined by a few threads a little ahead of the entry that comes next.

Decoding takes most of the time of `prepare`, and Pillow lets other threads run meanwhile. Everything else
happens entry after entry, in the order of the source. In memory are at most the pictures of HELD entries, or
as many bytes as `prefetch` allows, beside those that are being written.
"""

import os
import warnings
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from pathlib import Path

from PIL import Image

from vouch.datasets.cleaning.cleaning import Picture, digest_of, examine
from vouch.datasets.raw import BrokenImage, RawItem, Rejected, Unusable
from vouch.datasets.read.files import UNSEEN
from vouch.images.lru_cache import LruCache
from vouch.images.prefetch import prefetch
from vouch.pipeline.dag import left_out
from vouch.pipeline.streaming_digest import read_file

MAX_IMAGE_BYTES = 256 * 2**20
HELD = 12  # entries looked at ahead
MOST_WORKERS = 4


@dataclass(frozen=True)
class EntryImages:
    """An entry and its pictures, those for exchange last; `broken` in place of the first that is unusable.

    seen: each picture and its bytes, None for one that was known before.
    """

    entry: RawItem | Rejected
    seen: Sequence[tuple[Picture, bytes | None]] = ()
    broken: BrokenImage | None = None


def with_images(
    entries: Iterable[RawItem | Rejected], known: Mapping[str, Picture]
) -> Generator[EntryImages, None, None]:
    """Every entry in its order, with its pictures. known: by digest; may grow, is not examined again.

    Close it to end its threads.
    """
    examined: LruCache[Picture] = LruCache(4 * HELD)

    def look(entry: RawItem | Rejected) -> EntryImages:
        return EntryImages(entry) if isinstance(entry, Rejected) else _read(entry, known, examined)

    def has_no_picture(entry: RawItem | Rejected) -> bool:
        return isinstance(entry, Rejected) or not (entry.images or entry.exchange)

    with warnings.catch_warnings():
        # Such pictures are refused in words; and the filters must not be changed by several threads.
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)
        yield from prefetch(look, entries, _workers(), HELD, has_no_picture, _bytes)


def _bytes(entry: RawItem | Rejected) -> int:
    """Of an entry's encoded pictures, as far as they can be found."""
    if isinstance(entry, Rejected):
        return 0
    found = 0
    for image in (*entry.images, *entry.exchange):
        if isinstance(image, bytes):
            found += len(image)
        elif image is not None and entry.root is not None:
            with suppress(OSError, ValueError):  # reading it says what is wrong
                found += os.stat(os.path.join(entry.root, image)).st_size
    return found


def _workers() -> int:
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(allowed, MOST_WORKERS)


def _read(raw: RawItem, known: Mapping[str, Picture], examined: LruCache[Picture]) -> EntryImages:
    """Runs in a thread."""
    seen: list[tuple[Picture, bytes | None]] = []
    for image in (*raw.images, *(image for image in raw.exchange if image is not None)):
        try:
            data = image if isinstance(image, bytes) else read_image(image, raw.root)
            digest = digest_of(data)
            if digest in known:
                seen.append((known[digest], None))
            else:
                seen.append((examined.get(digest, partial(examine, data, digest)), data))
        except BrokenImage as error:
            return EntryImages(raw, seen, error)
        except Unusable as error:
            which = repr(image) if isinstance(image, str) else str(len(seen) + 1)
            return EntryImages(raw, seen, BrokenImage(f"image {which:.200}: {error}"))
    return EntryImages(raw, seen)


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
            if through_link(root, below.parts[:-1]):  # no digest says where it leads
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
    """Whether the way down these names leads through a link below `root`."""
    _root, *below = accumulate(names, os.path.join, initial=str(root))
    return any(map(os.path.islink, below))


def leads_out(path: Path, root: Path) -> bool:
    """Whether links lead a path below `root` out of it; one that leads to itself leads nowhere."""
    return not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))
