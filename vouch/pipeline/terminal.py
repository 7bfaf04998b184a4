"""Standard streams: progress of a long stage on them, and what to do where one is closed."""

import os
import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")
_SECONDS_BETWEEN_LINES = 15.0
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


def open_streams() -> None:
    """Lets closed standard streams (`2>&-`, some services) lead nowhere, for this process and its children.

    The next file that is opened would get the number of a closed one, and with it what libraries print.
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
