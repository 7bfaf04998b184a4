"""Where images stand among the words: marks such as `<image 1>`, which a template shows, names or drops."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vouch.prompts.build import render
from vouch.prompts.draft import Item, start
from vouch.prompts.template import ImageMarks, read_template


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no mark", "no mark"), ("  indented\n\ncode ", "  indented\n\ncode "),
        ("Which kite?\n<image1>", "Which kite?"), ("Which kite? <image 1>", "Which kite?"),
        ("Which kite?\n<image_1>\n<image2>", "Which kite?"), ("Which?\n<image1><image2>", "Which?"),
        ("Before:\n <image1> \nafter", "Before:\nafter"), ("<image1>\nFelix has", "Felix has"),
        ("so\n<image1>that one can", "so\nthat one can"),
        ("The diagram <image1> shows 8.\nWhich?\n<image2>", "The diagram image 1 shows 8.\nWhich?"),
        ("<image1>", "image 1"), ("<image>, <image 0> and <image x>", "<image>, <image 0> and <image x>"),
    ],
)  # fmt: skip
def test_one_picture_first(text, expected):
    assert ImageMarks(1, "first").passage(text) == expected


def test_an_option_never_goes():
    assert ImageMarks(1, "first").option("<image1>") == "image 1"


def test_several_pictures_first():
    placing = ImageMarks(2, "first")
    assert placing.passage("See <image1>\n<image_2>") == "See image 1\nimage 2"
    assert placing.front() == ""


def test_pictures_at_their_marks():
    placing = ImageMarks(3, "interleaved")
    assert placing.passage("Of <image2>, <image_2> and <image 7>,") == "Of <image 2>, image 2 and image 7,"
    assert placing.option("<image1>") == "<image 1>"
    assert placing.front() == "<image 3>\n"


def test_without_marks_all_pictures_are_first():
    placing = ImageMarks(2, "interleaved")
    assert placing.passage("Which?") == "Which?"
    assert placing.front() == ""


PIECES = st.sampled_from(
    ["a", " ", "\n", "\t", "<image1>", "<image 2>", "<image_3>", "<image 12345>", "<image"]
)


@given(
    st.lists(PIECES, max_size=12).map("".join), st.integers(0, 3), st.sampled_from(["first", "interleaved"])
)
def test_every_picture_has_one_mark_or_none_has(text, pictures, mode):
    placing = ImageMarks(pictures, mode)
    shown = placing.passage(text) + "\n" + placing.option(text)
    marks = re.findall(r"<image (\d{1,4})>", placing.front() + shown)
    assert sorted(marks) in ([], [str(number) for number in range(1, pictures + 1)])
    assert not re.search(r"<image_?\d{1,4}>", shown)
    assert not (text.strip() and not shown.strip())


LINES = Path(__file__).resolve().parents[3] / "shared/reference/realdata/mathvision_test/items.jsonl"


def text_of(question: str, options: tuple[str, ...], images: tuple[str, ...]) -> str:
    item = Item("q", "g", question, None, options, (0,), images, "choice")
    return render(start(item, read_template("plain", "interleaved"), ""), (0,), "plain_interleaved", {})[
        "text"
    ]


def test_pictures_stand_between_the_render() -> None:
    text = text_of("Fold <image 2>. Is it <image1>, or not?", ("<image_3>", "see <image 1>"), ("a", "b", "c"))
    assert text.startswith("Fold <image 2>. Is it <image 1>, or not?\nA. <image 3>\nB. see image 1\n")


@pytest.mark.skipif(not LINES.exists(), reason="the reference data are not on this machine")
def test_355_of_355_mathvision_pictures_stand_at_their_mark() -> None:
    lines = [json.loads(line) for line in LINES.read_text("utf-8").splitlines()]
    texts = [text_of(line["question"], tuple(line["options"]), ("a",)) for line in lines]
    assert [len(re.findall("<image", text)) for text in texts] == [1] * 355
    plain = re.compile(r"<image\s?1>")
    places = zip(texts, (plain.search(line["question"]) for line in lines), strict=True)
    assert sum(mark is not None and text.index("<image 1>") == mark.start() for text, mark in places) == 355
