"""How the pictures of a prompt are made of those of its item."""

from collections.abc import Sequence
from typing import Any

from vouch.pipeline.errors import UserError
from vouch.prompts.build.template import JOINING
from vouch.prompts.build.variation import Draft, Step

Recipe = tuple[tuple[Any, ...], tuple[Step, ...]]
"""Images, by their digests or what stands for these, and what is done to them."""


def recipes(draft: Draft, item: str) -> Sequence[Recipe]:
    """One for each picture that is shown. item: its id. Raises UserError.

    Two pictures become one in a template that joins them, each with its own steps done before.
    """
    pictures = draft.pictures
    join = JOINING.get(draft.template.pictures)
    if join is None or len(pictures) != 2:
        return [((picture.image,), picture.steps) for picture in pictures]
    first, second = pictures
    if first.steps != second.steps:
        raise UserError(
            f"item {item}: variation {draft.variation} disturbs two pictures differently, which cannot be "
            "joined; use a template with `pictures: first`"
        )
    return [((first.image, second.image), (*first.steps, Step(join)))]
