"""What a card says of prompt variations, beside what a guess gains by them."""

from typing import Any

from vouch.cli.printing import long_name
from vouch.cli.publish.hub import sensitivity, with_guesses

PLACE = {"dataset": "kites", "output": "letters", "model": "alpha", "score": ""}


def cost(variation: str, original: float, value: float, metric: str = "accuracy") -> dict[str, Any]:
    gap = value - original
    ends = {"difference": gap, "low": gap - 0.05, "high": gap + 0.05}
    return {**PLACE, "variation": variation, "metric": metric, "value": value, "original": original, **ends}


def said(guess: float, *rows: dict[str, Any]) -> list[str]:
    """Sentences; guess: accuracy of a guess on negated questions, whose answer is flipped."""
    opposite = cost("ls_n", 0, 0.4, "not_flipped")
    line = ("kites", "ls_n", "letters", "alpha")
    every = {line: {("random_accuracy", ""): {"value": guess}}}
    return list(sensitivity(with_guesses([*rows, opposite], every)))


def test_a_gain_that_is_less_than_a_guess_gains_is_the_loss() -> None:
    """Of four options one is right, and three are once the question is negated."""
    rows = cost("vr_b", 0.5, 0.4), cost("ls_n", 0.5, 0.6)
    assert said(0.75, *rows) == [
        f"The costliest of 2 prompt variations is {long_name('ls_n')}: 60.0 % are correct, "
        "where a guess gives 75 %, and of the originals 50.0 %, where it gives 25 %."
    ]


def test_of_two_options_a_guess_gains_nothing() -> None:
    rows = cost("vr_b", 0.5, 0.4), cost("ls_n", 0.5, 0.6)
    assert said(0.5, *rows) == [
        f"The costliest of 2 prompt variations is {long_name('vr_b')}: accuracy -10.0 [-15.0, -5.0] points."
    ]


def test_no_change_that_significantly_costs() -> None:
    rows = cost("vr_b", 0.5, 0.48), cost("ls_n", 0.3, 0.8)
    assert said(0.75, *rows) == [
        "None of 2 prompt variations costs accuracy significantly; the lowest accuracy is with "
        f"{long_name('vr_b')}; accuracy -2.0 [-7.0, +3.0] points."
    ]
