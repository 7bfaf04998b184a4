"""Variations that disturb the pictures of an item, each by itself, and leave its words alone."""

from vouch.prompts.build.variation import Draft, Picture, Step, changed

LEVELS = 5  # of severity, see vouch/images/operations.py
DEFAULT_LEVEL = 3


def disturbed(draft: Draft, step: Step) -> Draft | None:
    """The draft with every picture put through an operation; None without a picture."""
    if not draft.pictures:
        return None
    pictures = [Picture(image, (*steps, step)) for image, steps in draft.pictures]
    return changed(draft, pictures=tuple(pictures))
