"""Options read out of generated texts: by example, at length, and against what authors published."""

import json
import string
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.metrics.simulated import SHARED
from vouch.metrics.text.parsers import DEFAULT_PARSERS, PARSERS, read
from vouch.metrics.text.parsers.marks import Choices

OUTPUTS = SHARED.parent / "outputs"
needs_outputs = pytest.mark.skipif(not OUTPUTS.is_dir(), reason="needs ../shared/reference/outputs")
CHOICES = Choices(tuple("ABCD"), ("a red circle", "a blue circle", "the left one", "left"))


def marked(count: int, marks: str = string.ascii_uppercase) -> Choices:
    """Options whose texts say nothing."""
    return Choices(tuple(marks[:count]), tuple(f"\0{place}" for place in range(count)))


def parse(name: str, text: str, choices: Choices = CHOICES) -> tuple[int, ...] | None:
    found: tuple[int, ...] | None = PARSERS[name](text, choices)
    return found


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("B", 1),
        (" b\n", 1),
        ("B.", 1),
        ("(B)", 1),
        ("B) a blue circle", 1),
        ("B: a blue circle", 1),
        ("**B**", 1),
        ('"B"', 1),
        ("B\n\nBecause it is round.", 1),
        ("Option C", 2),
        ("选项 C", 2),
        ("Ｄ", 3),
        ("（D）", 3),
        ("A.", 0),
        ("A cat", None),
        ("A red circle", None),
        ("a", 0),
        ("a cat.", None),
        ("Blue", None),
        ("Because of B", None),
        ("E", None),
        ("A, B", None),
        ("A. B.", None),
        ("A or B", None),
        ("", None),
    ],
)
def test_letter(text: str, place: int | None) -> None:
    assert parse("letter", text) == (None if place is None else (place,))


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("The answer is (B).", 1),
        ("the answer is b", 1),
        ("So the correct answer to this question is B because it is round.", 1),
        ("Answer: C", 2),
        ("**Answer:** C", 2),
        ("**Answer**: (C)", 2),
        ("The answer is A. No: the answer is D.", 3),
        ("The correct option is option D", 3),
        (r"Thus \boxed{B}", 1),
        (r"the answer is $\boxed{\text{C}}$", 2),
        ("答案是B。", 1),
        ("答案：（B）", 1),
        ("因此选C", 2),
        ("所以正确答案为 D，因为", 3),
        ("La respuesta correcta es la B.", 1),
        ("Respuesta: C", 2),
        ("La opción correcta es D", 3),
        ("A resposta correta é a letra C.", 2),
        ("A alternativa correta é a B", 1),
        ("Resposta: D", 3),
        ("正解はBです。", 1),
        ("答え：C", 2),
        ("したがって、答えは(D)", 3),
        ("התשובה הנכונה היא B", 1),
        ("תשובה: C", 2),
        ("The answer is a red circle.", None),
        ("The answer is A red circle", None),
        ("The answer is not B", None),
        ("The answer is Blue", None),
        ("The answer is E", None),
        ("I cannot say what the answer is.", None),
        ("B", None),
        ("", None),
    ],
)
def test_tail(text: str, place: int | None) -> None:
    assert parse("tail", text) == (None if place is None else (place,))


def test_a_word_that_is_a_mark_needs_a_closing() -> None:
    many = marked(10)
    assert parse("tail", "Answer: I cannot tell", many) is None
    assert parse("tail", "Answer: I", many) == (8,)
    assert parse("letter", "I.", many) == (8,)
    digits = marked(4, "1234")
    assert parse("tail", "The answer is 3 dogs", digits) is None
    assert parse("tail", "The answer is (3)", digits) == (2,)
    assert parse("letter", "3", digits) == (2,)
    small = marked(4, "abcd")
    assert parse("tail", "The answer is a dog", small) is None
    assert parse("letter", "(c) something", small) == (2,)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("I think (c) and (A)", 2),
        ("(2)", 1),
        ("(Z)", 25),
        ("(AB) or (0) or [A]", None),
        ("B", None),
    ],
)
def test_first_mark(text: str, place: int | None) -> None:
    assert parse("first_mark", text) == (None if place is None else (place,))


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("A blue circle.", 1),
        ("  BLUE   circle ", 1),
        ("Left", 3),
        ("left one", 2),
        ("It is a blue circle", None),
        ("", None),
        ("...", None),
    ],
)
def test_option_text(text: str, place: int | None) -> None:
    assert parse("option_text", text) == (None if place is None else (place,))
    assert parse("option_text", text, Choices(("A", "B"), ("", "..."))) is None


def test_two_options_that_read_alike_are_no_answer() -> None:
    assert parse("option_text", "cat", Choices(("A", "B"), ("cat", "Cat."))) is None


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("It is the left one.", (2,)),
        ("left", (3,)),
        ("It is the left one, or left?", (2, 3)),
        ("a red circle and (B)", (0, 1)),
        ("B", (1,)),
        ("blue circles", None),
        ("none of these", None),
    ],
)
def test_contains(text: str, places: tuple[int, ...] | None) -> None:
    assert parse("contains", text) == places


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't help with that.",
        "I cannot determine whether (A) or (B) is right",
        "As an AI language model, I",
        "It is not possible to tell.",
        "Unable to determine",
        "抱歉，我无法回答",
        "Lo siento, no puedo",
        "Desculpe, não posso",
        "申し訳ありません",
        "מצטער, אני לא יכול",
    ],
)
def test_refusals(text: str) -> None:
    assert parse("refusal", text) == ()
    assert read(text, CHOICES, DEFAULT_PARSERS) == ("refusal", ())


