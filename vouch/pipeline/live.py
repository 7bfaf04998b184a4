"""How far each running stage is, for `vouch watch`: .vouch/running/STAGE.json.

It is there while a stage runs, and after an error or a kill until the next run of it. Nothing depends on it.
"""

import json
import os
import socket
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from vouch.pipeline.dag import Stage
from vouch.pipeline.errors import UserError
from vouch.pipeline.terminal import progress

T = TypeVar("T")
RUNNING = Path(".vouch/running")
_SECONDS = 1.0  # between two records of progress


class Live:
    """The record of one run. Times are seconds since 1970."""

    def __init__(self, stage: Stage) -> None:
        self._path = RUNNING / f"{stage.slug}.json"
        self._said: dict[str, Any] = {"stage": stage.name, "pid": os.getpid(), "host": socket.gethostname()}
        self._said["began"] = time.time()

    def say(self, **facts: Any) -> None:
        """Adds facts. A full disk only costs the display: nothing is raised, nothing waits for the disk."""
        self._said |= facts
        part = self._path.with_name(f".{self._path.name}.part")
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            part.write_text(json.dumps(self._said), encoding="utf-8")
            os.replace(part, self._path)

    def follow(self, items: Iterable[T], total: int | None = None, label: str = "") -> Iterator[T]:
        """Passes `items` on, and says how far it is: here and on stderr."""
        since = last = time.time()
        for done, item in enumerate(progress(items, total, label or self._said["stage"]), start=1):
            yield item
            now = time.time()
            if now - last >= _SECONDS or done == total:
                last = now
                self.say(done=done, total=total, since=since, at=now)

    def end(self) -> None:
        """Forgets the run."""
        with suppress(OSError):
            self._path.unlink(missing_ok=True)


@contextmanager
def live(told: Live) -> Iterator[None]:
    """Keeps the record while the block runs; it stays where the block ends by an error."""
    told.say()
    try:
        yield
    except BaseException as error:
        text, kind = " ".join(str(error).split())[:300], type(error).__name__
        told.say(error=text if isinstance(error, UserError) else f"{kind}: {text}", at=time.time())
        raise
    told.end()
