"""What a prompt must give: its words, its correct options, and how its images must look.

Images are computed with Pillow and numpy alone, and in other ways than the stages use.
"""

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from PIL import Image, ImageChops, ImageFilter

from vouch.images import operations

LETTERS = "ABCDEFGH"
DIRECTLY = "Answer with the option's letter from the given choices directly."
IDK = "I don\u2019t know"


Look = Callable[[Sequence[Image.Image]], list[Image.Image]]

# By level, 1 to 5; docs/variations.md has the table.
SIGMA = (1, 2, 3, 4, 6)  # pixels where the shorter side has 224
LIGHT = (26, 51, 76, 102, 128)  # of 255
QUALITY = (25, 18, 15, 10, 7)


def same(images: Sequence[Image.Image]) -> list[Image.Image]:
    return list(images)


def nothing(images: Sequence[Image.Image]) -> list[Image.Image]:
    return []


def each(change: Callable[[Image.Image], Image.Image]) -> Look:
    return lambda images: [change(image) for image in images]


def blurred(level: int) -> Look:
    return each(
        lambda image: image.filter(ImageFilter.GaussianBlur(min(image.size) * SIGMA[level - 1] / 224))
    )


def lighter(level: int) -> Look:
    return each(lambda image: ImageChops.add(image, Image.new("RGB", image.size, (LIGHT[level - 1],) * 3)))


def compressed(level: int) -> Look:
    def change(image: Image.Image) -> Image.Image:
        file = io.BytesIO()
        image.save(file, "JPEG", quality=QUALITY[level - 1], subsampling=2)
        return Image.open(file).convert("RGB")

    return each(change)


def disturbed(kind: str, level: int) -> Look:
    """What is drawn is checked in tests/images/test_corruptions.py; here, which it is, and its level."""
    return each(lambda image: getattr(operations, kind)(image, level - 1))


turned = each(lambda image: Image.fromarray(np.rot90(np.asarray(image), -1)))
grey = each(lambda image: Image.fromarray(np.full_like(np.asarray(image), 128)))


def joined(look: Look = same) -> Look:
    """Two pictures side by side, after what is done to each."""
    return lambda images: [Image.fromarray(np.hstack([np.asarray(image) for image in look(images)]))]


@dataclass(frozen=True)
class Asked:
    """A prompt. right: the correct options' texts, in the order in which they are shown. look: its pictures.

    images: places of the images that the look gets, of the item's own and behind them those to exchange.
    turns: earlier questions and answers. response: how the answer begins. earlier: prompts that fill the
    holes."""

    text: str
    right: tuple[str, ...]
    look: Look = same
    images: tuple[int, ...] = (0,)
    turns: tuple[tuple[str, str], ...] = ()
    response: str | None = None
    earlier: tuple[tuple[str, ...], ...] = ()


Texts = tuple[str, ...]
Ask = Callable[..., Asked]  # its keywords: words, order, right, look, labels
Table = Mapping[str, Sequence[Asked]]


def options(texts: Sequence[str], mark: str = "{}. {}", labels: str = LETTERS) -> list[str]:
    return [mark.format(letter, text) for letter, text in zip(labels, texts, strict=False)]


def _lines(*lines: str) -> str:
    return "\n".join(line for line in lines if line)


def kostumov(question: str, own: Sequence[str], labels: str = LETTERS) -> str:
    return _lines(question, *options([*own, IDK, "None of the above"], labels=labels), DIRECTLY)


def of_the_words(ask: Ask, own: Texts, right: str, words: Mapping[str, str]) -> dict[str, list[Asked]]:
    """lr_* and ls_*: words of each kind that there is; what flips the answer makes all other options
    right."""
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
    return {"labels": [ask(labels=kind[:count]) for kind in ("abcdefgh", "12345678", LETTERS)]}


LEVELLED = {"vr_b": blurred, "vr_l": lighter, "jpeg": compressed} | {
    name: partial(disturbed, name) for name in ("contrast", "fog", "motion", "noise", "pixelate")
}


def of_the_picture(ask: Ask, levels: Sequence[int] = ()) -> dict[str, list[Asked]]:
    """The variations that change pictures and nothing else, a name alone at level 3, and at further
    levels."""
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
