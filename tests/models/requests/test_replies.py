"""What a model answered, repeated by the prompts of conversations: word by word, or as the option that it chose."""

import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.models import project as made
from tests.models.project import DATASET, MODEL, Project, image, prompt
from tests.prompts.rows import item_rows, template_of
from vouch.models.config import ExtractConfig
from vouch.models.engine import Decoding, Question, TextAnswer
from vouch.models.replies import OwnReply, Pending, fill, reply
from vouch.models.requests import DatasetRequests, Session, answer
from vouch.models.responses import restore
from vouch.prompts.combination import load_variation
from vouch.prompts.draft import Item
from vouch.tables.answered import pin_path, read_pin
from vouch.tables.asked import LETTERS, LIKELIHOOD, TEXT

NOISE = image(1)


def filled(text: str, texts: dict[str, str], *earlier: list[str], answer: str = "") -> Any:
    replies = {name: OwnReply(text) for name, text in texts.items()}
    made, problem = fill(prompt("q/b", text, turns=[("why?", answer)], earlier=earlier), replies)
    assert problem is None
    return made["text"], made["turns"][0]["answer"]


def test_answers_stand_in_turns_and_text() -> None:
    texts = {"x": " dog\n", "y": "cat"}
    assert filled("{answer 2} {answer 1} {answer 2}", texts, ["x"], ["y"], answer="a {answer 1}!") == (
        "cat dog cat",
        "a dog!",
    )


def test_the_most_common_answer_and_of_equals_the_first() -> None:
    texts = {"a": "one", "b": "two", "c": "two ", "d": "one", "e": "three"}
    assert filled("{answer 1}", texts, ["a", "b", "c"])[0] == "two"
    assert filled("{answer 1}", texts, ["b", "a", "d", "c"])[0] == "two"
    assert filled("{answer 1}", texts, ["e", "a", "b"])[0] == "three"


def test_braces_of_others_are_plain_text() -> None:
    texts = {"x": "{answer 2} {answer 9} \\1 {0} {{", "y": "{answer 1}"}
    assert filled("{answer 1} {answer 9}", texts, ["x"], ["y"], answer="{answer 2}") == (
        "{answer 2} {answer 9} \\1 {0} {{ {answer 9}",
        "{answer 1}",
    )
    huge = "{answer " + "9" * 5000 + "} {answer 0} {answer -1} {answer} {answer 1 }"
    assert filled(huge, texts, ["x"])[0] == huge
    unasked, problem = fill(prompt("q/b", "{answer 1}"), {})
    assert unasked["text"] == "{answer 1}" and problem is None, (
        "a prompt that names no answers has no placeholders"
    )


def test_unknown_answers_are_waited_for_and_refused_ones_passed_on() -> None:
    row = prompt("q/b", "{answer 1}", earlier=[["x", "y"]])
    with pytest.raises(Pending):
        fill(row, {"x": OwnReply("a")})
    assert fill(row, {"x": OwnReply("a"), "y": None})[1] == "repeats the answer to prompt y, which has none"


OPTIONS = ["a dog", "a cat", "a hat"]
SHOWN = {"options": ["a hat", "a cat", "a dog"], "order": [2, 1, 0], "labels": ["A", "B", "C"]}


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("The answer is (A) a dog", 2), ("(c), or (A)", 0), ("(2)", 1), ("(D)", None), ("a hat", 2), ("A hat", None),
        ("a dog.", None), ("B", None), ("", None), ("(AB)", None), ("no (", None),
    ],
)  # fmt: skip
def test_the_first_label_in_brackets_or_an_options_words_are_the_choice(text: str, own: int | None) -> None:
    asked = prompt("q/dialogue_tests/1", "what? (A) a hat; (B) a cat; (C) a dog", **SHOWN)
    assert reply(asked, TEXT, {"text": text}) == OwnReply(text, own)


def test_bare_labels_count_if_the_prompt_shows_them_bare() -> None:
    asked = prompt("q/a/1", "what?\nA. a hat\nB. a cat\nC. a dog", **SHOWN)
    for text, own in (
        ("B", 1),
        (" A.", 2),
        ("c", 0),
        ("A hat", None),
        ("(C)", 0),
        ("D", None),
        ("Bee", None),
    ):
        assert reply(asked, TEXT, {"text": text}) == OwnReply(text, own), text
    unlabelled = prompt("q/a/1", "what?", **{**SHOWN, "labels": []})
    assert reply(unlabelled, TEXT, {"text": "B"}) == OwnReply("B")


def test_the_choice_by_likelihood_and_by_letters() -> None:
    asked = prompt("q/a/1", "what?", **SHOWN)
    assert reply(asked, LIKELIHOOD, {"nll": [2.0, 1.0, 1.5]}) == OwnReply("a cat", 1)
    assert reply(asked, LETTERS, {"logits": [0.5, float("-inf"), 1.5]}) == OwnReply("a dog", 0)
    assert reply(asked, LETTERS, {"logits": None}) is reply(asked, TEXT, {"text": None}) is None
    twins = prompt("q/a/1", "what?", **{**SHOWN, "options": ["a dog", "a cat", "a dog"]})
    assert reply(twins, LETTERS, {"logits": [1.0, 0.0, 0.0]}) == OwnReply("a dog", 0), (
        "of equal texts the first"
    )
    added = prompt("q/a/1", "what?", **{**SHOWN, "order": [-1, 1, 0]})
    assert reply(added, LETTERS, {"logits": [1.0, 0.0, 0.0]}) == OwnReply("a hat"), (
        "an option of the template"
    )


