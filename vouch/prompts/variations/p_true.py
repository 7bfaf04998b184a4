"""p_true: the model is asked whether its own answer to `original` is true (Kadavath et al. 2022).

Two prompts, with True first and with False first: in their mean (vouch/metrics/text/scoring.py) a preference
for a letter cancels. The words are ours: the answer stands where the model gave it, and the question follows.
"""

from dataclasses import replace

from vouch.prompts.build.variation import PARTS, Draft, prompt_id
from vouch.prompts.variations.dialogue import after_response
from vouch.tables.asked import LETTERS, ORIGINAL, OWN

CHANGES, EFFECT, FAMILY = PARTS, OWN, ""
QUESTION = "Is this answer true or false?"
BODY = "{question}\n{options}\nAnswer with the option's letter from the given choices directly."


def vary(draft: Draft) -> list[Draft] | None:
    """None where the item is not asked."""
    if not draft.asked:
        return None
    own = draft.template
    template = own.changed(body=BODY, pad_to=2, sample=None, outputs=(LETTERS,))
    item = replace(draft.item, question=QUESTION, options=("True", "False"), kind="choice")
    asked = draft._replace(
        item=item,
        template=template,
        turns=((draft, after_response(own, "{answer 1}")),),
        earlier=((prompt_id(item.id, ORIGINAL),),),
    )
    return [asked._replace(order=order) for order in ((0, 1), (1, 0))]
