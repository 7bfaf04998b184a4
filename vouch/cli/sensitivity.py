"""What changes of the prompt cost a model, in sentences for its card."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from vouch.cli.show import Cells
from vouch.report.costs import eased_by, is_control

Row = Mapping[str, Any]
EASED = "eased"
"""Column: how much more often a guess is right than in the original prompts."""


def with_guesses(changes: Sequence[Row], every: Cells) -> list[Row]:
    """Rows of VARIATIONS of one model, with EASED. every: its cells of all variations.

    It is none but where the answer is turned (vouch/report/costs.py).
    """
    place = ("dataset", "variation", "output", "model")
    turned = {tuple(row[name] for name in place) for row in changes if row["metric"] == "unturned"}
    guesses = {line: every.get(line, {}).get(("random_accuracy", ""), {}).get("value") for line in turned}
    eased = {line: eased_by(guess) for line, guess in guesses.items()}
    return [{**row, EASED: eased.get(tuple(row[name] for name in place), 0.0)} for row in changes]


def sensitivity(changes: Sequence[Row]) -> Iterator[str]:
    """Which change costs most accuracy, and which changes most answers; rows of one dataset and output."""
    asked = [row for row in changes if row["metric"] == "accuracy" and not is_control(row["variation"])]
    if not asked:
        yield "Other words and changed pictures were not tried."
        return
    worst = min(asked, key=lambda row: (row["difference"] - row[EASED], row["variation"]))
    if worst["high"] is not None and worst["high"] < worst[EASED]:
        yield f"Of {len(asked)} changes of the prompt {worst['variation']} costs most: {_cost(worst)}."
    else:
        yield (
            f"Of {len(asked)} changes of the prompt none costs accuracy for sure; {worst['variation']} comes "
            f"out lowest: {_cost(worst)}."
        )
    names = {row["variation"] for row in asked}
    flipped = [row for row in changes if row["metric"] == "flipped" and row["variation"] in names]
    if flipped:
        most = max(flipped, key=lambda row: (row["value"], row["variation"]))
        yield f"{most['variation']} changes most answers that should stay: {points(most)} %."


def _cost(row: Row) -> str:
    if row[EASED]:
        guess = (1 + row[EASED]) / 2
        return (
            f"{100 * row['value']:.1f} % are right, where a guess gives {100 * guess:.0f} %, and of the "
            f"originals {100 * row['original']:.1f} %, where it gives {100 * (1 - guess):.0f} %"
        )
    bounds = f" [{100 * row['low']:+.1f}, {100 * row['high']:+.1f}]" if row["low"] is not None else ""
    return f"accuracy {100 * row['difference']:+.1f}{bounds} points"


def points(row: Row) -> str:
    """A share in per cent with its interval."""
    low, high = row["low"], row["high"]
    bounds = "" if low is None or high is None else f" [{100 * low:.1f}, {100 * high:.1f}]"
    return f"{100 * row['value']:.1f}{bounds}"
