"""Prompts with earlier turns: a conversation's, and the model's own answer, whose truth it is asked about."""

from dataclasses import replace
from math import exp
from typing import Any

import pyarrow as pa
import pytest

from tests.prompts.rows import item_rows
from tests.prompts.test_variations import ITEM, rows
from tests.refusals import refused
from vouch.metrics.text.scoring import split_p_true
from vouch.models.replies import OwnReply, fill
from vouch.params.check import _check_variations
from vouch.pipeline.yaml12 import load
from vouch.prompts.combination import load_variation
from vouch.prompts.draft import Item
from vouch.prompts.template import TEMPLATES, Template, parse_template, read_template
from vouch.tables.answered import LETTERS
from vouch.tables.asked import PROMPTS

PLAIN = parse_template(load(TEMPLATES / "plain.yaml"), "plain.yaml")
TALK = PLAIN.model_copy(update={"outputs": ("letters", "text"), "max_tokens": 5})
FIRST = Item(
    "a", "g", "What is it?\n<image 1>", None, ("a kite", "a hat"), (1,), ("d",), "choice", goes_on=True
)
SECOND = replace(
    FIRST, id="b", question="Where is it?", options=("here", "there"), answers=(0,), turns=(FIRST,)
)
THIRD = replace(SECOND, id="c", kind="text", options=(), answers=(), references=("two",), goes_on=True)
THIRD = replace(THIRD, question="How many?", turns=(FIRST, SECOND))
LAST = replace(FIRST, id="d", question="Why?", turns=(FIRST, SECOND, THIRD), goes_on=False)


def turns_of(
    *names: str, template: Template = TALK, items: tuple[Item, ...] = (FIRST, SECOND, THIRD, LAST)
) -> Any:
    """The prompts of a conversation."""
    variations = [load_variation(name) for name in names]
    before: dict[str, Any] = {}
    return [row for item in items for row in item_rows(item, variations, template, "talk", 9, before)]


def test_each_answer_of_the_model_stands_after_its_question() -> None:
    alone = {row["item"]: row["text"] for row in turns_of("original")}
    a, b, c, d = made = turns_of("dialogue")
    assert [row["id"] for row in made] == [f"{name}/dialogue" for name in "abcd"]
    assert a["turns"] == [] and a["text"] == alone["a"] and a["earlier"] == []
    assert b["turns"] == [{"question": alone["a"], "answer": "{answer 1}"}] and b["text"] == alone["b"]
    assert [turn["question"] for turn in d["turns"]] == [alone["a"], alone["b"], alone["c"]]
    assert [turn["answer"] for turn in d["turns"]] == ["{answer 1}", "{answer 2}", "{answer 3}"]
    assert d["earlier"] == [["a/dialogue"], ["b/dialogue"], ["c/dialogue"]]
    assert all(row["images"] == [{"images": ["d"], "steps": []}] for row in made)
    filled, problem = fill(c, {"a/dialogue": OwnReply(" B."), "b/dialogue": OwnReply("A")})
    assert problem is None and [turn["answer"] for turn in filled["turns"]] == ["B.", "A"]


def test_correct_answers_as_the_style_shows_them() -> None:
    _, _, _, last = turns_of("dialogue_gold", template=PLAIN)
    assert [turn["answer"] for turn in last["turns"]] == ["B. a hat", "A. here", "two"]
    assert last["earlier"] == [] and last["answers"] == [1]
    begun = PLAIN.model_copy(update={"response": "The answer is", "option": "({label}) {text}"})
    assert turns_of("dialogue_gold", template=begun)[1]["turns"][0]["answer"] == "The answer is (B) a hat"
    opened = TALK.model_copy(update={"response": "Answer: ("})
    assert turns_of("dialogue", template=opened)[1]["turns"][0]["answer"] == "Answer: ({answer 1}"


def test_several_tests_of_a_question_share_the_choices_that_came_before() -> None:
    begun = TALK.model_copy(
        update={"response": "It is", "option": "({label}) {text}", "outputs": ("letters",)}
    )
    made = turns_of("dialogue_tests_2", template=begun)
    assert [row["id"] for row in made] == [f"{name}/dialogue_tests_2/{n}" for name in "abcd" for n in (1, 2)]
    first, second = made[-2:]
    assert first["earlier"] == [[f"{name}/dialogue_tests_2/{n}" for n in (1, 2)] for name in "abc"]
    assert first["earlier_options"] == [["(A) a kite", "(B) a hat"], ["(A) here", "(B) there"], []]
    assert [turn["answer"] for turn in first["turns"]] == [
        "It is {answer 1}",
        "It is {answer 2}",
        "It is {answer 3}",
    ]
    assert first["turns"] == second["turns"], "the earlier questions have their own order"
    orders = {tuple(row["order"]) for row in turns_of("dialogue_tests_9") if row["item"] == "d"}
    assert orders == {(0, 1), (1, 0)}, "the last question has the order of its test"
    naming = replace(FIRST, options=("one", "two", "Both A and B"))
    later = replace(SECOND, turns=(naming,))
    assert turns_of("dialogue_tests", items=(naming, later)) == [], "options that name others do not move"
    bare = PLAIN.model_copy(update={"option": "", "outputs": ("likelihood",), "body": "{question}"})
    assert turns_of("dialogue_tests_1", template=bare, items=(FIRST, SECOND))[1]["earlier_options"] == [
        ["a kite", "a hat"]
    ]


