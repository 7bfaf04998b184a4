"""no_sample: without the exchange that a template shows before the question."""

from dataclasses import replace

from vouch.prompts.build.variation import STYLE, Draft
from vouch.tables.prompts import KEPT

CHANGES = (STYLE,)
EFFECT = KEPT
FAMILY = ""


def vary(draft: Draft) -> Draft | None:
    """None where the template shows no such exchange, and for open questions, which get none."""
    if draft.template.sample is None or draft.item.kind != "choice":
        return None
    return replace(draft, template=draft.template.changed(sample=None))
