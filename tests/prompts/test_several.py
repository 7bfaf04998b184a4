"""Variations that ask an item several times: orders, instructions and labels, as in ReForm-Eval."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.prompts.rows import item_rows, template_of
from vouch.metrics.robustness import instability
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
    asked = rows("shuffled")
    assert [row["order"] for row in asked] == orders
    assert len({said(row)[:20] for row in asked}) == 1, "the instruction stays"


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
    wordings = template_of("reform_vqa").instructions
    for asked in (found, rows("tests", item=item)):
        assert all(said(row).startswith(one) for row, one in zip(asked, wordings, strict=True))
    assert rows("original", item=item)[0]["text"].startswith("b?")
    assert rows("instruction", "plain") == []


@pytest.mark.parametrize(
    ("answers", "drawn", "enumerated"),
    [({"a": 1, "1": 2, "A": 3}, 0.854, 1.099), ({"a": 1, "1": 1, "A": 3}, 0.520, 0.637)],
)
def test_drawn_alphabets_vary_less_than_all_of_them(
    answers: dict[str, int], drawn: float, enumerated: float
) -> None:
    """A model whose answer depends on the alphabet alone: its mean entropy over the five draws of the authors, and
    over each alphabet once."""

    def mean(variation: str, items: int) -> float:
        asked = [rows(variation, item=replace(ITEM, id=f"q{number}")) for number in range(items)]
        given = np.array([answers[row["labels"][0]] for tests in asked for row in tests])
        return float(instability(np.repeat(np.arange(items), len(asked[0])), given).mean())

    assert mean("labels_drawn", 1500) == pytest.approx(drawn, abs=0.015)
    assert mean("labels", 1) == pytest.approx(enumerated, abs=5e-4)


def test_drawn_alphabets_come_from_the_question_and_the_test_alone() -> None:
    asked = rows("labels_drawn")
    assert "".join(row["labels"][0] for row in asked) == "1AaAA"
    assert len({said(row)[:20] for row in asked}) == 1, "the instruction stays"
    assert [row["order"] for row in rows("labels_drawn_2")] == [[0, 1, 2, 3]] * 2


def test_where_they_do_not_apply() -> None:
    ten = replace(ITEM, options=tuple("abcdefghij"))
    eight = replace(ITEM, options=tuple("abcdefgh"))
    assert rows("labels", item=ten) == [] and rows("labels", "kostumov", eight) == []
    assert len(rows("labels", item=eight)) == 3
    assert rows("labels_drawn", item=ten) == [] and len(rows("labels_drawn_7", item=eight)) == 7
    for name in ("labels", "labels_drawn", "shuffled"):
        assert rows(name, "reform_vqa_likelihood") == []
        assert rows(name, "plain", replace(ITEM, kind="text", options=(), answers=())) == []
    assert len(rows("tests", "reform_vqa_likelihood")) == 5
    naming = replace(ITEM, options=("x", "y", "z", "Both A and B"))
    assert rows("tests", item=naming) == []
    assert len(rows("tests", "reform_vqa_likelihood", naming)) == 5, "no option is shown"
    assert rows("no_sample", "plain") == rows("no_response", "reform_vqa_simple") == []