@pytest.mark.parametrize("text", ["B", "I can see a red circle", "It is sorry", "The image is blue", ""])
def test_what_is_no_refusal(text: str) -> None:
    assert parse("refusal", text) is None


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("Answer: (C)", 2),
        ("Answer: B\nAnswer: D", 3),
        ("Answer: A or B. (C)", 2),  # two after the cue, so the brackets decide
        ("B", 1),
        ("'B'.", 1),
        ("(A) is wrong, (B) is right", 1),
        ("A is wrong and C is right", 2),
        ("DNA is it", 0),  # `A ` inside a word, as there
        ("It says D.)", 3),
        ("well it must be a blue circle here", 1),
        ("a blue circle", None),  # too few words
        ("", None),
    ],
)
def test_mmmu(text: str, place: int | None) -> None:
    assert parse("mmmu", text) == (None if place is None else (place,))


def test_the_first_parser_that_finds_something_decides() -> None:
    assert read("(A) is tempting, but the answer is (B)", CHOICES, DEFAULT_PARSERS) == ("tail", (1,))
    assert read("It must be (A)", CHOICES, DEFAULT_PARSERS) == ("first_mark", (0,))
    assert read("It must be (A)", CHOICES, ("letter",)) == (None, ())


@settings(max_examples=60, deadline=None)
@given(
    text=st.text(max_size=80) | st.text("AB ().:answer isthe\n*", max_size=80),
    marks=st.sampled_from(["ABCD", "abcd", "1234", "", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"]),
    option=st.text(max_size=10),
)
def test_no_text_breaks_a_parser(text: str, marks: str, option: str) -> None:
    choices = Choices(tuple(marks), (option, *(f"option {mark}" for mark in marks[1:])))
    for name in PARSERS:
        found = parse(name, text, choices)
        assert found is None or all(place >= 0 for place in found)


@pytest.mark.parametrize(
    "piece", ["A", "a ", " ", "(", "the answer is ", "answer answer ", "\\boxed{", "答案", "*", "é\n", "ﷺ"]
)
def test_a_text_of_100_kb_takes_no_longer_than_its_length(piece: str) -> None:
    """Any rule that were not linear would take minutes here and end the run."""
    long = piece * (100_000 // len(piece))
    for name in PARSERS:
        parse(name, long)
        parse(name, f"{long}X", Choices(("A", "B"), (long[:200], "b")))


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@needs_outputs
@pytest.mark.parametrize("parsers", [DEFAULT_PARSERS, ("letter", "tail")])
def test_llava_on_the_picture_questions_of_scienceqa(parsers: tuple[str, ...]) -> None:
    found = [row for row in rows(OUTPUTS / "scienceqa/test_outputs.jsonl") if row["multimodal"]]
    right = sum(
        read(row["llava15_13b"], marked(5), parsers)[1] == (string.ascii_uppercase.index(row["answer"]),)
        for row in found
    )
    assert (right, len(found)) == (1445, 2017)  # 71.64 %


@needs_outputs
def test_llava_on_mmbench_with_every_copy_of_a_question_right() -> None:
    copies = defaultdict(list)
    for row in rows(OUTPUTS / "mmbench_dev/llava-v1.5-13b.jsonl"):
        _, named = read(row["pred"], marked(row["n_options"]), DEFAULT_PARSERS)
        copies[row["index"] % 1_000_000].append(named == (string.ascii_uppercase.index(row["answer"]),))
    assert sum(map(all, copies.values())) / len(copies) == pytest.approx(0.6769, abs=5e-5)


@needs_outputs
@pytest.mark.parametrize(
    "path", sorted(OUTPUTS.glob("mmmu_pro/*__direct__Standard_*.jsonl")), ids=lambda p: p.stem
)
def test_the_rule_of_mmmu_pro(path: Path) -> None:
    """Row by row where the text is whole and the rule needs no words of options, which are not stored."""
    kept = [row for row in rows(path) if " ... " not in row["response"]]
    differ = []
    for row in kept:
        named = parse("mmmu", row["response"], marked(row["n_options"]))
        by_words = named is None and len(row["response"].split()) > 5
        if not by_words and named != (row["pred"] and (string.ascii_uppercase.index(row["pred"]),)):
            differ.append((row["response"], row["pred"], named))
    assert not differ and len(kept) > 750
    published = json.loads((OUTPUTS / "mmmu_pro_published_correct_counts_of_1730.json").read_text("utf-8"))
    model, _, kind = path.stem.split("__", 2)
    if len(kept) == 1730 and all(row["pred"] for row in kept):
        right = sum(
            parse("mmmu", row["response"], marked(row["n_options"]))
            == (string.ascii_uppercase.index(row["answer"]),)
            for row in kept
        )
        assert (
            right == published[model][f"direct_{kind.rstrip('_').replace('opts', 'opts)').replace('_', '(')}"]
        )
