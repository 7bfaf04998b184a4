"""What demo models are asked for their grades; their answers are in docs/demo-models.md."""

from types import ModuleType

import numpy as np
import pytest

from tools.demo_grades import LETTERS, choice, edited, items, messages, right, set_size, swapped
from vouch.datasets.loaders import pairs, shapes, shapes_dialog
from vouch.prompts.build.template import read_template


@pytest.mark.parametrize("module", [shapes, pairs, shapes_dialog])
def test_every_dataset_of_the_demo_can_be_asked(module: ModuleType) -> None:
    template = read_template("kostumov", "joined" if module is pairs else None)
    made = items(module, module.__name__.rpartition(".")[2], 8)
    asked = [choice(item, template) for item in made]
    for item, prompt in zip(made, asked, strict=True):
        assert item.question in prompt.text and prompt.count == len(item.options) + 2
        assert f"{LETTERS[prompt.answer]}. {item.options[item.answers[0]]}" in prompt.text
        assert messages(prompt)[0]["content"][0] == {"type": "image"}
    for plain, changed in zip(asked, edited(asked, swapped), strict=True):
        assert plain.picture.size == changed.picture.size and plain.picture != changed.picture
    likely = np.array([[float(letter == row.answer) for letter in range(6)] for row in asked])
    assert right(likely, asked).all() and not right(-likely, asked).any()
    assert set_size(60 * likely, asked) == 1.0