def test_options_are_repeated_as_the_turn_shows_them() -> None:
    shown = [["(A) a dog", "(B) a cat", "(C) a hat"]]
    row = prompt("r/a", "who", turns=[("what", "It is {answer 1}")], earlier=[["1", "2", "3"]])
    row["earlier_options"] = shown
    one, other, unread = OwnReply("(A)", 2), OwnReply("(C)", 2), OwnReply(" (Z)\n")
    for given, repeated in (
        ([unread, one, other], "(C) a hat"), ([unread, unread, one], "(Z)"), ([one, unread, OwnReply("x", 0)], "(C) a hat"),
    ):  # fmt: skip
        found, _ = fill(row, dict(zip("123", given, strict=True)))
        assert found["turns"] == [{"question": "what", "answer": f"It is {repeated}"}]
    row["earlier_options"] = [[]]  # an open question
    assert fill(row, {"1": one, "2": one, "3": other})[0]["turns"][0]["answer"] == "It is (A)"


FIRST = Item("a", "g", "What is it?", None, tuple(OPTIONS), (1,), ("d",), "choice", goes_on=True)
SECOND = replace(
    FIRST, id="b", question="Where is it?", options=("here", "there"), answers=(0,), turns=(FIRST,), index=1
)
THIRD = replace(FIRST, id="c", question="Why?", turns=(FIRST, SECOND), index=2, goes_on=False)
TALK = (FIRST, SECOND, THIRD)


def chosen(answers: made.Quick, question: Question, decoding: Decoding | None) -> Any:
    """As Quick answers; a text names an option in brackets, or, one time in eight, none."""
    quick = SAID(answers, question, decoding)
    if not isinstance(quick, TextAnswer):
        return quick
    digit = int(quick.text[0], 16)
    return replace(quick, text=f" ({'ABC'[digit % 3]}), or (B)" if digit > 1 else " I see")


SAID: Callable[..., Any] = made.Quick._answer


@pytest.mark.parametrize("template", ["reform_visdial", "reform_visdial_simple_likelihood"])
def test_online_dialogue_as_the_authors_ask_it(
    template: str, quick: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ReForm-Eval: five tests of each question; the option chosen most often stands in the history, in the
    option order of the dataset. The likelihood's history has the option's words alone."""
    monkeypatch.setattr(made.Quick, "_answer", chosen)
    generated = template == "reform_visdial"
    style, talk = template_of(template), load_variation("dialogue_tests")
    style = style.model_copy(update={"outputs": (TEXT,) if generated else (LIKELIHOOD,), "max_tokens": 8})
    before: dict[str, Any] = {}
    rows = [row for item in TALK for row in item_rows(item, [talk], style, template, 8, before)]
    for row in rows:
        row["images"] = made.prompt("q/a", "", [NOISE])["images"]
    quick.ask(rows, [NOISE])
    quick.extract()

    asked = {row["id"]: row for row in rows}
    stored: dict[str, Any] = {}
    for row in quick.rows(TEXT if generated else LIKELIHOOD):
        stored.setdefault(row["prompt"], []).append(row["text"] if generated else row["nll"])
    engine, history = made.Quick(), [("Can you see the image? Options: (A) Yes; (B) No; (C) Maybe; (D) Not sure.",
        "The answer is (A) Yes")] if generated else []  # fmt: skip
    for item in TALK:
        said = []
        for test in range(1, 6):
            row = asked[f"{item.id}/dialogue_tests/{test}"]
            order = row["order"]
            opening = style.instructions[test - 1] + " " if generated else ""
            turns = tuple((opening * (not place) + one, other) for place, (one, other) in enumerate(history))
            marks = [f"({label}) {item.options[own]}" for label, own in zip("ABC", order, strict=False)]
            text = f"{item.question} Options: {'; '.join(marks)}." if generated else item.question
            options = () if generated else tuple(item.options[own] for own in order)
            question = Question(
                row["id"], row["system"], text, turns=turns, options=options, max_tokens=8,
                decodings=(Decoding(),) if generated else (),
            )  # fmt: skip
            expected = engine._answer(question, Decoding() if generated else None)
            if not generated:
                assert stored[row["id"]] == expected.nll, row["id"]
                said.append(options[expected.nll.index(min(expected.nll))])
                continue
            assert stored[row["id"]] == [expected.text], row["id"]
            place = "ABC".index(expected.text[2]) if "(" in expected.text else 9
            said.append(item.options[order[place]] if place < len(order) else expected.text.strip())
        most = Counter(said).most_common(1)[0][0]
        if generated:
            marks = [f"({label}) {one}" for label, one in zip("ABC", item.options, strict=False)]
            shown = dict(zip(item.options, marks, strict=True)).get(most, most)
            history.append((f"{item.question} Options: {'; '.join(marks)}.", f"The answer is {shown}"))
        else:
            history.append((item.question, most))

    shutil.rmtree(".vouch")
    dataset = DatasetRequests(
        Session(read_pin(pin_path(MODEL)), ExtractConfig(**quick.params["extract"])), DATASET
    )
    assert restore(dataset) == 15, "the stored answers fill the same placeholders"
    assert answer(dataset, lambda answers, total, label: answers)["answers"] == {"known": 15, "asked": 0}
