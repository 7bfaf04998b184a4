"""Every variation on items of the demo: the words, the correct options and the images that it must give.

The tables below say what, by hand. A variation without a line in them fails, but for those that put images
through an operation: what these draw is checked in tests/images/test_operations.py."""

import io
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from stages.prepare import main as prepare
from stages.rewrite import main as rewrite
from stages.vary import main as vary
from tests.prompts.rows import family_of, run_stage
from vouch.images.opening import pixel_digest, render
from vouch.images.operations import apply
from vouch.prompts.rewrites.config import RULES
from vouch.prompts.variations import declared
from vouch.tables.asked import ITEMS, PROMPTS, ImageStore, images_path, items_path, prompts_path

ROOT = Path(__file__).resolve().parents[2]
NAMES = set(declared()) - {"typographic", "typographic_control", "p_true"}  # tests of their own
DIRECTLY = "Answer with the option's letter from the given choices directly."
IDK = "I don\u2019t know"
LOOKING = "Looking carefully at what is shown, could you please tell me "
STYLES_OWN = ("instruction", "no_sample", "no_response")
CONVERSATIONS = ("dialogue", "dialogue_tests", "dialogue_gold")
SIDES = ("vs_s", "vs_e")

Row = Mapping[str, Any]
Texts = tuple[str, ...]
Look = Callable[[Sequence[Image.Image]], list[Image.Image]]


def same(images: Sequence[Image.Image]) -> list[Image.Image]:
    return list(images)


def nothing(images: Sequence[Image.Image]) -> list[Image.Image]:
    return []


def disturbed(operation: str, severity: int = 0) -> Look:
    return lambda images: apply(images, operation, severity)


def joined(look: Look) -> Look:
    """Two images side by side, after what is done to each."""
    if look is nothing:
        return nothing
    return lambda images: [Image.fromarray(np.hstack([np.asarray(image) for image in look(images)]))]


@dataclass(frozen=True)
class Asked:
    """A prompt. right: the correct options' texts, in the order in which they are shown. look: its images.

    images: indices of the images that the look gets, of the item's own and behind them those to exchange.
    turns: earlier questions and answers. response: how the answer begins. earlier: prompts that fill the
    holes."""

    text: str
    right: Texts
    look: Look = same
    images: tuple[int, ...] = (0,)
    turns: tuple[tuple[str, str], ...] = ()
    response: str | None = None
    earlier: tuple[Texts, ...] = ()


Ask = Callable[..., Asked]  # its keywords: words, order, right, look, labels, and fields of Asked
Table = Mapping[str, Sequence[Asked]]
Layout = Callable[[str, Texts, str], str]


def asker(
    layout: Layout,
    words: str,
    order: Texts,
    right: Texts,
    labels: str,
    seen: Callable[[Look], Look] = lambda look: look,
) -> Ask:
    """Makes what a variation must give of what the original gives and what it changes."""

    def ask(
        words: str = words,
        order: Texts = order,
        right: Texts = right,
        look: Look = same,
        labels: str = labels,
        **more: Any,
    ) -> Asked:
        return Asked(layout(words, order, labels), right, seen(look), **more)

    return ask


def options(texts: Sequence[str], form: str, labels: str) -> list[str]:
    return [form.format(mark, text) for mark, text in zip(labels, texts, strict=False)]


def kostumov(question: str, own: Texts, labels: str) -> str:
    shown = options([*own, IDK, "None of the above"], "{}. {}", labels)
    return "\n".join(filter(None, (question, *shown, DIRECTLY)))


def of_the_words(ask: Ask, own: Texts, right: str, words: Mapping[str, str]) -> dict[str, list[Asked]]:
    """lr_* and ls_*: words of each kind that there is; what flips the answer makes all other options
    right."""
    others = tuple(text for text in own if text != right)
    table: dict[str, list[Asked]] = {kind: [] for kind in ("lr_i", "lr_c", "lr_v", "ls_n", "ls_a", "ls_m")}
    for kind, text in words.items():
        correct = others if kind.startswith("ls") else tuple(filter(None, (right,)))
        table[kind] = [ask(words=text, right=correct)]
    return table


