"""Standard streams: progress of a long stage, libraries' warnings kept away, and closed streams."""

import io
import logging
import os
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")
_SECONDS_BETWEEN_LINES = 15.0
_MOST_WARNINGS = 50
_NAMES = ("stdin", "stdout", "stderr")


def progress(items: Iterable[T], total: int | None, label: str) -> Iterator[T]:
    """Passes `items` on; stderr gets a bar on a terminal, else a plain line now and then."""
    if sys.stderr.isatty():
        from tqdm import tqdm

        yield from tqdm(items, total=total, desc=label, dynamic_ncols=True)
        return
    start = last = time.monotonic()
    for done, item in enumerate(items, start=1):
        yield item
        now = time.monotonic()
        if now - last >= _SECONDS_BETWEEN_LINES:
            last = now
            of = f" of {total} ({done / total:.0%})" if total else ""
            print(f"{label}: {done}{of}, {done / (now - start):.1f}/s", file=sys.stderr, flush=True)


class _Aside(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.said: dict[str, None] = {}

    def emit(self, record: logging.LogRecord) -> None:
        if len(self.said) < _MOST_WARNINGS:
            self.said[" ".join(record.getMessage().split())] = None


@contextmanager
def warnings_aside() -> Iterator[list[str]]:
    """Keeps libraries' warnings off the terminal; the list has them when the block has ended, each once.

    They are shown as usual if somebody asks for them: `PYTHONWARNINGS=default`, or VOUCH_TRACEBACK=1.
    """
    found: list[str] = []
    if sys.warnoptions or os.environ.get("VOUCH_TRACEBACK"):
        yield found
        return
    aside = _Aside()
    logging.captureWarnings(True)
    logging.getLogger().addHandler(aside)
    try:
        yield found
    finally:
        logging.getLogger().removeHandler(aside)
        logging.captureWarnings(False)
        found += aside.said


def open_streams() -> None:
    """Makes closed standard streams (`2>&-`, some services) lead nowhere, here and in child processes.

    Otherwise the next file to be opened would get a closed stream's number, and what libraries print there.
    A character that the terminal's encoding lacks is printed as an escape, such as `\\xe4`.
    """
    for number in range(len(_NAMES)):
        try:
            os.fstat(number)
        except OSError:
            null = os.open(os.devnull, os.O_RDWR)  # the lowest free number: those below are open
            os.set_inheritable(null, True)
    for number, name in enumerate(_NAMES):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w" if number else "r", encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
