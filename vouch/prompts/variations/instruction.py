"""instruction: one prompt for each wording of the instruction, or of the question; options keep their order.

ReForm-Eval (Li et al. 2023) measures so how much of a model's instability comes from the instruction.
"""

from dataclasses import replace

from vouch.prompts.build.variation import TEMPLATE, WORDS, Draft
from vouch.tables.asked import KEPT

CHANGES, EFFECT, FAMILY = (WORDS, TEMPLATE), KEPT, ""


def vary(draft: Draft) -> list[Draft] | None:
    """Prompt k has the k-th wording; None where there is but one."""
    count = max(len(draft.template.instructions), len(draft.item.phrasings))
    return [worded(draft, test) for test in range(1, count + 1)] if count > 1 else None


def worded(draft: Draft, test: int) -> Draft:
    """The wordings of a test, from 1; they go round where there are fewer."""
    item, template = draft.item, draft.template
    if not item.phrasings and not template.instructions:
        return draft
    if item.phrasings:
        item = replace(item, question=item.phrasings[(test - 1) % len(item.phrasings)])
    if template.instructions:
        chosen = template.instructions[(test - 1) % len(template.instructions)]
        template = template.changed(instructions=(chosen,))
    return draft._replace(item=item, template=template)
