"""Results that are likely to be asked for again soon, shared by threads."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from threading import Lock
from typing import Any, Generic, TypeVar

R = TypeVar("R")


class LruCache(Generic[R]):
    """The last `held` results, by key. Threads that want one at the same time wait for the first of them.

    Errors are raised to all that wait and not kept.
    """

    def __init__(self, held: int) -> None:
        self._held, self._lock = held, Lock()
        self._kept: OrderedDict[Hashable, Future[Any]] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], R]) -> R:
        """make(), or what it gave for this key."""
        with self._lock:
            future = self._kept.get(key)
            is_new = future is None
            if future is None:
                future = self._kept[key] = Future()
                if len(self._kept) > self._held:
                    self._kept.popitem(last=False)
            else:
                self._kept.move_to_end(key)
        if is_new:
            try:
                future.set_result(make())
            except BaseException as error:
                with self._lock:
                    if self._kept.get(key) is future:
                        del self._kept[key]
                future.set_exception(error)
        result: R = future.result()
        return result