def of_the_order(ask: Ask, own: Texts, shuffled: Sequence[Texts]) -> dict[str, list[Asked]]:
    """Where no style has instructions, a test is an order."""
    orders = [ask(order=order) for order in shuffled]
    circular = [ask(order=own[first:] + own[:first]) for first in range(len(own))]
    return {"option_order": [ask(order=own[::-1])], "circular": circular, "shuffled": orders, "tests": orders}


def of_the_labels(ask: Ask, count: int, drawn: str) -> dict[str, list[Asked]]:
    """drawn: the first label of each test."""
    first = {labels[0]: ask(labels=labels[:count]) for labels in ("abcdefgh", "12345678", "ABCDEFGH")}
    return {"labels": list(first.values()), "labels_drawn": [first[label] for label in drawn]}


def of_the_image(ask: Ask, levels: Sequence[int] = ()) -> dict[str, list[Asked]]:
    """The variations that change images and nothing else, a name alone at its default level."""
    table = {"text_only": [ask(look=nothing)]}
    for one in declared().values():
        if one.operation:
            table[one.name] = [ask(look=disturbed(one.operation, one.default_level))]
            for level in levels if one.levels else ():
                table[f"{one.name}_{level}"] = [ask(look=disturbed(one.operation, level))]
    return table


def never(*names: str) -> dict[str, list[Asked]]:
    """Variations that do not apply."""
    return {name: [] for name in names}


def shapes() -> Table:
    yellow, green, blue, red = own = ("yellow", "green", "blue", "red")
    told, lacks = "Tell me which colour the triangle has.", "Which colour does the triangle not have?"
    ask = asker(kostumov, "Which colour does the triangle have?", own, (yellow,), "ABCDEF")
    assert ask().text == (
        "Which colour does the triangle have?\nA. yellow\nB. green\nC. blue\nD. red\nE. I don’t know\n"
        "F. None of the above\nAnswer with the option's letter from the given choices directly."
    ), "a whole layout in plain sight"
    words = {"lr_i": told, "lr_c": "Colour of the triangle?", "ls_n": lacks}
    orders = [(blue, red, green, yellow), (red, green, blue, yellow), (red, yellow, green, blue)]
    orders += [(green, red, yellow, blue), (green, blue, yellow, red)]
    return {
        "original": [ask()],
        "initial": [ask()],
        **of_the_words(ask, own, yellow, {**words, "lr_v": LOOKING + "which colour the triangle has?"}),
        **of_the_order(ask, own, orders),
        **of_the_labels(ask, 6, "AA1aa"),
        **of_the_image(ask, range(1, 6)),
        "image_only": [ask("")],
        **never(*SIDES, *CONVERSATIONS, *STYLES_OWN, "lr_i+vs_s", "ls_n+vs_s"),
        "option_order+vr_b_5": [ask(order=(red, blue, green, yellow), look=disturbed("blur", 5))],
        "lr_i+vr_l": [ask(told, look=disturbed("brighten", 3))],
        "ls_n+vr_l": [ask(lacks, right=(green, blue, red), look=disturbed("brighten", 3))],
        "image_only+text_only": [ask("", look=nothing)],
    }


def shapes_seen() -> Table:
    """A question with an antonym."""
    own = ("black triangle", "purple square", "blue circle", "green triangle")
    question, right = "Which of these is in the picture?", "blue circle"
    ask = asker(kostumov, question, own, (right,), "ABCDEF")
    words = {
        "lr_i": "Tell me which of these is in the picture.",
        "lr_v": LOOKING + "which of these is in the picture?",
        "ls_n": "Which of these is not in the picture?",
        "ls_a": "Which of these is missing from the picture?",
    }
    orders = [[0, 2, 3, 1], [2, 0, 1, 3], [2, 1, 3, 0], [2, 0, 1, 3], [0, 3, 1, 2]]
    return {
        "original": [ask()],
        "initial": [ask()],
        **of_the_words(ask, own, right, words),
        **of_the_order(ask, own, [tuple(own[k] for k in order) for order in orders]),
        **of_the_labels(ask, 6, "AaA1A"),
        **of_the_image(ask),
        "image_only": [ask("")],
        **never(*SIDES, *CONVERSATIONS, *STYLES_OWN),
    }


