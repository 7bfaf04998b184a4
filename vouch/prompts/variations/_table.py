"""Variations that differ from others only by a name or a number: a line each, in place of a file.

They put pictures through an operation (its strengths: vouch/images/operations.py), or ask the question in the
words of a kind of rewrite (vouch/tables/rewrites.py).
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from vouch.prompts.build.variation import PICTURES, WORDS, Draft, Kind, Picture, Step
from vouch.tables.prompts import COMPLEMENT, KEPT

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


def _pictures(operation: str, family: str = "", levels: int = 0) -> Kind:
    return Kind((PICTURES,), KEPT, family, partial(disturbed, operation), levels, DEFAULT_LEVEL)


def _words(kind: str, effect: str, family: str) -> Kind:
    return Kind((WORDS,), effect, family, partial(reworded, kind))


TABLE: Mapping[str, Kind] = {
    "blank": _pictures("blank"),  # a control: grey sheets of their sizes, so only words are left to answer by
    "jpeg": _pictures("jpeg", levels=LEVELS),  # compressed and decoded again, at the qualities of ImageNet-C
    # corruptions of ImageNet-C (Hendrycks and Dietterich 2019), vouch/images/corruptions.py
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
