"""Work done by threads a little ahead of its use, in order."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def prefetch(
    function: Callable[[T], R],
    items: Iterable[T],
    workers: int,
    held: int,
    light: Callable[[T], bool] = lambda _: False,
) -> Iterator[R]:
    """function(item) for every item, in their order, computed up to `held` items ahead.

    `items` are drawn by the caller's thread, so they may come from files that threads must not share.
    A `light` item is less work than handing it to a thread: it is done by the caller's, in its turn.
    An exception of the function is raised where its result would have come.
    """
    waiting: deque[Callable[[], R]] = deque()
    with ThreadPoolExecutor(workers, thread_name_prefix="vouch-prefetch") as pool:
        try:
            for item in items:
                waiting.append(partial(function, item) if light(item) else pool.submit(function, item).result)
                if len(waiting) > held:
                    yield waiting.popleft()()
            while waiting:
                yield waiting.popleft()()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
