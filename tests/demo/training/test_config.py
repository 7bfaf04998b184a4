"""What a configuration refuses, with a message that says what to change."""

from typing import Any

import pytest
from pydantic import ValidationError

from tests.demo.training.tiny import tiny


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"width": 20, "heads": 4}, "is not a multiple of twice the 4 heads"),
        ({"layers": 1}, "greater than or equal to 2"),
        ({"target": 0}, "greater than 0"),
        ({"choose_steps": 0}, "greater than or equal to 1"),
        ({"family": "qwen"}, "'llava' or 'idefics3'"),
        ({"depth": 3}, "Extra inputs are not permitted"),
    ],
)
def test_bad_values_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        tiny(**changes)


def test_a_good_one_passes() -> None:
    assert tiny(width=24, heads=3).width == 24