def pairs() -> Table:
    left, right = own = ("Left", "Right")
    question, not_more = "Name the side with more squares.", "Name the side that does not have more squares."
    fewer, back = "Name the side with fewer squares.", (right, left)
    lighter = disturbed("brighten", 3)
    ask = partial(asker(kostumov, question, own, (left,), "ABCD", joined), images=(0, 1))
    words = {"lr_i": question, "lr_c": "Side with more squares?", "ls_n": not_more, "ls_m": fewer}
    words["lr_v"] = "Please look carefully at what is shown and name the side with more squares."
    swapped: dict[str, Any] = {"right": (right,), "images": (1, 0)}
    exchanged: dict[str, Any] = {"right": (right,), "images": (2, 1)}
    return {
        "original": [ask()],
        "initial": [ask()],
        **of_the_words(ask, own, left, words),
        **of_the_order(ask, own, [own, back, own, back, own]),
        **of_the_labels(ask, 4, "1a1AA"),
        **of_the_image(ask),
        "image_only": [ask("")],
        "vs_s": [ask(**swapped)],
        "vs_e": [ask(**exchanged)],
        **never(*CONVERSATIONS, *STYLES_OWN),
        "vs_s+option_order": [ask(order=back, **swapped)],
        "vs_e+circular": [ask(**exchanged), ask(order=back, **exchanged)],
        "lr_i+vr_l": [ask(look=lighter)],
        "ls_n+vr_l": [ask(not_more, right=(right,), look=lighter)],
        "lr_i+vs_s": [ask(**swapped)],
        "ls_n+vs_s": [ask(not_more, right=(left,), images=(1, 0))],
        "ls_m+vs_e": [ask(fewer, right=(left,), images=(2, 1))],
        "image_only+text_only": [ask("", look=nothing)],
    }


def shapes_text() -> Table:
    told, verbose = "Tell me which colour the triangle has.", LOOKING + "which colour the triangle has?"
    ask = asker(lambda words, _order, _labels: words, "Which colour does the triangle have?", (), (), "")
    return {
        "original": [ask()],
        "initial": [ask()],
        **of_the_words(ask, (), "", {"lr_i": told, "lr_c": "Colour of the triangle?", "lr_v": verbose}),
        **of_the_image(ask),
        **never("option_order", "circular", "shuffled", "labels", "labels_drawn", "image_only", "ls_n+vr_l"),
        **never(*SIDES, *CONVERSATIONS, *STYLES_OWN),
        "tests": [ask()] * 5,
        "lr_i+vr_l": [ask(told, look=disturbed("brighten", 3))],
    }


def shapes_dialog() -> Table:
    """The second question of a conversation."""
    own = ("top right", "top left", "bottom left", "bottom right")
    ask = asker(kostumov, "In which corner is it?", own, (own[2],), "ABCDEF")
    words = {"lr_i": "Tell me in which corner it is.", "lr_v": LOOKING + "in which corner it is?"}
    words["ls_n"] = "In which corner is it not?"
    numbers = [[0, 1, 2, 3], [3, 0, 1, 2], [2, 1, 3, 0], [2, 0, 1, 3], [1, 2, 0, 3]]
    orders = [tuple(own[k] for k in order) for order in numbers]
    first = kostumov("Which colour does the circle have?", ("red", "black", "blue", "purple"), "ABCDEF")
    gold, own_answer = ((first, "D. purple"),), ((first, "{answer 1}"),)
    tests = tuple(f"shapes_dialog-000003/dialogue_tests/{test}" for test in range(1, 6))
    blurred = {"turns": own_answer, "look": disturbed("blur", 5)}
    return {
        "original": [ask()],
        "initial": [ask()],
        **of_the_words(ask, own, own[2], words),
        **of_the_order(ask, own, orders),
        **of_the_labels(ask, 6, "a1Aaa"),
        **of_the_image(ask),
        "image_only": [ask("")],
        "dialogue": [ask(turns=own_answer, earlier=(("shapes_dialog-000003/dialogue",),))],
        "dialogue_tests": [ask(turns=own_answer, order=order, earlier=(tests,)) for order in orders],
        "dialogue_gold": [ask(turns=gold)],
        "dialogue_gold+vr_b": [ask(turns=gold, look=disturbed("blur", 3))],
        "dialogue+vr_b_5": [ask(**blurred, earlier=(("shapes_dialog-000003/dialogue+vr_b_5",),))],
        **never(*SIDES, *STYLES_OWN),
    }


