"""Variations that ask an item several times: orders, instructions and labels, as in ReForm-Eval."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.prompts.rows import item_rows, template_of
from vouch.prompts.combination import load_variation
from vouch.prompts.draft import Item
from vouch.prompts.template import Template

ITEM = Item("q", "g", "Which?", None, ("x", "y", "z", "v"), (1,), ("d1",), "choice")


@pytest.fixture(autouse=True)
def _at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])


def rows(variation: str, template: str | Template = "reform_vqa", item: Item = ITEM) -> list[dict[str, Any]]:
    chosen = template_of(template) if isinstance(template, str) else template
    return list(item_rows(item, [load_variation(variation)], chosen, "own", 7, before={}))


def said(row: dict[str, Any]) -> str:
    """All that the user says."""
    return "\n".join([*(turn["question"] for turn in row["turns"]), row["text"]])


def test_orders_come_from_the_question_and_the_test_alone() -> None:
    # no machine, hash seed or version of Python may change them
    orders = [[3, 2, 1, 0], [2, 3, 0, 1], [0, 1, 2, 3], [2, 3, 1, 0], [2, 1, 0, 3]]
    assert [row["order"] for row in rows("tests")] == orders
    assert [row["order"] for row in rows("shuffled", "plain")] == orders


def test_every_order_is_about_equally_likely() -> None:
    three = replace(ITEM, options=("x", "y", "z"))
    seen = Counter(
        tuple(row["order"])
        for name in range(600)
        for row in rows("shuffled", "plain", replace(three, id=f"q{name}"))
    )
    assert len(seen) == 6 and max(seen.values()) < 580 and min(seen.values()) > 420  # 500 each, sd 20


@pytest.mark.parametrize(("template", "left"), [("reform_vqa", {0, 1}), ("reform_cls", {0, 1, 2, 3})])
def test_options_with_the_text_of_the_answer(template: str, left: set[int]) -> None:
    item = replace(ITEM, options=("x", "y", "y", "y"), answers=(1,))
    assert {frozenset(row["order"]) for row in rows("shuffled", template, item)} == {frozenset(left)}
    for row in rows("shuffled", template, item):
        assert [row["order"][place] for place in row["answers"]] == [1]


def test_wordings_of_the_question_go_with_those_of_the_instruction() -> None:
    item = replace(ITEM, question="b?", phrasings=("a?", "b?", "c?"))
    assert [row["text"][0] for row in rows("tests", "plain", item)] == list("abcab")
    assert [row["text"][0] for row in rows("instruction", "plain", item)] == list("abc")
    found = rows("instruction", item=item)
    assert [row["text"][0] for row in found] == list("abcab") and len({said(row)[:20] for row in found}) == 5
    assert {tuple(row["order"]) for row in found} == {(0, 1, 2, 3)}
    assert rows("original", item=item)[0]["text"].startswith("b?")
    assert rows("instruction", "plain") == []


def test_where_they_do_not_apply() -> None:
    ten = replace(ITEM, options=tuple("abcdefghij"))
    eight = replace(ITEM, options=tuple("abcdefgh"))
    assert rows("labels", item=ten) == [] and rows("labels", "kostumov", eight) == []
    assert len(rows("labels", item=eight)) == 3
    for name in ("labels", "shuffled"):
        assert rows(name, "reform_vqa_likelihood") == []
        assert rows(name, "plain", replace(ITEM, kind="text", options=(), answers=())) == []
    assert len(rows("tests", "reform_vqa_likelihood")) == 5
    naming = replace(ITEM, options=("x", "y", "z", "Both A and B"))
    assert rows("tests", item=naming) == []
    assert len(rows("tests", "reform_vqa_likelihood", naming)) == 5, "no option is shown"
    assert rows("no_sample", "plain") == rows("no_response", "reform_vqa_simple") == []
