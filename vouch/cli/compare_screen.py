"""What `vouch compare` prints of two models of a checkout."""

from collections.abc import Mapping, Sequence

from vouch.cli.leaderboard import (
    Row,
    long_name,
)
from vouch.cli.printing import interval, number, plain_lines, table
from vouch.report import formatting, gates
from vouch.tables import HEADLINE


def screen(first: str, second: str, entries: Sequence[Row], categories: Sequence[Row]) -> str:
    """The tables as text for a person."""
    variation = long_name(entries[0]["variation"])
    text = f"A is {first}, B is {second}; prompts: {variation}; clean protocol\n\n"
    head = ["dataset", "output", "items", "A", "B", "A - B", "p", "verdict", "minimum detectable effect"]
    text += "Which is correct more often?\n" + table(head, list(map(_accuracy, entries)), {2, 3, 4, 5, 6, 8})
    text += plain_lines(
        f"{each['dataset']}: one of them takes no images, so A - B and its p count the "
        f"{each['accuracy']['with_image']} questions with an image only."
        for each in entries
        if "with_image" in each["accuracy"]
    )
    head = ["dataset", "output", "both correct", "only A", "only B", "neither", "McNemar p"]
    head += ["set size A - B (LAC)", "(APS)", "coverage A", "B", "ECE A", "B"]
    text += "\nWhich questions does only one answer correctly, and how certain are they?\n"
    text += table(head, list(map(_counts, entries)), range(2, 13))
    if categories:
        lines = [
            [
                *(each["dataset"], each["output"], each["category"], str(each["items"])),
                *(number(each["first"]), number(each["second"]), f"{each['difference']:+.3f}"),
            ]
            for each in categories
        ]
        head = ["dataset", "output", "category", "items", "A", "B", "A - B"]
        text += "\nWhere do they differ most?\n" + table(head, lines, {3, 4, 5, 6})
    return text


def _accuracy(entry: Row) -> list[str]:
    gap, sides = entry["accuracy"], (entry["first"], entry["second"])
    return [
        *(entry["dataset"], entry["output"], str(entry["items"])),
        *(number(side["accuracy"]["value"]) for side in sides),
        interval(gap, "difference"),
        _p(gap["p_holm"]),
        "too small to tell" if entry["too_small"] else verdict(gap),
        number(entry["minimum_detectable_effect"]),
    ]


def verdict(gap: Mapping[str, float | None]) -> str:
    """The verdict that the corrected p allows."""
    p, difference = gap["p_holm"], gap["difference"]
    if p is None or difference is None:
        return "n.a."
    if p >= gates.SIGNIFICANCE:
        return "no significant difference"
    return "A is better" if difference > 0 else "B is better"


def _p(value: float | None) -> str:
    return "n.a." if value is None else formatting.p_value(value)


def _counts(entry: Row) -> list[str]:
    correct, sides = entry["counts"] or {}, (entry["first"], entry["second"])
    return [
        *(entry["dataset"], entry["output"]),
        *(str(correct.get(name, "n.a.")) for name in ("both", "first_only", "second_only", "neither")),
        _p(correct.get("mcnemar_p")),
        *(interval(entry["set_size"][score], "difference") for score in HEADLINE),
        *(number(side[name]["value"]) for name in ("coverage_lac", "ece") for side in sides),
    ]
