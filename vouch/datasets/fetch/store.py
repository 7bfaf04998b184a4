"""Where fetched files lie: .vouch/sources, outside every stage's outputs, named by their contents.

hub/              the cache of huggingface_hub: files by their digests, and a folder for each commit
files/SHA256/     a file that came from an address, under its own name
found/KEY.json    what an origin was found to be: written when everything is there and verified
"""

import hashlib
import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from vouch.datasets.fetch.origin import Origin
from vouch.datasets.read.files import File
from vouch.pipeline.errors import UserError
from vouch.pipeline.files import canonical_json, write_json

STORE = Path(".vouch/sources")
MAX_BYTES = 256 * 2**30  # of one dataset
_SHA1 = 40  # hexadecimal digits


@dataclass(frozen=True)
class StoredFile:
    """A file in the store. path: below the store. size: bytes. digest: SHA-256, or a git blob's SHA-1."""

    name: str
    path: str
    size: int
    digest: str


@dataclass(frozen=True)
class Found:
    """What an origin was found to be. revision: the commit, null for addresses."""

    revision: str | None
    files: tuple[StoredFile, ...]

    def listed(self) -> tuple[File, ...]:
        """The files for a loader."""
        return tuple(File(kept.name, STORE / kept.path) for kept in self.files)

    @property
    def size(self) -> int:
        """Bytes, all files together."""
        return sum(kept.size for kept in self.files)


def recall(origin: Origin) -> Found | None:
    """What is known of an origin, where all its files are still there in full; else null."""
    try:
        values: Any = json.loads(_record(origin).read_text(encoding="utf-8"))
        files = tuple(StoredFile(**kept) for kept in values["files"])
        whole = all((STORE / kept.path).stat().st_size == kept.size for kept in files)
        return Found(values["revision"], files) if whole and files else None
    except (OSError, ValueError, TypeError, KeyError):
        return None  # missing or damaged: fetched again, which costs a look at what is there


def is_whole(found: Found) -> bool:
    """Whether every file still has the digest that it had when it came; every byte is read."""
    return all(digest_of(STORE / kept.path, kept.digest) == kept.digest for kept in found.files)


def remember(origin: Origin, found: Found) -> None:
    """Keeps it for the next time."""
    write_json(_record(origin), asdict(found))


def _record(origin: Origin) -> Path:
    key = hashlib.sha256(canonical_json(origin.model_dump()).encode()).hexdigest()[:32]
    return STORE / "found" / f"{key}.json"


def check_room(needed: int, where: str) -> None:
    """Raises UserError where so many bytes are too many, or the disk has no room for them."""
    if needed > MAX_BYTES:
        raise UserError(f"{where}: {needed:,} bytes, more than the {MAX_BYTES:,} of one dataset; mirror it")
    STORE.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(STORE).free
    if needed > free:
        raise UserError(f"{where}: needs {needed:,} bytes, {STORE} has room for {free:,}; make room")


def digest_of(path: Path, like: str = "") -> str:
    """SHA-256 of a file, hexadecimal; where `like` is a SHA-1, as a git blob has, that of the blob."""
    with path.open("rb") as file:
        if len(like) != _SHA1:
            return hashlib.file_digest(file, "sha256").hexdigest()
        blob = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
        return hashlib.file_digest(file, lambda: blob).hexdigest()
