"""Packing questions of one shape into batches, without holding or sorting all of them."""

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Protocol, TypeVar


class Shaped(Protocol):
    """Anything that can only share a batch with others of its shape."""

    @property
    def shape(self) -> Hashable: ...


S = TypeVar("S", bound=Shaped)


def padded_length(tokens: int, bucket: int) -> int:
    """The length a row is padded to: a multiple of `bucket`, at least one place more than it needs.

    The spare place keeps every row padded. A batch without any padding would get no attention mask,
    for which a GPU has other kernels, so that a prompt's last bits would depend on its company.
    """
    return (tokens // bucket + 1) * bucket


def in_batches(items: Iterable[S], rows: Callable[[S], int], held: int) -> Iterator[list[S]]:
    """Lists of up to rows(item) items of equal shape, as soon as they are full; rows follow from the shape.

    Never holds more than `held` items: then the fullest list goes as it is (of equals the oldest).
    The last lists come when the items are used up.
    """
    waiting: dict[Hashable, list[S]] = {}
    count = 0
    for item in items:
        batch = waiting.setdefault(item.shape, [])
        batch.append(item)
        count += 1
        ready = item.shape if len(batch) >= rows(item) else None
        if ready is None and count >= held:
            ready = max(waiting, key=lambda shape: len(waiting[shape]))
        if ready is not None:
            count -= len(waiting[ready])
            yield waiting.pop(ready)
    yield from waiting.values()
