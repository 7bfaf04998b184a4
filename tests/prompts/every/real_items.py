"""What every variation must make of real items; their words and pictures are read from the reference data."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.prompts.every.asked import (
    CONVERSATIONS,
    SIDES,
    STYLES_OWN,
    Asked,
    Table,
    Texts,
    azad_mathvision,
    kostumov,
    never,
    of_the_marks,
    of_the_order,
    of_the_picture,
    of_the_words,
    parc,
)
from tests.prompts.every.demo_items import LOOKING
from tests.prompts.every.looks import Look, lighter, same

Layout = Callable[..., str]


@dataclass(frozen=True)
class Real:
    """A line of a set. orders: of its options in each of the five tests. words: kind -> the question in other
    words. shown: the question without the mark of its picture. by_hand: kinds whose words a person wrote.
    """

    template: str
    layout: Layout
    added: int
    orders: Sequence[str]
    words: Callable[[str], Mapping[str, str]]
    shown: Callable[[str], str] = str
    by_hand: Texts = ()

    def table(self, line: Mapping[str, Any]) -> Table:
        """What must come of it."""
        own, question, hint = tuple(line["options"]), line["question"], line["hint"]
        right = own[line["answer"]]

        def ask(
            words: str = question,
            order: Texts = own,
            right: Texts = (right,),
            look: Look = same,
            marks: str = "ABCDEFGH",
        ) -> Asked:
            # an empty hint is none; the templates of the other sets show no hint of theirs
            before = f"{hint}\n" if hint and words and self.layout is kostumov else ""
            return Asked(before + self.layout(self.shown(words), order, marks), right, look)

        words = self.words(question)
        orders = [tuple(own[int(place)] for place in order) for order in self.orders]
        both = [ask(words["lr_i"], look=lighter(3))] if "lr_i" in words else []
        return {
            "original": [ask()],
            **of_the_words(ask, own, right, words),
            **of_the_order(ask, own, orders),
            **of_the_marks(ask, len(own) + self.added),
            **of_the_picture(ask),
            "image_only": [ask("")],
            **never(*SIDES, *CONVERSATIONS, *STYLES_OWN),
            "lr_i+vr_l": both,
        }


def _small(question: str) -> str:
    return question[0].lower() + question[1:]


def _told(question: str) -> dict[str, str]:
    clause = _small(question).removesuffix("?")
    return {"lr_i": f"Tell me {clause}.", "lr_v": f"{LOOKING}{clause}?"}


def _older(question: str) -> Mapping[str, str]:
    """`Which THING is older?`"""
    thing = question.removeprefix("Which ").removesuffix(" is older?")
    return _told(question) | {
        "lr_c": f"Older {thing}?",
        "ls_n": f"Which {thing} is not older?",
        "ls_a": f"Which {thing} is younger?",
        "ls_m": f"Which {thing} is less old?",
    }


def _which_one(question: str) -> Mapping[str, str]:
    return _told(question) | {"ls_n": question.replace(" is ", " is not ", 1)}


def _refused(question: str) -> Mapping[str, str]:
    return {}


def _unmarked(question: str) -> str:
    return question.removesuffix("\n<image1>")


REAL = {
    ("scienceqa_test", "scienceqa_test_4717"): Real(
        "kostumov", kostumov, 2, ["01", "10", "01", "01", "10"], _older, by_hand=("ls_a",)
    ),
    ("mathvision_test", "mathvision_3"): Real(
        "azad_mathvision",
        azad_mathvision,
        1,
        ["24301", "02134", "01342", "24103", "24031"],
        _refused,
        shown=_unmarked,
    ),
    ("mmbench_samples", "mmbench_21"): Real(
        "parc", parc, 0, ["3120", "2301", "1302", "0321", "3021"], _which_one
    ),
    ("ccbench_samples", "ccbench_0"): Real(
        "kostumov", kostumov, 2, ["1032", "0231", "0231", "1023", "1320"], _refused
    ),
}
