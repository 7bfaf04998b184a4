"""marks: three prompts, whose options are called a, b, c; 1, 2, 3; and A, B, C.

ReForm-Eval (Li et al. 2023) measures so how much of a model's instability comes from the marks. It draws
them; here each alphabet has its turn.
"""

from vouch.prompts.build.template import MARKS
from vouch.prompts.build.variation import TEMPLATE, Draft
from vouch.tables.prompts import KEPT

CHANGES, EFFECT, FAMILY = (TEMPLATE,), KEPT, ""
ALPHABETS = ("lower", "digits", "upper")


def vary(draft: Draft) -> list[Draft] | None:
    """None without options, where the template shows none, and where there are more than nine."""
    template, own = draft.template, len(draft.order)
    if not own or not template.shows_options or own + len(template.added_to(own)) > len(MARKS["digits"]):
        return None
    return [draft._replace(template=template.changed(marks=marks)) for marks in ALPHABETS]
