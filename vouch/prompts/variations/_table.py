"""Variations that a line or two make: no files of their own.

They put pictures through an operation (its strengths: vouch/images/operations.py), ask the question in the
words of a kind of rewrite (vouch/tables/asked.py), order the options, or leave something out.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from vouch.prompts.build.template import MARKS
from vouch.prompts.build.variation import ORDER, PICTURES, TEMPLATE, WORDS, Draft, Kind, Picture, Step
from vouch.tables.asked import COMPLEMENT, KEPT

LEVELS, DEFAULT_LEVEL = 5, 3  # of severity


def disturbed(operation: str, draft: Draft, level: int = 0) -> Draft | None:
    """Every picture put through an operation, each by itself; None without a picture."""
    if not draft.pictures:
        return None
    step = Step(operation, level)
    return draft._replace(pictures=tuple([Picture(image, (*steps, step)) for image, steps in draft.pictures]))


def reworded(kind: str, draft: Draft) -> Draft | None:
    """The question in the words of the rewrites table; None where it has none that may be asked."""
    text = draft.item.rewrites.get(kind)
    return None if text is None else draft._replace(item=replace(draft.item, question=text))


def _in_turn(draft: Draft) -> list[Draft] | None:
    """The item's own options in every rotation, the source's order first; None with fewer than two.

    Options that the template adds stay last, as they do in every other order.
    """
    order = draft.order
    if len(order) < 2:
        return None
    return [draft._replace(order=order[first:] + order[:first]) for first in range(len(order))]


def _reversed(draft: Draft) -> Draft | None:
    """The item's own options in reversed order; None with fewer than two."""
    return draft._replace(order=draft.order[::-1]) if len(draft.order) > 1 else None


def _without_pictures(draft: Draft) -> Draft | None:
    """The same words without a picture, and asked all the same; None where there was none."""
    return draft._replace(pictures=()) if draft.pictures else None


def _without_question(draft: Draft) -> Draft | None:
    """Pictures and options alone; None without either: nothing would be left.

    With the pictures taken away as well (`image_only+text_only`) the options stand alone.
    """
    if not draft.item.images or not draft.order:
        return None
    return draft._replace(item=replace(draft.item, question="", hint=None))


def _without_sample(draft: Draft) -> Draft | None:
    """None where the template shows no example, and for open questions, which get none."""
    if draft.template.sample is None or draft.item.kind != "choice":
        return None
    return draft._replace(template=draft.template.changed(sample=None))


def _without_response(draft: Draft) -> Draft | None:
    """The example's answer begins without it as well; None where the template begins no answer."""
    if draft.template.response is None:
        return None
    return draft._replace(template=draft.template.changed(response=None))


def _in_alphabets(draft: Draft) -> list[Draft] | None:
    """None without options, where the template shows none, and where there are more than nine."""
    template, own = draft.template, len(draft.order)
    if not own or not template.shows_options or own + len(template.added_to(own)) > len(MARKS["digits"]):
        return None
    return [draft._replace(template=template.changed(marks=marks)) for marks in ("lower", "digits", "upper")]


def _plain(changes: str, vary: Callable[[Draft], Draft | Sequence[Draft] | None]) -> Kind:
    return Kind((changes,), KEPT, "", vary)


def _pictures(operation: str, family: str = "", levels: int = 0) -> Kind:
    return Kind((PICTURES,), KEPT, family, partial(disturbed, operation), levels, DEFAULT_LEVEL)


def _words(kind: str, effect: str, family: str) -> Kind:
    return Kind((WORDS,), effect, family, partial(reworded, kind))


TABLE: Mapping[str, Kind] = {
    "original": Kind(
        (), KEPT, "", lambda draft: draft
    ),  # the item as its source has it: every other's baseline
    "circular": _plain(ORDER, _in_turn),
    "option_order": _plain(ORDER, _reversed),
    # ReForm-Eval (Li et al. 2023) measures so how much instability comes from the marks. It draws them; here
    # each alphabet has its turn.
    "marks": _plain(TEMPLATE, _in_alphabets),
    "no_sample": _plain(
        TEMPLATE, _without_sample
    ),  # without the exchange that a template shows before the question
    "no_response": _plain(
        TEMPLATE, _without_response
    ),  # where a template begins the answer (`The answer is`)
    # controls: what is left to answer by
    "text_only": _plain(PICTURES, _without_pictures),
    "image_only": _plain(WORDS, _without_question),
    "blank": _pictures("blank"),  # a control: grey sheets of their sizes, so only words are left to answer by
    "jpeg": _pictures("jpeg", levels=LEVELS),  # compressed and decoded again, at the qualities of ImageNet-C
    # corruptions of ImageNet-C (Hendrycks and Dietterich 2019), vouch/images/operations.py
    "contrast": _pictures("contrast", levels=LEVELS),
    "fog": _pictures("fog", levels=LEVELS),
    "motion": _pictures("motion", levels=LEVELS),
    "noise": _pictures("noise", levels=LEVELS),
    "pixelate": _pictures("pixelate", levels=LEVELS),
    # of PARC (Schmalfuss et al. 2025)
    "vr_b": _pictures("blur", "VR", LEVELS),
    "vr_l": _pictures("brighten", "VR", LEVELS),
    # By 90 degrees clockwise. It takes the answer to be the same afterwards. Questions about places in the
    # picture (`in which corner`) get another one, and no item says that it is one: not for such datasets.
    "vr_r": _pictures("rotate", "VR"),
    "lr_c": _words("lr_c", KEPT, "LR"),  # the question in fewer words
    "lr_i": _words("lr_i", KEPT, "LR"),  # as an instruction
    "lr_v": _words("lr_v", KEPT, "LR"),  # in more words
    "ls_a": _words("ls_a", COMPLEMENT, "LS"),  # a word switched for its antonym
    "ls_m": _words("ls_m", COMPLEMENT, "LS"),  # `more` switched for `less` or `fewer`
    "ls_n": _words("ls_n", COMPLEMENT, "LS"),  # negated with `not`
}
