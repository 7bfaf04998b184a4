"""Packing by shape."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from vouch.models.decoder.row_engine import in_batches, padded_length


@dataclass(frozen=True)
class Item:
    number: int
    shape: int


@given(st.lists(st.integers(0, 4), max_size=60), st.integers(1, 5), st.integers(1, 12))
def test_everything_comes_once_in_batches_of_one_shape(shapes: list[int], rows: int, held: int) -> None:
    items = [Item(number, shape) for number, shape in enumerate(shapes)]
    taken = 0

    def counted() -> object:
        nonlocal taken
        for item in items:
            taken += 1
            yield item

    given_back = []
    for batch in in_batches(counted(), lambda _: rows, held):  # type: ignore[arg-type]
        assert 0 < len(batch) <= rows and len({item.shape for item in batch}) == 1
        assert taken - len(given_back) <= max(held, rows)
        given_back += batch
    assert sorted(given_back, key=lambda item: item.number) == items


def test_full_batches_where_there_is_room() -> None:
    items = [Item(number, number % 2) for number in range(8)]
    assert [len(batch) for batch in in_batches(items, lambda _: 4, 100)] == [4, 4]
    assert [len(batch) for batch in in_batches(items, lambda item: 1 + item.shape, 100)] == [1, 1, 2, 1, 1, 2]


def test_padding_leaves_a_spare_place() -> None:
    assert [padded_length(tokens, 8) for tokens in (1, 7, 8, 9, 15, 16)] == [8, 8, 16, 16, 16, 24]