INSTRUCTIONS = (
    "Please analyze the image and the question, then select the correct option.",
    "Take a close look at the image and question, and then choose the correct option.",
    "Examine both the image and the question before selecting the right option.",
    "Carefully analyze the image and question and then pick the correct option.",
    "Evaluate the image and question thoroughly before making your selection.",
)
SAMPLE = "can you see the image? Options: (A) yes; (B) no; (C) not sure; (D) maybe."
BEGUN = "The answer is"


def reform(question: str, own: Texts, labels: str) -> str:
    return " ".join(filter(None, (question, f"Options: {'; '.join(options(own, '({}) {}', labels))}.")))


def shapes_reform() -> Table:
    """The item of `shapes` as ReForm-Eval asks it; it is the fourth, so it has the fourth instruction."""
    yellow, green, blue, red = own = ("yellow", "green", "blue", "red")
    question = "Which colour does the triangle have?"
    bare = partial(asker(reform, question, own, (yellow,), "ABCD"))

    def ask(*words: str, told: int = 3, **changes: Any) -> Asked:
        sample = (f"{INSTRUCTIONS[told]} {SAMPLE}", "The answer is (A) yes")
        return bare(*words, turns=(sample,), response=BEGUN, **changes)

    words = {
        "lr_i": "Tell me which colour the triangle has.",
        "lr_c": "Colour of the triangle?",
        "lr_v": LOOKING + "which colour the triangle has?",
        "ls_n": "Which colour does the triangle not have?",
    }
    orders = [own, (blue, yellow, red, green), (blue, red, green, yellow), (blue, yellow, red, green)]
    orders += [(blue, red, green, yellow)]
    of_tests = [{"order": order, "told": told} for told, order in enumerate(orders)]
    # instructions go round
    of_more = [
        {"order": (red, blue, green, yellow), "told": 0},
        {"order": (yellow, red, green, blue), "told": 1},
    ]
    return {
        "original": [ask()],
        "initial": [ask()],
        **of_the_words(ask, own, yellow, words),
        **of_the_order(ask, own, orders),
        **of_the_labels(ask, 4, "AAaa1"),
        **of_the_image(ask),
        "image_only": [ask("")],
        "instruction": [ask(told=told) for told in range(5)],
        "tests": [ask(**test) for test in of_tests],
        "jpeg+tests": [ask(look=disturbed("jpeg", 3), **test) for test in of_tests],
        "tests_2": [ask(**test) for test in of_tests[:2]],
        "tests_7": [ask(**test) for test in (*of_tests, *of_more)],
        "shuffled_1": [ask(order=orders[0])],
        "no_sample": [bare(f"{INSTRUCTIONS[3]} {question}", response=BEGUN)],
        "no_response": [bare(turns=((f"{INSTRUCTIONS[3]} {SAMPLE}", "(A) yes"),))],
        **never(*SIDES, *CONVERSATIONS),
    }


# dataset -> its loader, its template, the item, and what must come of it
DEMO = {
    "shapes": ("shapes", "kostumov", "shapes-000003", shapes()),
    "shapes_seen": ("shapes", "kostumov", "shapes_seen-000019", shapes_seen()),
    "pairs": ("pairs", "kostumov_joined", "pairs-000001", pairs()),
    "shapes_text": ("shapes_text", "plain", "shapes_text-000008", shapes_text()),
    "shapes_dialog": ("shapes_dialog", "kostumov_spoken", "shapes_dialog-000004", shapes_dialog()),
    "shapes_reform": ("shapes", "reform_vqa", "shapes_reform-000003", shapes_reform()),
}


