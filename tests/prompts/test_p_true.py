"""The prompts that ask whether a model's own answer is true, and what their letters come to."""

from dataclasses import replace
from math import exp

import pyarrow as pa
import pytest

from tests.prompts.test_variations import ITEM, rows
from vouch.metrics.text.scoring import split_p_true
from vouch.params.check import _check_variations
from vouch.prompts.template import read_template
from vouch.tables.answered import LETTERS
from vouch.tables.asked import PROMPTS

ASKED = "Is this answer true or false?\nA. {}\nB. {}\nAnswer with the option's letter from the given choices directly."
ORDERS = [("True", "False"), ("False", "True")]


@pytest.mark.parametrize("kind", ["choice", "text"])
def test_the_model_sees_its_answer_and_both_orders(kind: str) -> None:
    changes = {} if kind == "choice" else {"options": (), "answers": (), "references": ("x",)}
    item = replace(ITEM, kind=kind, **changes)  # type: ignore[arg-type]
    spoken = read_template("kostumov", "spoken")
    (plain,) = rows("original", item, spoken)
    found = rows("p_true", item, spoken)
    assert [row["text"] for row in found] == [ASKED.format(*order) for order in ORDERS]
    for number, row in enumerate(found, start=1):
        assert row["id"] == f"q/p_true/{number}" and row["earlier"] == [["q/original"]]
        assert row["turns"] == [{"question": plain["text"], "answer": "{answer 1}"}]
        assert row["outputs"] == ["letters"] and row["marks"] == ["A", "B"] and row["answers"] == []
        assert row["pictures"] == plain["pictures"] and row["effect"] == "own"
    assert [row["order"] for row in found] == [[0, 1], [1, 0]]
    assert rows("p_true", replace(item, images=()), spoken) == [], "nobody answers it"


def test_it_comes_after_the_answers_that_it_asks_about() -> None:
    assert list(_check_variations(["original", "p_true"], "variations")) == []
    for names in (["p_true"], ["p_true", "original"]):
        assert list(_check_variations(names, "variations")) == [
            "variations: p_true asks about the answers to original; name original before it"
        ]


def test_the_mean_over_both_orders_has_no_liking_for_a_letter() -> None:
    """A model that always prefers A by 2, and True by 1, comes to less than 1 / (1 + exp(-1)), not more."""
    prompts, letters = [], []
    for item, true in (("q", 1.0), ("r", 0.0), ("s", 5.0)):
        prompts.append({"id": f"{item}/original", "item": item, "effect": "kept", "order": [0, 1]})
        letters.append({"prompt": f"{item}/original", "logits": [9.0, 1.0]})
        for number, order in enumerate(([0, 1], [1, 0]), start=1):
            logits = [2 + true * (order[0] == 0), true * (order[1] == 0)]
            name = f"{item}/p_true/{number}"
            prompts.append({"id": name, "item": item, "effect": "own", "order": order})
            refused = item == "s" and number == 2
            letters.append({"prompt": name, "logits": None if refused else logits})
    tables = pa.Table.from_pylist(letters, LETTERS.schema), pa.Table.from_pylist(prompts, PROMPTS.schema)
    others, kept, found = split_p_true(*tables)
    assert (
        others["prompt"].to_pylist() == kept["id"].to_pylist() == ["q/original", "r/original", "s/original"]
    )
    expected = (1 / (1 + exp(-3)) + 1 / (1 + exp(1))) / 2
    assert found == {"q": pytest.approx(expected), "r": pytest.approx(0.5)}
    assert split_p_true(others, kept) == (others, kept, {})
