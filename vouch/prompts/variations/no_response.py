"""no_response: the assistant begins the answer itself, where a template begins it (`The answer is`)."""

from dataclasses import replace

from vouch.prompts.build.variation import STYLE, Draft
from vouch.tables.prompts import KEPT

CHANGES = (STYLE,)
EFFECT = KEPT
FAMILY = ""


def vary(draft: Draft) -> Draft | None:
    """The sample's answer begins without it as well; None where the template begins no answer."""
    if draft.template.response is None:
        return None
    return replace(draft, template=draft.template.changed(response=None))
