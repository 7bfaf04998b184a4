"""What a prompt must be; the layouts of templates, written here as their papers have them; and what variations that
know nothing of an item's words must make of it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from tests.prompts.every.looks import (
    Look,
    blurred,
    compressed,
    disturbed,
    grey,
    lighter,
    nothing,
    same,
    turned,
)

LETTERS = "ABCDEFGH"
DIRECTLY = "Answer with the option's letter from the given choices directly."
IDK = "I don\u2019t know"


@dataclass(frozen=True)
class Asked:
    """A prompt. right: the correct options' texts, in the order in which they are shown. look: its pictures.

    images: places of the images that the look gets, of the item's own and behind them those to exchange.
    turns: earlier questions and answers. response: how the answer begins. earlier: prompts that fill the holes.
    """

    text: str
    right: tuple[str, ...]
    look: Look = same
    images: tuple[int, ...] = (0,)
    turns: tuple[tuple[str, str], ...] = ()
    response: str | None = None
    earlier: tuple[tuple[str, ...], ...] = ()


Texts = tuple[str, ...]
Ask = Callable[..., Asked]  # its keywords: words, order, right, look, marks
Table = Mapping[str, Sequence[Asked]]


def options(texts: Sequence[str], mark: str = "{}. {}", marks: str = LETTERS) -> list[str]:
    return [mark.format(letter, text) for letter, text in zip(marks, texts, strict=False)]


def _lines(*lines: str) -> str:
    return "\n".join(line for line in lines if line)


def kostumov(question: str, own: Sequence[str], marks: str = LETTERS) -> str:
    return _lines(question, *options([*own, IDK, "None of the above"], marks=marks), DIRECTLY)


def of_the_words(ask: Ask, own: Texts, right: str, words: Mapping[str, str]) -> dict[str, list[Asked]]:
    """lr_* and ls_*: words of each kind that there is; what flips the answer makes all other options right."""
    others = tuple(text for text in own if text != right)
    found: dict[str, list[Asked]] = {kind: [] for kind in ("lr_i", "lr_c", "lr_v", "ls_n", "ls_a", "ls_m")}
    for kind, text in words.items():
        found[kind] = [ask(words=text, right=others if kind.startswith("ls") else (right,))]
    return found


def of_the_order(ask: Ask, own: Texts, shuffled: Sequence[Texts]) -> dict[str, list[Asked]]:
    """Where no style has instructions, a test is an order."""
    orders = [ask(order=order) for order in shuffled]
    circular = [ask(order=own[first:] + own[:first]) for first in range(len(own))]
    return {"option_order": [ask(order=own[::-1])], "circular": circular, "shuffled": orders, "tests": orders}


def of_the_marks(ask: Ask, count: int) -> dict[str, list[Asked]]:
    return {"marks": [ask(marks=marks[:count]) for marks in ("abcdefgh", "12345678", LETTERS)]}


LEVELLED = {"vr_b": blurred, "vr_l": lighter, "jpeg": compressed} | {
    name: partial(disturbed, name) for name in ("contrast", "fog", "motion", "noise", "pixelate")
}


def of_the_picture(ask: Ask, levels: Sequence[int] = ()) -> dict[str, list[Asked]]:
    """The variations that change pictures and nothing else, a name alone at level 3, and at further levels."""
    found = {name: [ask(look=look(3))] for name, look in LEVELLED.items()}
    for name, look in LEVELLED.items():
        found |= {f"{name}_{level}": [ask(look=look(level))] for level in levels}
    return found | {"vr_r": [ask(look=turned)], "blank": [ask(look=grey)], "text_only": [ask(look=nothing)]}


def never(*names: str) -> dict[str, list[Asked]]:
    """Variations that do not apply."""
    return {name: [] for name in names}


STYLES_OWN = ("instruction", "no_sample", "no_response")
CONVERSATIONS = ("dialogue", "dialogue_gold")
SIDES = ("vs_s", "vs_e")
