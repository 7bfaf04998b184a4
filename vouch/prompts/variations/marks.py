"""marks: three prompts, whose options are called a, b, c; 1, 2, 3; and A, B, C.

ReForm-Eval (Li et al. 2023) measures so how much of a model's instability comes from the marks. It draws
them; here each alphabet has its turn.
"""

from vouch.prompts.build.style import MARKS
from vouch.prompts.build.variation import STYLE, Draft, changed
from vouch.tables.prompts import KEPT

CHANGES = (STYLE,)
EFFECT = KEPT
FAMILY = ""
ALPHABETS = ("lower", "digits", "upper")


def vary(draft: Draft) -> list[Draft] | None:
    """None without options, where the style shows none, and where there are more than nine."""
    style, own = draft.style, len(draft.order)
    if not own or not style.shows_options or own + len(style.added_to(own)) > len(MARKS["digits"]):
        return None
    return [changed(draft, style=style.changed(marks=marks)) for marks in ALPHABETS]
