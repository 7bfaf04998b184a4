"""Digests of files and folders as DVC computes them, remembered by size and times."""

import hashlib
import json
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from stages.contracts.files import replacing
from stages.dag import source_files

MEMORY = Path(".vouch/digests.json")
_CHUNK = 1 << 20


class Digests:
    """MD5 of files, and of folders by DVC's rule: the MD5 of a JSON list of (md5, relpath).

    MD5 because dvc.lock holds it: it names contents here and protects against nothing. The time of the
    last change of status counts as well, because `cp -p` and the like set the modification time.
    """

    def __init__(self, memory: Path = MEMORY) -> None:
        self._path = memory
        self._known: dict[str, tuple[int, int, int, str]] = {}
        self._changed = False
        try:
            entries = json.loads(memory.read_text(encoding="utf-8"))
            self._known = {path: (int(s), int(m), int(c), str(d)) for path, (s, m, c, d) in entries.items()}
        except (OSError, ValueError, TypeError, AttributeError):
            pass  # a memory that is missing or damaged only costs hashing again

    def of(self, path: str) -> str | None:
        """The digest of a file or folder, None where there is nothing."""
        if os.path.isdir(path):
            return self._folder(path)
        return self._file(path) if os.path.isfile(path) else None

    def _file(self, path: str) -> str:
        stat = os.stat(path)
        seen = (stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
        known = self._known.get(path)
        if known and known[:3] == seen:
            return known[3]
        digest = hashlib.md5(usedforsecurity=False)
        with open(path, "rb") as handle:
            while chunk := handle.read(_CHUNK):
                digest.update(chunk)
        self._known[path] = (*seen, digest.hexdigest())
        self._changed = True
        return digest.hexdigest()

    def _folder(self, path: str) -> str:
        files = sorted((Path(file).relative_to(path).as_posix(), file) for file in source_files(path))
        with ThreadPoolExecutor() as pool:  # whoever hashes lets others run meanwhile
            digests = pool.map(self._file, [file for _, file in files])
            listing = [
                {"md5": digest, "relpath": relative}
                for digest, (relative, _) in zip(digests, files, strict=True)
            ]
        text = json.dumps(listing, sort_keys=True)
        return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest() + ".dir"

    def save(self) -> None:
        """Keeps what was computed for the next process; the last writer wins, nothing depends on it."""
        if not self._changed:
            return
        # a disk that is full, or a machine beside this one that was faster, only costs hashing again
        with suppress(OSError), replacing(self._path) as temporary:
            temporary.write_text(json.dumps(self._known), encoding="utf-8")
        self._changed = False
