"""Results made before of the same contents, kept outside of every stage's outputs."""

import hashlib
import os
from pathlib import Path

from vouch.pipeline.files import temporary_name

_DIGEST = hashlib.sha256().digest_size


class ResultCache:
    """Bytes by a digest that names all they rest on: contents, code, parameters, versions.

    A file that does not hold what it held when it was written counts as none.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._used: set[str] = set()

    def get(self, name: str) -> bytes | None:
        """What was kept under a name, None where there is nothing whole."""
        self._used.add(name)
        try:
            whole = (self._root / name).read_bytes()
        except OSError:
            return None
        held = whole[_DIGEST:]
        return held if hashlib.sha256(held).digest() == whole[:_DIGEST] else None

    def put(self, name: str, data: bytes) -> None:
        """Keeps bytes under a name."""
        self._used.add(name)
        self._root.mkdir(parents=True, exist_ok=True)
        # not synced: a file that a crash cuts short is found out by its digest
        temporary = self._root / temporary_name(name)
        temporary.write_bytes(hashlib.sha256(data).digest() + data)
        os.replace(temporary, self._root / name)

    def forget_others(self) -> None:
        """Removes what was neither asked for nor kept, so that the folder holds one run."""
        for path in self._root.glob("*"):
            if path.name not in self._used:
                path.unlink(missing_ok=True)
