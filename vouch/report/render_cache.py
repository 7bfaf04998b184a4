"""The render cache: a second report renders only the figures that changed (3 s instead of 25 for the demo).

A key covers all that can change the bytes: what is drawn, the code that draws, the versions of the renderer
and of Pillow. A file that does not hold what it held when it was written is left out, and drawn again.
"""

import hashlib
import os
from collections.abc import Callable
from functools import cache
from importlib import metadata
from pathlib import Path

from vouch.pipeline.files import temporary_name
from vouch.report import drawing, palette

ROOT = Path(".vouch/drawings")
_DIGEST = hashlib.sha256().digest_size


@cache
def _revision() -> str:
    code = [Path(str(module.__file__)).read_text("utf-8") for module in (drawing, palette)]
    return "\0".join([*code, *map(metadata.version, ("vl-convert-python", "pillow"))])


class RenderCache:
    """`RenderCache()(kind, given, make)`: what `make` gave for the same kind and text, now or earlier."""

    def __init__(self, root: Path = ROOT) -> None:
        self._root = root
        self._used: set[str] = set()

    def __call__(self, kind: str, given: str, make: Callable[[], bytes]) -> bytes:
        """make: draws; its bytes must depend on nothing but `given` and the code."""
        key = hashlib.sha256("\0".join([kind, _revision(), given]).encode()).hexdigest()
        self._used.add(key)
        path = self._root / key
        found = self._read(path)
        if found is None:
            found = make()
            self._root.mkdir(parents=True, exist_ok=True)
            # not synced: a file that a crash cuts short is found out by its digest
            temporary = path.with_name(temporary_name(key))
            temporary.write_bytes(hashlib.sha256(found).digest() + found)
            os.replace(temporary, path)
        return found

    @staticmethod
    def _read(path: Path) -> bytes | None:
        try:
            whole = path.read_bytes()
        except OSError:
            return None
        held = whole[_DIGEST:]
        return held if hashlib.sha256(held).digest() == whole[:_DIGEST] else None

    def forget_others(self) -> None:
        """Removes what was not asked for, so that the folder holds one report."""
        for path in self._root.glob("*"):
            if path.name not in self._used:
                path.unlink(missing_ok=True)
