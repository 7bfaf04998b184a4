"""Shapes of rows and passes by `bucket`, rows that wait for a full pass, and passes counted beforehand."""

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from vouch.models import batching
from vouch.models.batching import (
    Bucket,
    Passes,
    PlannedRow,
    TokenCounts,
    Waiting,
    count_passes,
    padded_length,
    padded_positions,
    planned_rows,
    rows_of_pass,
)
from vouch.models.config import ExtractConfig
from vouch.models.decoder.preparing import Prepared
from vouch.models.decoder.rows import jobs
from vouch.models.engine import Question
from vouch.models.packs import PACK_PROMPTS
from vouch.tables.asked import LETTERS, LIKELIHOOD, OUTPUTS, TEXT

BUCKETS: tuple[Bucket, ...] = (32, "geometric")


@dataclass(frozen=True)
class Item:
    number: int
    shape: int
    key: int = 0
    shared: int = 0
    own: int = 0


@given(st.lists(st.integers(0, 4), max_size=60), st.integers(1, 5), st.integers(1, 12))
def test_every_row_comes_once_in_passes_of_one_shape(shapes: list[int], rows: int, held: int) -> None:
    items = [Item(number, shape) for number, shape in enumerate(shapes)]
    taken = 0

    def counted() -> Iterator[Item]:
        nonlocal taken
        for item in items:
            taken += 1
            yield item

    given_back: list[Item] = []
    with patch.object(batching, "ROWS_HELD", held):
        for batch in Waiting[Item](lambda _: rows).batches(counted()):
            assert 0 < len(batch) <= rows and len({item.shape for item in batch}) == 1
            assert taken - len(given_back) <= max(held, rows)
            given_back += batch
    assert sorted(given_back, key=lambda item: item.number) == items


def test_full_passes_where_there_is_room() -> None:
    items = [Item(number, number % 2) for number in range(8)]
    assert [len(one) for one in Waiting[Item](lambda _: 4).batches(items)] == [4, 4]
    of_shape = Waiting[Item](lambda item: 1 + item.shape)
    assert [len(one) for one in of_shape.batches(items)] == [1, 1, 2, 1, 1, 2]


