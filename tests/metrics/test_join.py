"""Letters, prompts and items that fit together become arrays; what does not is refused by name."""

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.metrics.simulated import replace_row, simulate, tables
from vouch.metrics.join import join
from vouch.metrics.responses import uniform
from vouch.pipeline.errors import UserError

WHERE = "data/responses/d/m.letters.parquet"


def refused(letters: pa.Table, prompts: pa.Table, items: pa.Table, released: bool = False) -> str:
    with pytest.raises(UserError) as caught:
        join(letters, prompts, items, WHERE, released)
    message = str(caught.value)
    assert message.startswith(WHERE)
    return message


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_arrays_survive_the_way_through_the_tables(dtype: Any) -> None:
    base = simulate(0, 25, dtype=dtype, copies=2)
    options = np.where(np.arange(25) % 4 == 0, 5, 6)
    roles = base.roles.copy()
    roles[options == 5, 5] = -3
    expected = replace(base, options=options, roles=roles, defective=np.arange(25) % 6 == 0)
    (block,) = join(*tables(expected), WHERE)
    expected = replace(expected, noise=uniform([str(row) for row in range(25)]))
    for field in fields(expected):
        found, given = getattr(block.responses, field.name), getattr(expected, field.name)
        assert found.dtype == given.dtype
        assert (found == given).all(), field.name
    assert block.responses.logits.flags.f_contiguous
    assert block.prompts[:2] == ["0/original", "1/original"]
    assert block.groups[:3] == ["g000000", "g000000", "g000001"]


def test_rows_follow_the_items_whatever_order_the_files_have() -> None:
    letters, prompts, items = tables(simulate(1, 30))
    (straight,) = join(letters, prompts, items, WHERE)
    backwards = np.arange(30)[::-1]
    (turned,) = join(letters.take(backwards), prompts.take(backwards), items, WHERE)
    assert turned.prompts == straight.prompts
    assert (turned.responses.logits == straight.responses.logits).all()


def test_rows_with_fewer_letters_are_padded() -> None:
    base = simulate(2, 4)
    short = np.array([6, 4, 5, 6])
    (block,) = join(*tables(replace(base, letters=short, options=short)), WHERE)
    assert np.isneginf(block.responses.logits).sum(axis=1).tolist() == [0, 2, 1, 0]
    assert (block.responses.roles[1] == [0, 1, 2, 3, -3, -3]).all()


def test_each_variation_is_a_block_of_its_own() -> None:
    letters, prompts, items = tables(simulate(3, 5))
    more, asked, _ = tables(simulate(4, 5), "blurred")
    blocks = join(pa.concat_tables([letters, more]), pa.concat_tables([prompts, asked]), items, WHERE)
    assert [(block.variation, len(block.responses)) for block in blocks] == [("original", 5), ("blurred", 5)]


def test_what_nobody_asked_is_not_scored() -> None:
    letters, prompts, items = tables(simulate(3, 5), outputs=())
    assert join(letters.slice(0, 0), prompts, items, WHERE) == []
    (block,) = join(letters.slice(0, 3), prompts, items, WHERE)
    assert block.items == ["0", "1", "2"]


def test_released_letters_may_lack_whole_variations_only() -> None:
    letters, prompts, items = tables(simulate(3, 5))
    _, asked, _ = tables(simulate(4, 5), "blurred")
    both = pa.concat_tables([prompts, asked])
    assert [block.variation for block in join(letters, both, items, WHERE, released=True)] == ["original"]
    assert "prompt 3/original (and 1 more) was asked" in refused(letters.slice(0, 3), both, items, True)
    assert join(letters.slice(0, 0), both, items, WHERE, released=True) == []
    assert "prompt 0/blurred (and 4 more) was asked" in refused(letters, both, items)


NUMBER = "prompt 3/original has a logit that is NaN, infinite or null"
NO_ANSWER = "prompt 5/original has no answer among its options"


