"""The shipped template that shows each picture at its mark."""

import json
import re
from pathlib import Path

import pytest

from vouch.prompts.build import words
from vouch.prompts.draft import Item, start
from vouch.prompts.template import read_template

LINES = Path(__file__).resolve().parents[3] / "shared/reference/realdata/mathvision_test/items.jsonl"


def text_of(question: str, options: tuple[str, ...], images: tuple[str, ...]) -> str:
    item = Item("q", "g", question, None, options, (0,), images, "choice")
    return words(start(item, read_template("plain", "interleaved"), ""), (0,), "plain_interleaved", {})[
        "text"
    ]


def test_pictures_stand_between_the_words() -> None:
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
