"""What every variation must make of items of the demo's datasets."""

from typing import Any

from tests.prompts.every.expected import (
    CONVERSATIONS,
    SIDES,
    STYLES_OWN,
    Asked,
    Look,
    Table,
    Texts,
    blurred,
    compressed,
    joined,
    kostumov,
    lighter,
    never,
    nothing,
    of_the_marks,
    of_the_order,
    of_the_picture,
    of_the_words,
    options,
    same,
)
from tests.prompts.rows import family_of

LOOKING = "Looking carefully at what is shown, could you please tell me "


def shapes() -> Table:
    yellow, green, blue, red = own = ("yellow", "green", "blue", "red")
    question, told = "Which colour does the triangle have?", "Tell me which colour the triangle has."
    lacks = "Which colour does the triangle not have?"

    def ask(
        words: str = question,
        order: Texts = own,
        right: Texts = (yellow,),
        look: Look = same,
        labels: str = "ABCDEF",
    ) -> Asked:
        return Asked(kostumov(words, order, labels), right, look)

    assert ask().text == (
        "Which colour does the triangle have?\nA. yellow\nB. green\nC. blue\nD. red\nE. I don’t know\n"
        "F. None of the above\nAnswer with the option's letter from the given choices directly."
    ), "a whole layout in plain sight"
    words = {"lr_i": told, "lr_c": "Colour of the triangle?", "ls_n": lacks}
    orders = [(blue, red, green, yellow), (red, green, blue, yellow), (red, yellow, green, blue)]
    orders += [(green, red, yellow, blue), (green, blue, yellow, red)]
    return {
        "original": [ask()],
        **of_the_words(ask, own, yellow, {**words, "lr_v": LOOKING + "which colour the triangle has?"}),
        **of_the_order(ask, own, orders),
        **of_the_marks(ask, 6),
        **of_the_picture(ask, range(1, 6)),
        "image_only": [ask("")],
        **never(*SIDES, *CONVERSATIONS, *STYLES_OWN, "lr_i+vs_s", "ls_n+vs_s"),
        "option_order+vr_b_5": [ask(order=(red, blue, green, yellow), look=blurred(5))],
        "lr_i+vr_l": [ask(told, look=lighter(3))],
        "ls_n+vr_l": [ask(lacks, right=(green, blue, red), look=lighter(3))],
        "image_only+text_only": [ask("", look=nothing)],
    }


def shapes_seen() -> Table:
    """A question with an antonym."""
    own = ("black triangle", "purple square", "blue circle", "green triangle")
    question, right = "Which of these is in the picture?", "blue circle"

    def ask(
        words: str = question,
        order: Texts = own,
        right: Texts = (right,),
        look: Look = same,
        labels: str = "ABCDEF",
    ) -> Asked:
        return Asked(kostumov(words, order, labels), right, look)

    words = {
        "lr_i": "Tell me which of these is in the picture.",
        "lr_v": LOOKING + "which of these is in the picture?",
        "ls_n": "Which of these is not in the picture?",
        "ls_a": "Which of these is missing from the picture?",
    }
    orders = [[0, 2, 3, 1], [2, 0, 1, 3], [2, 1, 3, 0], [2, 0, 1, 3], [0, 3, 1, 2]]
    return {
        "original": [ask()],
        **of_the_words(ask, own, right, words),
        **of_the_order(ask, own, [tuple(own[k] for k in order) for order in orders]),
        **of_the_marks(ask, 6),
        **of_the_picture(ask),
        "image_only": [ask("")],
        **never(*SIDES, *CONVERSATIONS, *STYLES_OWN),
    }


def pairs() -> Table:
    left, right = own = ("Left", "Right")
    question, not_more = "Name the side with more squares.", "Name the side that does not have more squares."
    fewer = "Name the side with fewer squares."

    def ask(
        words: str = question,
        order: Texts = own,
        right: Texts = (left,),
        look: Look = same,
        labels: str = "ABCD",
        images: tuple[int, ...] = (0, 1),
    ) -> Asked:
        return Asked(kostumov(words, order, labels), right, look if look is nothing else joined(look), images)

    words = {"lr_i": question, "lr_c": "Side with more squares?", "ls_n": not_more, "ls_m": fewer}
    words["lr_v"] = "Please look carefully at what is shown and name the side with more squares."
    back: Texts = (right, left)
    swapped: dict[str, Any] = {"right": (right,), "images": (1, 0)}
    exchanged: dict[str, Any] = {"right": (right,), "images": (2, 1)}
    return {
        "original": [ask()],
        **of_the_words(ask, own, left, words),
        **of_the_order(ask, own, [own, back, own, back, own]),
        **of_the_marks(ask, 4),
        **of_the_picture(ask),
        "image_only": [ask("")],
        "vs_s": [ask(**swapped)],
        "vs_e": [ask(**exchanged)],
        **never(*CONVERSATIONS, *STYLES_OWN),
        "vs_s+option_order": [ask(order=back, **swapped)],
        "vs_e+circular": [ask(**exchanged), ask(order=back, **exchanged)],
        "lr_i+vr_l": [ask(look=lighter(3))],
        "ls_n+vr_l": [ask(not_more, right=(right,), look=lighter(3))],
        "lr_i+vs_s": [ask(**swapped)],
        "ls_n+vs_s": [ask(not_more, right=(left,), images=(1, 0))],
        "ls_m+vs_e": [ask(fewer, right=(left,), images=(2, 1))],
        "image_only+text_only": [ask("", look=nothing)],
    }