class Made:
    """A dataset of the demo, cut short, through the stages prepare, rewrite and vary in the present folder."""

    def __init__(self, name: str, loader: str, template: str, variations: Iterable[str]) -> None:
        family, variant = family_of(template)
        entry = {"loader": loader, "source": "vouch/demo/scenes", "settings": {"seed": 20260, "items": 20}}
        params = {
            f"datasets.{name}": {**entry, "template": family, "variant": variant},
            "variations": list(variations),
            "outputs": None,
            "rewrite": {"rewriter": RULES},
        }
        for label, main in (("prepare", prepare), ("rewrite", rewrite), ("vary", vary)):
            run_stage(main, label, name, params)
        self._items = {row["id"]: row for row in ITEMS.read(items_path(name)).to_pylist()}
        self._prompts: list[Row] = PROMPTS.read(prompts_path(name)).to_pylist()
        self._images = ImageStore(images_path(name).absolute())

    def prompts(self, item: str, variation: str) -> list[Row]:
        """Of an item in a variation, in their order."""
        return [row for row in self._prompts if (row["item"], row["variation"]) == (item, variation)]

    def sources(self, item: str) -> list[Image.Image]:
        """The item's images as its source has them, then those to exchange for them; in RGB."""
        row = self._items[item]
        digests = [*row["images"], *filter(None, row["exchange"] or ())]
        return [Image.open(io.BytesIO(self._images.read(digest))).convert("RGB") for digest in digests]

    def shown(self, row: Row) -> list[Image.Image]:
        """What a model gets to see."""
        return [render(recipe, self._images.read) for recipe in row["images"]]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Made]]:
    """A dataset of the demo, made when it is first asked for."""
    folder, before = tmp_path_factory.mktemp("demo"), Path.cwd()
    for name in ("stages", "vouch"):
        (folder / name).symlink_to(ROOT / name)

    @cache
    def made(name: str) -> Made:
        loader, template, _, table = DEMO[name]
        return Made(name, loader, template, table)

    os.chdir(folder)
    yield made
    os.chdir(before)


@pytest.mark.parametrize("dataset", DEMO)
def test_items_of_the_demo(demo: Callable[[str], Made], dataset: str) -> None:
    _, _, item, table = DEMO[dataset]
    made = demo(dataset)
    sources = made.sources(item)
    for variation, expected in table.items():
        rows = made.prompts(item, variation)
        assert [row["text"] for row in rows] == [one.text for one in expected], variation
        for row, one in zip(rows, expected, strict=True):
            assert tuple(row["options"][place] for place in row["answers"]) == one.right, variation
            assert [(turn["question"], turn["answer"]) for turn in row["turns"]] == list(one.turns), variation
            assert row["response"] == one.response, variation
            assert [tuple(ids) for ids in row["earlier"]] == list(one.earlier), variation
            wanted = one.look([sources[place] for place in one.images])
            assert pixel_digest(made.shown(row)) == pixel_digest(wanted), variation
            assert row["outputs"], "a model is asked"


def test_parc_blurs_brightens_and_rotates() -> None:
    """Its visual reformulations (section 2.1); the paper prints no strengths."""
    made = {name: one.operation for name, one in declared().items() if one.family == "VR"}
    assert made == {"vr_b": "blur", "vr_l": "brighten", "vr_r": "rotate"}


def test_every_variation_has_a_line_for_every_item() -> None:
    for name, (_, _, _, table) in DEMO.items():
        missing = NAMES - set(table)
        assert not missing, f"{name} above: add what {missing} must give, or `never`"
    shown = {name for *_, table in DEMO.values() for name, asked in table.items() if asked}
    assert shown >= NAMES, "each is shown where it applies"
