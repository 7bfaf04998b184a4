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
from vouch.metrics.text.parsers import PARSERS, read
from vouch.metrics.text.reader.options import NONE, OPTION, SEVERAL, Choices, Reading

OUTPUTS = SHARED.parent / "outputs"
needs_outputs = pytest.mark.skipif(not OUTPUTS.is_dir(), reason="needs ../shared/reference/outputs")
CHOICES = Choices(tuple("ABCD"), ("a red circle", "a blue circle", "the left one", "left"))


def marked(count: int, marks: str = string.ascii_uppercase) -> Choices:
    """Options whose texts say nothing."""
    return Choices(tuple(marks[:count]), tuple(f"\0{place}" for place in range(count)))


def parse(name: str, text: str, choices: Choices = CHOICES) -> tuple[int, ...] | None:
    found = PARSERS[name](text, choices)
    return None if found.verdict == NONE else found.places


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


def test_contains_takes_numbers_whole() -> None:
    numbers = Choices(tuple("ABCD"), ("5", "3.5", "1,000", "10²"))
    texts = ("It is 3.5 m", ".5", "5.", "1,000 men", "10² is it", "102", "-5", "5, I think")
    assert [parse("contains", text, numbers) for text in texts] == [
        (1,),
        None,
        (0,),
        (2,),
        (3,),
        None,
        None,
        (0,),
    ]


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
    name, found = read("DNA", CHOICES, ("reader", "first_mark", "mmmu"))
    assert (name, found.places) == ("mmmu", (0,))
    assert read("It must be (A)", CHOICES, ("mmmu", "reader"))[0] == "mmmu"
    assert read("DNA", CHOICES, ("reader", "first_mark")) == ("first_mark", Reading(NONE))


@settings(max_examples=60, deadline=None)
@given(
    text=st.text(max_size=80) | st.text("AB ().:answer isthe\n*", max_size=80),
    labels=st.sampled_from(["ABCD", "abcd", "1234", "", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"]),
    option=st.text(max_size=10),
)
def test_no_text_breaks_a_parser(text: str, labels: str, option: str) -> None:
    choices = Choices(tuple(labels), (option, *(f"option {label}" for label in labels[1:])))
    for name in PARSERS:
        found = PARSERS[name](text, choices)
        assert all(place >= 0 for place in found.places)
        assert (found.verdict in (OPTION, SEVERAL)) == bool(found.places)


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@needs_outputs
def test_llava_on_the_picture_questions_of_scienceqa() -> None:
    found = [row for row in rows(OUTPUTS / "scienceqa/test_outputs.jsonl") if row["multimodal"]]
    right = sum(
        parse("reader", row["llava15_13b"], marked(5)) == (string.ascii_uppercase.index(row["answer"]),)
        for row in found
    )
    assert (right, len(found)) == (1445, 2017)  # 71.64 %


@needs_outputs
def test_llava_on_mmbench_with_every_copy_of_a_question_right() -> None:
    copies = defaultdict(list)
    for row in rows(OUTPUTS / "mmbench_dev/llava-v1.5-13b.jsonl"):
        named = parse("reader", row["pred"], marked(row["n_options"]))
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
