"""What `vouch compare` prints of two models of a checkout."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from vouch.cli.leaderboard import (
    Row,
    long_name,
)
from vouch.cli.printing import Column, interval, number, paragraphs, table, wrapped
from vouch.report import formatting, gates
from vouch.tables import HEADLINE

VERDICT = f"p is corrected for all pairs of models; a verdict needs p < {gates.SIGNIFICANCE:g}"
SHOWN = 8  # categories; --json has all
_PAIR = (Column("dataset", cut=True), Column("output"))
_ACCURACY = (
    *_PAIR,
    Column("items", right=True, rank=2),
    *(Column(name, right=True, rank=1) for name in "AB"),
    Column("A - B", right=True),
    Column("p", right=True),
    Column("verdict"),
    Column("minimum detectable effect", right=True, rank=3),
)
_COUNTS = (
    *_PAIR,
    *(Column(name, right=True) for name in ("both correct", "only A", "only B", "neither", "McNemar p")),
)
_CERTAINTY = (
    *_PAIR,
    Column("set size A - B", right=True, rank=1),
    Column("with APS", right=True, rank=2),
    *(Column(f"{name} {side}", right=True) for name in ("coverage", "ECE") for side in "AB"),
)
_CATEGORIES = (
    *_PAIR,
    Column("category", cut=True),
    *(Column(name, right=True) for name in ("items", "A", "B", "A - B")),
)


def screen(first: str, second: str, entries: Sequence[Row], categories: Sequence[Row]) -> str:
    """The tables as text for a person."""
    variation = long_name(entries[0]["variation"])
    text = wrapped(f"A is {first}, B is {second}; prompts: {variation}; clean protocol") + "\n"
    text += "Which is correct more often?\n" + table(_ACCURACY, list(map(_accuracy, entries)))
    text += wrapped(VERDICT)
    text += paragraphs(
        f"{each['dataset']}: one of them takes no images, so A - B and its p count the "
        f"{each['accuracy']['with_image']} questions with an image only."
        for each in entries
        if "with_image" in each["accuracy"]
    )
    text += paragraphs(_guessing(entries))
    text += "\nWhich questions does only one answer correctly?\n" + table(
        _COUNTS, list(map(_counts, entries))
    )
    text += "\nHow certain are they?\n" + table(_CERTAINTY, list(map(_certainty, entries)))
    return text + _categories(categories)


def _guessing(entries: Sequence[Row]) -> Iterator[str]:
    """Who is shown to beat guessing on which datasets, for their main request types."""
    names = defaultdict[tuple[bool, bool], list[str]](list)
    for each in entries:
        if (guess := each["guessing"]) and None not in (guess["first"], guess["second"]):
            chance = f" ({guess['chance']:.3f})" if not (guess["first"] and guess["second"]) else ""
            names[guess["first"], guess["second"]].append(each["dataset"] + chance)
    for beaten, sentence in (
        ((True, True), "Both are shown to beat guessing on {}."),
        ((True, False), "Only A is shown to beat guessing on {}."),
        ((False, True), "Only B is shown to beat guessing on {}."),
        (
            (False, False),
            "Neither is shown to beat guessing on {}; do not choose between them by this.",
        ),
    ):
        if beaten in names:
            yield sentence.format(formatting.listed(names[beaten], 30))


def _categories(categories: Sequence[Row]) -> str:
    """The largest differences in categories that are large enough, and how many are not."""
    large = [each for each in categories if each["groups"] >= gates.MINIMUM]
    text = ""
    if large:
        lines = [
            [
                *(each["dataset"], each["output"], each["category"], str(each["items"])),
                *(number(each["first"]), number(each["second"]), f"{each['difference']:+.3f}"),
            ]
            for each in large[:SHOWN]
        ]
        text = "\nWhere do they differ most? Differences that no test has confirmed:\n"
        text += table(_CATEGORIES, lines)
    if few := len(categories) - len(large):
        which = formatting.plural(few, "category", "categories")
        text += wrapped(
            f"left out: {which} of fewer than {gates.MINIMUM} independent questions (--json has all)"
        )
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
        return "not significant"
    return "A is better" if difference > 0 else "B is better"


def _p(value: float | None) -> str:
    return "n.a." if value is None else formatting.p_value(value)


def _counts(entry: Row) -> list[str]:
    correct = entry["counts"] or {}
    return [
        *(entry["dataset"], entry["output"]),
        *(str(correct.get(name, "n.a.")) for name in ("both", "first_only", "second_only", "neither")),
        _p(correct.get("mcnemar_p")),
    ]


def _certainty(entry: Row) -> list[str]:
    sides = (entry["first"], entry["second"])
    return [
        *(entry["dataset"], entry["output"]),
        *(interval(entry["set_size"][score], "difference") for score in HEADLINE),
        *(number(side[name]["value"]) for name in ("coverage_lac", "ece") for side in sides),
    ]