def shapes_text() -> Table:
    told = "Tell me which colour the triangle has."

    def ask(
        words: str = "Which colour does the triangle have?", right: Texts = (), look: Look = same
    ) -> Asked:
        return Asked(words, (), look)

    words = {
        "lr_i": told,
        "lr_c": "Colour of the triangle?",
        "lr_v": LOOKING + "which colour the triangle has?",
    }
    return {
        "original": [ask()],
        **of_the_words(ask, (), "", words),
        **of_the_picture(ask),
        **never("option_order", "circular", "shuffled", "labels", "image_only", "ls_n+vr_l"),
        **never(*SIDES, *CONVERSATIONS, *STYLES_OWN),
        "tests": [ask()] * 5,
        "lr_i+vr_l": [ask(told, look=lighter(3))],
    }


def shapes_dialog() -> Table:
    """The second question of a conversation."""
    own = ("top right", "top left", "bottom left", "bottom right")
    right = own[2]

    def ask(
        words: str = "In which corner is it?",
        order: Texts = own,
        right: Texts = (right,),
        look: Look = same,
        labels: str = "ABCDEF",
        **more: Any,
    ) -> Asked:
        return Asked(kostumov(words, order, labels), right, look, **more)

    words = {"lr_i": "Tell me in which corner it is.", "lr_v": LOOKING + "in which corner it is?"}
    words["ls_n"] = "In which corner is it not?"
    orders = [[0, 1, 2, 3], [3, 0, 1, 2], [2, 1, 3, 0], [2, 0, 1, 3], [1, 2, 0, 3]]
    first = kostumov("Which colour does the circle have?", ("red", "black", "blue", "purple"))
    gold = ((first, "D. purple"),)
    own_answer = ((first, "{answer 1}"),)
    return {
        "original": [ask()],
        **of_the_words(ask, own, right, words),
        **of_the_order(ask, own, [tuple(own[k] for k in order) for order in orders]),
        **of_the_marks(ask, 6),
        **of_the_picture(ask),
        "image_only": [ask("")],
        "dialogue": [ask(turns=own_answer, earlier=(("shapes_dialog-000003/dialogue",),))],
        "dialogue_gold": [ask(turns=gold)],
        "dialogue_gold+vr_b": [ask(turns=gold, look=blurred(3))],
        "dialogue+vr_b_5": [
            ask(turns=own_answer, look=blurred(5), earlier=(("shapes_dialog-000003/dialogue+vr_b_5",),))
        ],
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


def shapes_reform() -> Table:
    """The item of `shapes` as ReForm-Eval asks it; it is the fourth, so it has the fourth instruction."""
    yellow, green, blue, red = own = ("yellow", "green", "blue", "red")
    question = "Which colour does the triangle have?"

    def ask(
        words: str = question,
        order: Texts = own,
        right: Texts = (yellow,),
        look: Look = same,
        labels: str = "ABCD",
        told: int = 3,
    ) -> Asked:
        shown = f"Options: {'; '.join(options(order, '({}) {}', labels))}."
        sample = (f"{INSTRUCTIONS[told]} {SAMPLE}", "The answer is (A) yes")
        return Asked(f"{words} {shown}" if words else shown, right, look, turns=(sample,), response=BEGUN)

    words = {
        "lr_i": "Tell me which colour the triangle has.",
        "lr_c": "Colour of the triangle?",
        "lr_v": LOOKING + "which colour the triangle has?",
        "ls_n": "Which colour does the triangle not have?",
    }
    orders = [own, (blue, yellow, red, green), (blue, red, green, yellow), (blue, yellow, red, green)]
    orders += [(blue, red, green, yellow)]
    plain = f"{question} Options: (A) yellow; (B) green; (C) blue; (D) red."
    of_tests = [(order, told) for told, order in enumerate(orders)]
    of_more = [((red, blue, green, yellow), 0), ((yellow, red, green, blue), 1)]  # instructions go round
    return {
        "original": [ask()],
        **of_the_words(ask, own, yellow, words),
        **of_the_order(ask, own, orders),
        **of_the_marks(ask, 4),
        **of_the_picture(ask),
        "image_only": [ask("")],
        "instruction": [ask(told=told) for told in range(5)],
        "tests": [ask(order=order, told=told) for order, told in of_tests],
        "jpeg+tests": [ask(order=order, told=told, look=compressed(3)) for order, told in of_tests],
        "tests_2": [ask(order=order, told=told) for order, told in of_tests[:2]],
        "tests_7": [ask(order=order, told=told) for order, told in [*of_tests, *of_more]],
        "shuffled_1": [ask(order=orders[0])],
        "no_sample": [Asked(f"{INSTRUCTIONS[3]} {plain}", (yellow,), response=BEGUN)],
        "no_response": [Asked(plain, (yellow,), turns=((f"{INSTRUCTIONS[3]} {SAMPLE}", "(A) yes"),))],
        **never(*SIDES, *CONVERSATIONS),
    }


def _entry(loader: str, template: str) -> dict[str, Any]:
    """A dataset of params.yaml: the demo's own, cut short."""
    settings = {"seed": 20260, "items": 20}
    family, variant = family_of(template)
    look = {"template": family, "variant": variant}
    return {"loader": loader, "source": "vouch/demo/scenes", "settings": settings, **look}


# dataset -> its entry, the item, and what must come of it
DEMO = {
    "shapes": (_entry("shapes", "kostumov"), "shapes-000003", shapes()),
    "shapes_seen": (_entry("shapes", "kostumov"), "shapes_seen-000019", shapes_seen()),
    "pairs": (_entry("pairs", "kostumov_joined"), "pairs-000001", pairs()),
    "shapes_text": (_entry("shapes_text", "plain"), "shapes_text-000008", shapes_text()),
    "shapes_dialog": (_entry("shapes_dialog", "kostumov_spoken"), "shapes_dialog-000004", shapes_dialog()),
    "shapes_reform": (_entry("shapes", "reform_vqa"), "shapes_reform-000003", shapes_reform()),
}
