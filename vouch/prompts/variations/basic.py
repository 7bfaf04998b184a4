"""Variations that take a line or two.

They put images through an operation (vouch/images/operations.py has its strengths), ask the question in the
words of a rewrite (vouch/tables/asked.py has the kinds), reverse the options, or leave something out.
"""

from dataclasses import replace
from functools import partial

from vouch.prompts.draft import IMAGES, ORDER, TEMPLATE, WORDS, Draft, ShownImage, Step
from vouch.prompts.variations import variation
from vouch.tables.asked import COMPLEMENT, INITIAL, KEPT

NO_IMAGE = "items without an image"
NO_REWRITE = "questions without such a rewrite"
ONE_ORDER = "fewer than two options, options that [name others](#limits-of-a-variation)"


@variation("original", "", does="nothing: the item as its source has it", changes=())
def _original(draft: Draft) -> Draft:
    """The baseline for every other variation."""
    return draft


@variation(
    "option_order",
    "options in reversed order",
    does="the item's own options in reversed order",
    skips=ONE_ORDER,
    changes=ORDER,
)
def _reversed(draft: Draft) -> Draft | None:
    return draft._replace(order=draft.order[::-1]) if len(draft.order) > 1 else None


@variation(
    INITIAL,
    "all questions, those that `rows` leaves out as well",
    does="nothing; also asked of items that `rows: exchangeable` [leaves out](#exchanged-images)",
    changes=(),
)
def _of_every_row(draft: Draft) -> Draft:
    """Tells how much harder or easier the items that `rows` keeps are (Table A5 of PARC)."""
    return draft


# Images


def disturbed(operation: str, draft: Draft, level: int = 0) -> Draft | None:
    """The draft with an operation applied to each of its images; None if it has no image."""
    if not draft.images:
        return None
    step = Step(operation, level)
    return draft._replace(images=tuple([ShownImage(image, (*steps, step)) for image, steps in draft.images]))


def _every_image(
    name: str,
    label: str,
    operation: str,
    does: str,
    *,
    levels: int = 0,
    family: str = "",
    control: bool = False,
) -> None:
    declare = variation(
        *(name, label),
        changes=IMAGES,
        does=does,
        skips=NO_IMAGE,
        family=family,
        levels=levels,
        default_level=min(levels, 3),
        control=control,
        operation=operation,
    )
    declare(partial(disturbed, operation))


# In five strengths: those of ImageNet-C (Hendrycks and Dietterich 2019), or of the operation's own table
_corruption = partial(_every_image, levels=5)
_corruption("vr_b", "images blurred", "blur", "every image blurred", family="VR")
_corruption("vr_l", "images brightened", "brighten", "every image brightened", family="VR")
_corruption("jpeg", "JPEG compression", "jpeg", "every image compressed")
_corruption("noise", "images with noise", "noise", "every image with noise, as in ImageNet-C")
_corruption("motion", "images blurred by motion", "motion", "every image blurred by motion, as there")
_corruption("contrast", "images with less contrast", "contrast", "every image with less contrast, as there")
_corruption("pixelate", "images of fewer pixels", "pixelate", "every image of fewer pixels, as there")
_corruption("fog", "images in fog", "fog", "every image in fog, as there")
# The answer is taken to stay the same. This is wrong for questions about directions in the image, and no
# item says that it asks one (`in which corner`): do not use it for datasets with such questions.
_every_image(
    *("vr_r", "images rotated by 90°", "rotate", "every image rotated by 90 degrees clockwise"), family="VR"
)
_every_image(
    "blank", "images blank", "blank", "a grey image of the same size in place of every image", control=True
)


@variation(
    "text_only",
    "question without its images",
    does="images are removed, the words stay",
    skips=NO_IMAGE,
    changes=IMAGES,
    control=True,
)
def _without_images(draft: Draft) -> Draft | None:
    """The same words without an image; they are asked nevertheless."""
    return draft._replace(images=()) if draft.images else None


# Words


@variation(
    "image_only",
    "images and options without the question",
    does="question and hint are removed, images and options stay",
    skips="items without an image, open questions",
    changes=WORDS,
    control=True,
)
def _without_question(draft: Draft) -> Draft | None:
    """None if there are no images or no options, because nothing to answer would be left.

    If the images are taken away as well (`image_only+text_only`), only the options are left.
    """
    if not draft.item.images or not draft.order:
        return None
    return draft._replace(item=replace(draft.item, question="", hint=None))


def reworded(kind: str, draft: Draft) -> Draft | None:
    """The question in the words of the rewrites table; None if the table has no rewrite that may be asked."""
    text = draft.item.rewrites.get(kind)
    return None if text is None else draft._replace(item=replace(draft.item, question=text))


def _rewrite(kind: str, label: str, does: str, effect: str = KEPT) -> None:
    family = kind[:2].upper()
    skips = NO_REWRITE if effect == KEPT else f"{NO_REWRITE}, open questions"
    declare = variation(
        kind, label, does=f"{does} ([rewrites](rewrites.md))", skips=skips, changes=WORDS, effect=effect,
        family=family,
    )  # fmt: skip
    declare(partial(reworded, kind))


_rewrite("lr_c", "concise question", "the question in fewer words")
_rewrite("lr_i", "question as an instruction", "the question as an instruction")
_rewrite("lr_v", "verbose question", "the question in more words")
_rewrite("ls_a", "question negated by an antonym", "a word replaced by its antonym", COMPLEMENT)
_rewrite("ls_m", "`more` replaced by `less`", "`less` or `fewer` in place of `more`", COMPLEMENT)
_rewrite("ls_n", "negated question", "the question negated with `not`", COMPLEMENT)


# Template


@variation(
    "no_sample",
    "no in-context sample",
    does="without the example that the template shows before the question",
    skips="templates without an example, open questions, which get none",
    changes=TEMPLATE,
)
def _without_sample(draft: Draft) -> Draft | None:
    if draft.template.sample is None or draft.item.kind != "choice":
        return None
    return draft._replace(template=draft.template.changed(sample=None))


@variation(
    "no_response",
    "no prefix of the answer",
    does="without the words with which the template begins the answer, also in its example",
    skips="templates that begin no answer",
    changes=TEMPLATE,
)
def _without_response(draft: Draft) -> Draft | None:
    if draft.template.response is None:
        return None
    return draft._replace(template=draft.template.changed(response=None))