@pytest.mark.parametrize(
    ("table", "row", "changes", "problem"),
    [
        *((0, 3, {"logits": [1.0, 2.0, float(x), 0.0, 0.0, 0.0]}, NUMBER) for x in ("nan", "inf", "-inf")),
        (0, 3, {"logits": [1.0, 2.0, None, 0.0, 0.0, 0.0]}, NUMBER),
        (0, 3, {"logits": [1.0, 2.0]}, "has 2 logits for 6 options"),
        *((0, 3, {"logits": logits}, "has 0 logits for 6 options") for logits in ([], None)),
        (0, 2, {"prompt": "99/original"}, "prompt 99/original is no prompt"),
        *((1, 5, {"answers": answers}, NO_ANSWER) for answers in ([], [6], [-1], [0, 17], None)),
    ],
)
def test_what_does_not_fit_is_named(table: int, row: int, changes: dict[str, Any], problem: str) -> None:
    found = list(tables(simulate(0, 6)))
    found[table] = replace_row(found[table], row, changes)
    assert problem in refused(*found)


def test_missing_and_repeated_rows_are_named() -> None:
    letters, prompts, items = tables(simulate(0, 6))
    message = refused(letters.slice(1), prompts, items)
    assert "prompt 0/original was asked but has no row" in message and "dvc repro" in message
    assert "(and 5 more)" in refused(letters.slice(0, 0), prompts, items)
    twice = pa.concat_tables([letters, letters.slice(4, 1)])
    assert "prompt 4/original is a duplicate" in refused(twice, prompts, items)
    assert "prompt 3/original (and 2 more) belongs to no item" in refused(letters, prompts, items.slice(0, 3))


def unanswer(letters: pa.Table, *rows: int) -> pa.Table:
    """The table without an answer in these rows."""
    for row in rows:
        letters = replace_row(letters, row, {"logits": None, "problem": "server: HTTP 500"})
    return letters


def test_prompts_without_an_answer_are_counted_and_left_out() -> None:
    base = replace(simulate(5, 12, copies=2), defective=np.arange(12) % 5 == 0)
    letters, prompts, items = tables(base, categories=("a", "b"))
    (block,) = join(unanswer(letters, 3, 10), prompts, items, WHERE)
    kept = np.delete(np.arange(12), [3, 10])
    assert block.items == [str(row) for row in kept]
    base = replace(base, categories=np.arange(12) % 2, noise=uniform([str(row) for row in range(12)]))
    for field in fields(base):
        assert (getattr(block.responses, field.name) == getattr(base, field.name)[kept]).all(), field.name
    assert np.flatnonzero(~block.asked.answered).tolist() == [3, 10]
    assert (block.asked.groups == base.groups).all() and (block.asked.defective == base.defective).all()
    assert block.asked.categories.tolist() == ["a", "b"] * 6


def test_a_row_may_be_missing_only_with_a_problem() -> None:
    letters, prompts, items = tables(simulate(5, 4))
    silent = unanswer(letters, 0, 1, 2, 3)
    (block,) = join(silent, prompts, items, WHERE)
    assert not len(block.responses) and not block.asked.answered.any()
    assert "prompt 0/original was asked but has no row" in refused(silent.slice(1), prompts, items)


CENSORED = [1.0, float("-inf"), 2.0, float("-inf"), float("-inf"), float("-inf")]


def test_letters_that_a_server_left_out_count_as_impossible() -> None:
    letters, prompts, items = tables(simulate(0, 6))
    upper = [1.0, -3.0, 2.0, -3.0, -3.0, -3.0]
    (block,) = join(replace_row(letters, 3, {"logits": CENSORED, "upper": upper}), prompts, items, WHERE)
    assert block.asked.answered.all()
    assert block.responses.logits[3].tolist() == CENSORED
    assert "prompt 3/original has a logit" in refused(
        replace_row(letters, 3, {"logits": CENSORED}), prompts, items
    )
    for value in (float("nan"), float("inf"), None):
        broken = replace_row(letters, 3, {"logits": [value, *CENSORED[1:]], "upper": upper})
        assert "prompt 3/original has a logit" in refused(broken, prompts, items)


def test_a_row_without_any_letter_of_its_options_is_no_answer() -> None:
    options = np.array([6, 6, 4, 6])
    letters, prompts, items = tables(replace(simulate(0, 4), options=options))
    none = replace_row(letters, 1, {"logits": [float("-inf")] * 6, "upper": [-9.0] * 6})
    behind = replace_row(none, 2, {"logits": [*[float("-inf")] * 4, 1.0, 2.0], "upper": [-9.0] * 6})
    (block,) = join(behind, prompts, items, WHERE)
    assert block.items == ["0", "3"]
