"""Work done by threads a little ahead of its use, in order."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from vouch.images.lru_cache import ROOM

T = TypeVar("T")
R = TypeVar("R")


def prefetch(
    function: Callable[[T], R],
    items: Iterable[T],
    workers: int,
    held: int,
    light: Callable[[T], bool] = lambda _: False,
    weigh: Callable[[T], int] = lambda _: 0,
) -> Iterator[R]:
    """function(item) for every item, in their order, computed up to `held` items ahead.

    weigh: bytes that an item and its result take; those ahead take no more than ROOM, but for a single one.

    `items` are drawn by the caller's thread, so they may come from files that threads must not share.
    A `light` item is less work than handing it to a thread: it is done by the caller's, in its turn.
    An exception of the function is raised where its result would have come.
    """
    waiting: deque[tuple[Callable[[], R], int]] = deque()
    taken = 0
    with ThreadPoolExecutor(workers, thread_name_prefix="vouch-prefetch") as pool:
        try:
            for item in items:
                weight = weigh(item)
                while waiting and taken + weight > ROOM:
                    taken -= waiting[0][1]
                    yield waiting.popleft()[0]()
                begun = partial(function, item) if light(item) else pool.submit(function, item).result
                waiting.append((begun, weight))
                taken += weight
                if len(waiting) > held:
                    taken -= waiting[0][1]
                    yield waiting.popleft()[0]()
            while waiting:
                yield waiting.popleft()[0]()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
