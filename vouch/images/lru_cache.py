"""Results that are likely to be asked for again soon, shared by threads."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from threading import Lock
from typing import Any, Generic, TypeVar

R = TypeVar("R")
ROOM = 1 << 28  # bytes, about one of the largest pictures


class LruCache(Generic[R]):
    """The last `held` results, by key. Threads that want one at the same time wait for the first of them.

    Errors are raised to all that wait and not kept. weigh: bytes of a result, of which about ROOM are kept.
    """

    def __init__(self, held: int, weigh: Callable[[R], int] | None = None) -> None:
        self._held, self._weigh, self._lock = held, weigh, Lock()
        self._kept: OrderedDict[Hashable, Future[Any]] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], R]) -> R:
        """make(), or what it gave for this key."""
        with self._lock:
            future = self._kept.get(key)
            is_new = future is None
            if future is None:
                future = self._kept[key] = Future()
                self._shrink()
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
            with self._lock:
                self._shrink()
        result: R = future.result()
        return result

    def _shrink(self) -> None:
        """Forgets the oldest until the others fit, or one is left."""
        weights = [self._weight(future) for future in self._kept.values()]
        while len(weights) > self._held or (len(weights) > 1 and sum(weights) > ROOM):
            self._kept.popitem(last=False)
            del weights[0]

    def _weight(self, future: Future[Any]) -> int:
        known = self._weigh is not None and future.done() and not future.exception()
        return self._weigh(future.result()) if known and self._weigh else 0
