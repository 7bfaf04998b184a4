"""MD5 of files and folders by DVC's rules, remembered by size and times; and whether a file was edited."""

import functools
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from vouch.pipeline.dag import source_files
from vouch.pipeline.errors import UserError
from vouch.pipeline.files import forget, replacing, sealed, streamed_digest, unsealed
from vouch.pipeline.terminal import progress

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

MEMORY = Path(".vouch/digests.json")
_CHUNK = 1 << 20
_LONG = 1 << 32  # bytes; reading more takes seconds or minutes
_PART = 32  # files of a folder that a thread hashes in one go
_stopped = Event()  # set when the threads' results are no longer needed


class Digests:
    """MD5 of files, and of folders by DVC's rule: the MD5 of a JSON list of (md5, relpath).

    MD5, because dvc.lock has it: here it identifies contents and is no protection. The time of the
    last change of status counts as well, because `cp -p` and the like set the modification time.
    """

    def __init__(self, memory: Path = MEMORY) -> None:
        self._path = memory
        self._known: dict[str, tuple[int, int, int, str]] = {}
        self._changed = False
        try:
            # a memory that is missing or damaged only costs hashing again
            entries = (unsealed(memory) or {}).get("files", {})
            self._known = {path: (int(s), int(m), int(c), str(d)) for path, (s, m, c, d) in entries.items()}
        except (ValueError, TypeError, AttributeError):
            pass

    def of(self, path: str, anew: bool = False) -> str | None:
        """The digest of a file or folder, or None if there is none.

        anew: read every byte and ignore what is remembered, as a disk may change bytes but no time.
        """
        if anew:
            for file in source_files(path) if os.path.isdir(path) else [path]:
                self._known.pop(file, None)
                forget(file)
        if os.path.isdir(path):
            return self._folder(path)
        return self._file(path) if os.path.isfile(path) else None

    def known(self) -> dict[str, str]:
        """Path -> digest, for all files that are remembered."""
        return {path: digest for path, (*_, digest) in self._known.items()}

    def _looked_up(self, path: str, seen: tuple[int, int, int]) -> str | None:
        """The digest without reading the file: from when this process read or wrote it, or as remembered."""
        found = streamed_digest(path)
        if found:
            return self._keep(path, seen, found)
        known = self._known.get(path)
        return known[3] if known and known[:3] == seen else None

    def _keep(self, path: str, seen: tuple[int, int, int], digest: str) -> str:
        entry = (*seen, digest)
        self._changed |= self._known.get(path) != entry
        self._known[path] = entry
        return digest

    def _file(self, path: str) -> str:
        seen = _seen(path)
        return self._looked_up(path, seen) or self._keep(path, seen, _md5(path, seen[0]))

    def _files(self, paths: list[str]) -> list[str]:
        return [self._file(path) for path in paths]

    def _folder(self, path: str) -> str:
        start = len(str(Path(path, "_"))) - 1  # where names below the folder begin, also for "."
        files = sorted((file[start:], file) for file in source_files(path))
        digests = {file: self._looked_up(file, _seen(file)) for _, file in files}
        unknown = [file for file, digest in digests.items() if digest is None]
        if unknown:  # a thread would cost more than the lookups
            from concurrent.futures import ThreadPoolExecutor

            parts = [unknown[start : start + _PART] for start in range(0, len(unknown), _PART)]
            # a thread that hashes lets others run meanwhile; more of them would only wait for each other
            with ThreadPoolExecutor((os.cpu_count() or 1) + 1) as pool, _stopping(pool):
                for part, found in zip(parts, pool.map(self._files, parts), strict=True):
                    digests.update(zip(part, found, strict=True))
        listing = [{"md5": digests[file], "relpath": relative} for relative, file in files]
        text = json.dumps(listing, sort_keys=True)
        return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest() + ".dir"

    def save(self) -> None:
        """Stores new digests for the next process. The last writer wins; no result depends on it."""
        if not self._changed:
            return
        # if the disk is full, or another machine was faster, the only cost is hashing again
        with suppress(OSError), replacing(self._path) as temporary:
            temporary.write_text(json.dumps(sealed({"files": self._known})), encoding="utf-8")
        self._changed = False


@contextmanager
def _stopping(pool: "ThreadPoolExecutor") -> Iterator[None]:
    """Ends the threads of a pool if the block is left early; they would go on to read terabytes."""
    try:
        yield
    except BaseException:
        _stopped.set()
        pool.shutdown(cancel_futures=True)
        _stopped.clear()
        raise


def fingerprint(path: str) -> str:
    """A digest of names, sizes and times, which an edit of a file or folder changes; no content is read.

    Raises UserError if a file may not be read: better now than after hours.
    """
    digest = hashlib.md5(usedforsecurity=False)
    files = source_files(path) if os.path.isdir(path) else [path]
    for file in filter(os.path.exists, files):
        if not os.access(file, os.R_OK):
            raise UserError(f"{file}: you may not read it; change its permissions, or take it away")
        digest.update(f"{file!a}{_seen(file)}".encode())
    return digest.hexdigest()


def _md5(path: str, size: int) -> str:
    digest = hashlib.md5(usedforsecurity=False)
    with open(path, "rb", buffering=0) as handle:
        chunks = iter(lambda: handle.read(min(_CHUNK, size + 1)), b"")  # a small file takes two reads
        for chunk in progress(chunks, size // _CHUNK, f"reading {path}, MB") if size > _LONG else chunks:
            if _stopped.is_set():
                raise UserError(f"{path}: not read to its end; run the same command again")
            digest.update(chunk)
    return digest.hexdigest()


def _seen(path: str) -> tuple[int, int, int]:
    """Size and times, by which a rewritten file is recognised."""
    stat = os.stat(path)
    return stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns


class Moment:
    """Digests of one moment: a path that many stages read is looked up only once."""

    def __init__(self, digests: Digests) -> None:
        self.of = functools.cache(digests.of)
