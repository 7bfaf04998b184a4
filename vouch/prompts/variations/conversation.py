"""Variations that show earlier turns: of the item's conversation, or the model's own answer to the item.

`dialogue` repeats the model's answers word by word, so the template's `outputs` must ask for text. Its
earlier prompts are those of the same variation: each answer was given after the ones before it.
`dialogue_tests`, which repeats options, is in several.py. `p_true` is from Kadavath et al. (2022); its words
are ours."""

from collections.abc import Callable
from dataclasses import replace

from vouch.prompts.draft import ORDER, PARTS, TEMPLATE, TURNS, WORDS, Draft, prompt_id, start
from vouch.prompts.template import LABELS, Template
from vouch.prompts.variations import variation
from vouch.tables.asked import LETTERS, ORIGINAL, OWN
from vouch.tables.marks import in_words

# Earlier turns are shown as their items have them: nobody has a conversation of which half is reworded.
CONVERSATION = (TURNS, WORDS, ORDER, TEMPLATE)
QUESTION = "Is this answer true or false?"
BODY = "{question}\n{options}\nAnswer with the option's letter from the given choices directly."
_OPENING = "([{\"'"


@variation(
    "dialogue",
    "dialogue with the model's own earlier answers",
    does="the earlier questions of the conversation come first, with the model's own answers",
    skips="items in no conversation",
    changes=CONVERSATION,
)
def _with_own_answers(draft: Draft) -> Draft | None:
    """None also if the item is not asked, or a turn is about other images."""
    changed = conversation(draft, lambda number, _: f"{{answer {number}}}")
    if changed is None or not draft.asked:
        return None
    return changed._replace(
        earlier=tuple((prompt_id(turn.id, draft.variation),) for turn in draft.item.turns)
    )


@variation(
    "dialogue_gold",
    "dialogue with correct earlier answers",
    does="the same with the correct answers",
    skips="items in no conversation",
    changes=CONVERSATION,
)
def _with_correct_answers(draft: Draft) -> Draft | None:
    """None also if a turn is about other images or has no known answer."""
    return conversation(draft, lambda _, turn: correct_answer(turn))


def conversation(draft: Draft, answer: Callable[[int, Draft], str | None]) -> Draft | None:
    """The draft with its item's earlier turns; an item that opens a conversation stays as it is.

    answer: gives the answer to turn k (from 1), from k and its draft, or None. Returns None if the item
    is in no conversation, a turn is about other images or is not asked, or a turn has no answer."""
    item = draft.item
    if not item.turns and not item.goes_on:
        return None
    if any(not turn.kept or turn.images != item.images for turn in item.turns):
        return None
    asked = [start(turn, draft.template, draft.variation) for turn in item.turns]
    answers = [answer(number, turn) for number, turn in enumerate(asked, start=1)]
    turns = [
        (turn, after_response(draft.template, text))
        for turn, text in zip(asked, answers, strict=True)
        if text is not None
    ]
    return draft._replace(turns=tuple(turns)) if len(turns) == len(asked) else None


def after_response(template: Template, answer: str) -> str:
    """An answer, after the words with which the template begins every answer."""
    begun = template.response or ""
    gap = "" if not begun or begun[-1].isspace() or begun[-1] in _OPENING else " "
    return f"{begun}{gap}{answer}".strip()


def correct_answer(draft: Draft) -> str | None:
    """The first correct answer, None if there is none: the option as the template shows it, its text if the
    template shows no options, or a reference.
    """
    item = draft.item
    if item.kind != "choice":
        return next(iter(item.references), None)
    shown = repeated_options(draft)
    return next((shown[index] for index in draft.order[: len(shown)] if index in item.answers), None)


def repeated_options(draft: Draft) -> tuple[str, ...]:
    """The item's options as an answer repeats them, in the item's own order: as the template shows them, or
    their texts if it shows no options. Empty for an open question."""
    item, template = draft.item, draft.template
    if item.kind != "choice":
        return ()
    texts = list(map(in_words, item.options))
    if not template.shows_options:
        return tuple(texts)
    labels = LABELS[template.labels]
    return tuple(
        template.option.format(label=label, text=text) for label, text in zip(labels, texts, strict=False)
    )


@variation(
    "p_true",
    "model asked whether its own answer is true",
    does="the model's own answer to `original` comes first, then: is it true or false? Two prompts, one for "
    "each order of the two; asked for letters ([beyond](beyond.md#semantic-entropy))",
    skips="items with neither an image nor a question",
    changes=PARTS,
    effect=OWN,
)
def _about_own_answer(draft: Draft) -> list[Draft] | None:
    """A preference for a letter cancels out in the mean of the two (vouch/metrics/text/scoring.py)."""
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