def test_pictures_stand_at_their_first_mark_of_the_conversation() -> None:
    marks = TALK.model_copy(update={"images": "interleaved"})
    _, second, _, last = turns_of("dialogue", template=marks)
    assert second["turns"][0]["question"].startswith("What is it?\n<image 1>\n")
    assert last["text"].startswith("Why?") and "<image" not in last["text"]
    bare = replace(FIRST, question="What?")
    unmarked = replace(SECOND, question="Is it <image 1>?", turns=(bare,))
    (_, row) = turns_of("dialogue", template=marks, items=(bare, unmarked))
    assert row["turns"][0]["question"].startswith("What?") and row["text"].startswith("Is it <image 1>?")


def test_items_in_no_conversation_have_no_dialogue() -> None:
    for name in ("dialogue", "dialogue_gold"):
        assert turns_of(name, items=(replace(FIRST, goes_on=False),)) == []
        moved = replace(SECOND, images=("e",))
        assert [row["item"] for row in turns_of(name, items=(FIRST, moved))] == ["a"], "about another picture"
    unknown = replace(FIRST, answers=())
    assert [
        row["item"] for row in turns_of("dialogue_gold", items=(unknown, replace(SECOND, turns=(unknown,))))
    ] == ["a"]


def test_own_answers_need_texts() -> None:
    with refused(
        r"b/dialogue: repeats the answer to a/dialogue, which asks for no text; add it to `outputs` of the dataset"
    ):
        turns_of("dialogue", template=PLAIN)
    bare = tuple(replace(item, images=(), question="", turns=()) for item in (FIRST, SECOND))
    assert turns_of("dialogue", template=PLAIN, items=(bare[0], replace(bare[1], turns=bare[:1]))) == [], (
        "nobody asks"
    )


def test_a_conversation_about_blurred_pictures() -> None:
    made = turns_of("dialogue+vr_b_5")
    assert [row["id"] for row in made] == [f"{name}/dialogue+vr_b_5" for name in "abcd"]
    assert made[1]["earlier"] == [["a/dialogue+vr_b_5"]], "what was said of the blurred picture"
    assert {str(row["images"]) for row in made} == {str(made[0]["images"])}
    assert made[0]["images"][0]["steps"][0]["severity"] == 5
    blind = turns_of("dialogue+text_only")
    assert [row["images"] for row in blind] == [[]] * 4 and all("text" in row["outputs"] for row in blind)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("tests+dialogue", "tests and dialogue both change the words; dialogue_tests does both"),
        ("dialogue_tests+shuffled", "dialogue_tests and shuffled both change the order"),
        ("dialogue+image_only", "dialogue and image_only both change the words"),
        ("dialogue+circular", "dialogue and circular both change the order"),
        ("dialogue_gold+vs_s", "dialogue_gold shows answers to earlier turns, which vs_s would flip; "),
    ],
)
def test_what_does_not_go_with_a_conversation(name: str, reason: str) -> None:
    with refused(reason):
        load_variation(name)


def test_words_of_a_dataset_are_no_place_for_answers() -> None:
    odd = replace(SECOND, question="What is {answer 1}?")
    assert "{answer 1}" in turns_of("original", "dialogue_gold", items=(FIRST, odd))[-1]["text"]
    with refused(r"item b: its words hold `\{answer 1\}`"):
        turns_of("dialogue", items=(FIRST, odd))


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
        assert row["outputs"] == ["letters"] and row["labels"] == ["A", "B"] and row["answers"] == []
        assert row["images"] == plain["images"] and row["effect"] == "own"
    assert [row["order"] for row in found] == [[0, 1], [1, 0]]
    assert [row["images"] for row in rows("p_true", replace(item, images=()), spoken)] == [[], []]
    assert rows("p_true", replace(item, images=(), question=""), spoken) == [], "nobody answers it"


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
