"""no_response: the assistant begins the answer itself, where a template begins it (`The answer is`)."""

from vouch.prompts.build.variation import TEMPLATE, Draft
from vouch.tables.prompts import KEPT

CHANGES, EFFECT, FAMILY = (TEMPLATE,), KEPT, ""


def vary(draft: Draft) -> Draft | None:
    """The sample's answer begins without it as well; None where the template begins no answer."""
    if draft.template.response is None:
        return None
    return draft._replace(template=draft.template.changed(response=None))
