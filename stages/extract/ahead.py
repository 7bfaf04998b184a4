"""Work done by threads a little ahead of its use, in order."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def ahead(function: Callable[[T], R], items: Iterable[T], workers: int, held: int) -> Iterator[R]:
    """function(item) for every item, in their order, computed up to `held` items ahead.

    `items` are drawn by the caller's thread, so they may come from files that threads must not share.
    An exception of the function is raised where its result would have come.
    """
    waiting: deque[Future[R]] = deque()
    with ThreadPoolExecutor(workers, thread_name_prefix="vouch-ahead") as pool:
        try:
            for item in items:
                waiting.append(pool.submit(function, item))
                if len(waiting) > held:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
