"""no_sample: without the exchange that a template shows before the question."""

from vouch.prompts.build.variation import TEMPLATE, Draft
from vouch.tables.prompts import KEPT

CHANGES, EFFECT, FAMILY = (TEMPLATE,), KEPT, ""


def vary(draft: Draft) -> Draft | None:
    """None where the template shows no such exchange, and for open questions, which get none."""
    if draft.template.sample is None or draft.item.kind != "choice":
        return None
    return draft._replace(template=draft.template.changed(sample=None))