def test_rows_wait_within_bounds_of_memory() -> None:
    """Images count once for all rows that show them; beyond the room the fullest pass goes."""
    mine, limit = 100, batching.ROOM
    shown = [Item(number, number, key=1, shared=limit - mine) for number in range(20)]
    assert [len(one) for one in Waiting[Item](lambda _: 2).batches(shown)] == [1] * 20
    waiting = Waiting[Item](lambda _: 2)
    batches = waiting.batches([*shown, Item(20, 3, key=2, shared=mine + 1)])
    assert [item.number for item in next(batches)] == [3, 20] and 1 in waiting and 2 not in waiting
    apart = [Item(number, number, key=number, shared=limit // 4) for number in range(6)]
    assert next(iter(Waiting[Item](lambda _: 2).batches(apart)))[0].number == 0, "the oldest of equals"
    large = [Item(0, 0, own=2 * limit), Item(1, 0), Item(2, 0)]
    assert [len(one) for one in Waiting[Item](lambda _: 2).batches(large)] == [1, 2]


@given(st.integers(0, 5000), st.integers(1, 4096))
def test_every_length_leaves_a_spare_place(tokens: int, bucket: int) -> None:
    assert tokens < padded_length(tokens, bucket) <= tokens + bucket
    assert tokens < padded_length(tokens, "geometric") <= max(16, tokens * 3 / 2 + 1)


def test_lengths_by_hand() -> None:
    assert [padded_length(tokens, 8) for tokens in (1, 7, 8, 9, 15, 16)] == [8, 8, 16, 16, 16, 24]
    lengths = [padded_length(tokens, "geometric") for tokens in (0, 15, 16, 24, 32, 48, 100, 128, 1023)]
    assert lengths == [16, 16, 24, 32, 48, 64, 128, 192, 1024]


@given(st.integers(1, 600), st.booleans(), st.booleans())
def test_positions_fit_their_row(count: int, scored: bool, tree: bool) -> None:
    length = padded_length(count, "geometric")
    assert count <= padded_positions(count, length, "geometric", scored, tree) <= length
    assert padded_positions(count, length, 32, scored, tree) == 1 << (count - 1).bit_length()


def test_positions_by_hand() -> None:
    geometric = [padded_positions(count, 96, "geometric") for count in (1, 2, 16, 17, 90)]
    assert geometric == [1, 16, 16, 32, 96]
    assert padded_positions(1, 96, "geometric", scored=True) == 16
    tree = [padded_positions(count, 96, "geometric", scored=True, tree=True) for count in (1, 32, 33)]
    assert tree == [32, 32, 96]
    assert padded_positions(1, 64, "geometric", scored=True, tree=True) == 24
    assert padded_positions(1, 96, "geometric", tree=True) == 1, "letters of one prompt"


def test_rows_of_a_pass() -> None:
    assert [rows_of_pass(length, 32, 32) for length in (32, 64, 96, 4096)] == [32, 32, 21, 1]
    assert [rows_of_pass(length, 32, "geometric") for length in (32, 64, 96, 256, 384)] == [32, 16, 8, 4, 1]
    assert [rows_of_pass(64, batch, "geometric") for batch in (1, 3, 4, 7, 9)] == [1, 1, 4, 4, 8]
    assert [rows_of_pass(30, 8, bucket, 512) for bucket in BUCKETS] == [8, 8]
    assert [rows_of_pass(81, 8, bucket, 512) for bucket in BUCKETS] == [6, 4]


def test_planned_rows_by_hand() -> None:
    """Prompts after an image are a tree, without an image a row for each option, and texts a row each."""
    pack = [TokenCounts(20, 20, (3, 1)), TokenCounts(22, 4, (5,))]
    assert list(planned_rows(LIKELIHOOD, pack, True)) == [PlannedRow(LIKELIHOOD, 30, 8, tree=True)]
    rows = list(planned_rows(LIKELIHOOD, pack, False))
    assert [(row.tokens, row.positions) for row in rows] == [(22, 3), (20, 1), (26, 5)]
    letters = [TokenCounts(20, 20), TokenCounts(22, 4)]
    assert list(planned_rows(LETTERS, letters, True)) == [PlannedRow(LETTERS, 24, 2, tree=True)]
    for after_image in (True, False):
        assert list(planned_rows(TEXT, letters[:1], after_image)) == [PlannedRow(TEXT, 20)]
    assert list(planned_rows(LETTERS, [], True)) == []


PACKS = st.lists(
    st.tuples(st.integers(1, 40), st.lists(st.integers(1, 14), min_size=1, max_size=5)),
    min_size=1,
    max_size=PACK_PROMPTS,
)


@given(st.integers(0, 600), PACKS, st.sampled_from(OUTPUTS), st.booleans())
@example(20, [(5, [11] * 4)] * PACK_PROMPTS, LIKELIHOOD, True)
@example(batching.MAX_NODES - 10, [(20, [1])] * 3, LETTERS, True)
def test_planned_rows_are_those_that_are_made(
    common: int, pack: list[tuple[int, list[int]]], output: str, after_image: bool
) -> None:
    """All prompts of the pack begin with `common` tokens; beyond these, no two prompts or options share any."""
    fresh, stem = itertools.count(2), [1] * common
    prepared, lengths = [], []
    for own, sizes in pack[: 1 if output == TEXT else None]:
        ids = [*stem, *itertools.islice(fresh, own)]
        sizes = sizes if output == LIKELIHOOD else []
        options = tuple(tuple(itertools.islice(fresh, size)) for size in sizes)
        question = Question("q", None, "", max_tokens=9)
        shown = (0,) * after_image
        prepared.append(Prepared(question, (*shown, *ids), len(shown), {}, {}, None, options))
        lengths.append(TokenCounts(len(ids), own if lengths else len(ids), tuple(sizes)))
    for bucket in BUCKETS:
        made = jobs(output, prepared, "trie", bucket, lambda _: True)
        shapes = [(row.length, len(row.wanted), row.trie is not None, output == TEXT) for row in made]
        assert [row.shape(bucket) for row in planned_rows(output, lengths, after_image)] == shapes


@dataclass(frozen=True)
class Waits:
    """A planned row that waits."""

    row: PlannedRow
    key: None = None
    shared: int = 0
    own: int = 0

    @property
    def shape(self) -> tuple[int, int, bool, bool]:
        return self.row.shape("geometric")


ROWS = st.builds(PlannedRow, st.sampled_from(OUTPUTS), st.integers(1, 300), st.integers(1, 3), st.booleans())


@given(st.lists(ROWS, max_size=80), st.integers(1, 8))
def test_passes_are_counted_as_they_come(rows: list[PlannedRow], batch: int) -> None:
    """The count equals that of the rows as they wait for each other."""

    def size(one: Waits) -> int:
        return rows_of_pass(one.shape[0], batch, "geometric")

    passes = list(Waiting(size).batches(map(Waits, rows)))
    every = sum(size(one[0]) for one in passes)
    texts = sum(one[0].row.output == TEXT for one in passes)
    expected = Passes(len(passes), every, every - len(rows), texts)
    assert count_passes(Counter(rows), batch, "geometric") == expected


def test_passes_by_hand() -> None:
    rows = {PlannedRow(LETTERS, 20): 5, PlannedRow(TEXT, 40): 3, PlannedRow(TEXT, 60): 2}
    assert count_passes(rows, 4, 32) == Passes(4, 16, 6, 2)
    assert count_passes({}, 4, 32) == Passes()


@pytest.mark.parametrize(
    "bucket", ["Geometric", "32", 0, -1, 4097, True, 32.5, math.nan, None, [32], {}, "\u0663"]
)
def test_other_buckets_are_refused_in_one_line(bucket: Any) -> None:
    with pytest.raises(
        ValidationError, match="is neither a whole number from 1 to 4096 nor `geometric`"
    ) as error:
        ExtractConfig(bucket=bucket)
    assert error.value.error_count() == 1
