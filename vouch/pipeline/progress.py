"""Progress of a long stage: a bar on a terminal, a plain line now and then in a log."""

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")
_SECONDS_BETWEEN_LINES = 15.0


def progress(items: Iterable[T], total: int | None, label: str) -> Iterator[T]:
    """Passes `items` on and tells on stderr how far it is."""
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
