import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vouch.prompts.template import Placing


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no mark", "no mark"),
        ("  indented\n\ncode ", "  indented\n\ncode "),
        ("Which kite?\n<image1>", "Which kite?"),
        ("Which kite? <image 1>", "Which kite?"),
        ("Which kite?\n<image_1>\n<image2>", "Which kite?"),
        ("Which?\n<image1><image2>", "Which?"),
        ("Before:\n <image1> \nafter", "Before:\nafter"),
        ("<image1>\nFelix has", "Felix has"),
        ("so\n<image1>that one can", "so\nthat one can"),
        ("The diagram <image1> shows 8.\nWhich?\n<image2>", "The diagram image 1 shows 8.\nWhich?"),
        ("<image1>", "image 1"),
        ("<image>, <image 0> and <image x>", "<image>, <image 0> and <image x>"),
    ],
)
def test_one_picture_first(text, expected):
    assert Placing(1, "first").passage(text) == expected


def test_an_option_never_goes():
    assert Placing(1, "first").option("<image1>") == "image 1"


def test_several_pictures_first():
    placing = Placing(2, "first")
    assert placing.passage("See <image1>\n<image_2>") == "See image 1\nimage 2"
    assert placing.front() == ""


def test_pictures_at_their_marks():
    placing = Placing(3, "marks")
    assert placing.passage("Of <image2>, <image_2> and <image 7>,") == "Of <image 2>, image 2 and image 7,"
    assert placing.option("<image1>") == "<image 1>"
    assert placing.front() == "<image 3>\n"


def test_without_marks_all_pictures_are_first():
    placing = Placing(2, "marks")
    assert placing.passage("Which?") == "Which?"
    assert placing.front() == ""


PIECES = st.sampled_from(
    ["a", " ", "\n", "\t", "<image1>", "<image 2>", "<image_3>", "<image 12345>", "<image"]
)


@given(st.lists(PIECES, max_size=12).map("".join), st.integers(0, 3), st.sampled_from(["first", "marks"]))
def test_every_picture_has_one_mark_or_none_has(text, pictures, mode):
    placing = Placing(pictures, mode)
    shown = placing.passage(text) + "\n" + placing.option(text)
    marks = re.findall(r"<image (\d{1,4})>", placing.front() + shown)
    assert sorted(marks) in ([], [str(number) for number in range(1, pictures + 1)])
    assert not re.search(r"<image_?\d{1,4}>", shown)
    assert not (text.strip() and not shown.strip())
