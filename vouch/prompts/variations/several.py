"""Variations that ask an item several times: other orders of the options, other instructions, other labels.

With all but `circular`, ReForm-Eval (Li et al. 2023) measures instability: a model whose answer depends on
them does not know the answer. Test k of an item has the k-th order, instruction and wording; these repeat if
there are fewer."""

import random
from dataclasses import replace
from functools import lru_cache

from vouch.prompts.draft import ORDER, TEMPLATE, WORDS, Draft, prompt_id, start
from vouch.prompts.template import LABELS, Labels
from vouch.prompts.variations import variation
from vouch.prompts.variations.conversation import CONVERSATION, conversation, repeated_options

MOST_TESTS, TESTS = 50, 5  # the authors ask five
ALPHABETS: tuple[Labels, ...] = ("lower", "digits", "upper")
NAMING = "options that [name others](#limits-of-a-variation)"
_RANDOM = random.Random()  # seeded before every use: a new one for each order takes twice as long


@variation(
    "circular",
    "options in every rotation",
    does="the item's own options in every rotation, a numbered prompt for each; the first is the source's "
    "order: it is `original` once more, so one answer stands for both",
    skips=f"fewer than two options, {NAMING}",
    changes=ORDER,
)
def _in_every_rotation(draft: Draft) -> list[Draft] | None:
    """Options that the template adds stay last, as they do in every order."""
    order = draft.order
    if len(order) < 2:
        return None
    return [draft._replace(order=order[first:] + order[:first]) for first in range(len(order))]


@variation(
    "shuffled",
    "options shuffled",
    does="several prompts, each with the options in an order of its own",
    skips=f"fewer than two options, {NAMING}, templates that show no options",
    changes=ORDER,
    levels=MOST_TESTS,
    default_level=TESTS,
    counts_prompts=True,
)
def _shuffled(draft: Draft, level: int) -> list[Draft] | None:
    if len(draft.order) < 2 or not draft.template.shows_options:
        return None
    return [shuffled(draft, test) for test in range(1, level + 1)]


def shuffled(draft: Draft, test: int) -> Draft:
    """The options in the order of a test, from 1. Every order is equally likely; the authors' code sets no
    seed.

    A template with `equal_options: drop` leaves out wrong options whose text equals the correct one's, as the
    authors do in some task families.
    """
    item, order = draft.item, draft.order
    if draft.template.equal_options == "drop":
        correct = {item.options[index] for index in item.answers}
        order = tuple(index for index in order if index in item.answers or item.options[index] not in correct)
    return draft._replace(order=_in_order(order, f"{item.id}/{test}"))


@lru_cache(maxsize=2 * MOST_TESTS)  # several variations shuffle the options of an item
def _in_order(order: tuple[int, ...], seed: str) -> tuple[int, ...]:
    shown = list(order)
    _RANDOM.seed(seed)
    _RANDOM.shuffle(shown)
    return tuple(shown)


@variation(
    "instruction",
    "reworded instruction",
    does="a prompt for each wording of the instruction or of the question",
    skips="templates and items with one wording",
    changes=(WORDS, TEMPLATE),
)
def _in_every_wording(draft: Draft) -> list[Draft] | None:
    count = max(len(draft.template.instructions), len(draft.item.phrasings))
    return [worded(draft, test) for test in range(1, count + 1)] if count > 1 else None


def worded(draft: Draft, test: int) -> Draft:
    """The draft with the instruction and the question in the wording of a test; tests count from 1."""
    item, template = draft.item, draft.template
    if not item.phrasings and not template.instructions:
        return draft
    if item.phrasings:
        item = replace(item, question=item.phrasings[(test - 1) % len(item.phrasings)])
    if template.instructions:
        chosen = template.instructions[(test - 1) % len(template.instructions)]
        template = template.changed(instructions=(chosen,))
    return draft._replace(item=item, template=template)


@variation(
    "tests",
    "several instructions and option orders",
    does="several prompts, each with another instruction and the options in an order of its own",
    skips=NAMING,
    changes=(WORDS, ORDER, TEMPLATE),
    levels=MOST_TESTS,
    default_level=TESTS,
    counts_prompts=True,
)
def _tests(draft: Draft, level: int) -> list[Draft]:
    """The tests of ReForm-Eval's main evaluation."""
    return [shuffled(worded(draft, test), test) for test in range(1, level + 1)]


@variation(
    "dialogue_tests",
    "dialogue in several tests, with the model's own earlier choices",
    does="the questions of a conversation in the prompts of `tests`; the earlier questions come first, each "
    "with the option that the model chose most often in its tests",
    skips=f"items in no conversation, conversations with {NAMING}",
    changes=CONVERSATION,
    levels=MOST_TESTS,
    default_level=TESTS,
    counts_prompts=True,
    repeats_options=True,
)
def _in_several_tests(draft: Draft, level: int) -> list[Draft] | None:
    """The online multi-round setting of ReForm-Eval. Earlier questions show their options in their own order.

    Of equally common choices the first counts. The earlier prompts are those of the same variation.
    """
    turns, drafts = draft.item.turns, []
    if not draft.asked:
        return None
    for test in range(1, level + 1):
        shown = shuffled(worded(draft, test), test)
        changed = conversation(shown, lambda number, _: f"{{answer {number}}}")
        if changed is None:
            return None
        earlier = [
            tuple(prompt_id(turn.id, draft.variation, one) for one in range(1, level + 1)) for turn in turns
        ]
        options = [repeated_options(start(turn, shown.template, draft.variation)) for turn in turns]
        drafts.append(changed._replace(earlier=tuple(earlier), earlier_options=tuple(options)))
    return drafts


@variation(
    "labels",
    "options labelled a, b, c; 1, 2, 3; A, B, C",
    does="a prompt for each kind of option labels: a, b, c; 1, 2, 3; A, B, C",
    skips="items without options or with more than nine, options that name letters, templates that show none",
    changes=TEMPLATE,
)
def _in_every_alphabet(draft: Draft) -> list[Draft] | None:
    """Test k has the k-th alphabet."""
    return [_labelled(draft, labels) for labels in ALPHABETS] if _can_be_labelled(draft) else None


@variation(
    "labels_drawn",
    "options labelled by alphabets drawn at random",
    does="several prompts, each with the labels of an alphabet drawn for it: a, b, c; 1, 2, 3; or A, B, C",
    skips="the same",
    changes=TEMPLATE,
    levels=MOST_TESTS,
    default_level=TESTS,
    counts_prompts=True,
)
def _drawn_alphabets(draft: Draft, level: int) -> list[Draft] | None:
    """The random option marks of ReForm-Eval: every test draws one of the alphabets, all equally likely.

    The item's id decides; the authors' code sets no seed.
    """
    if not _can_be_labelled(draft):
        return None
    drafts = []
    for test in range(1, level + 1):
        _RANDOM.seed(f"labels/{draft.item.id}/{test}")
        drafts.append(_labelled(draft, _RANDOM.choice(ALPHABETS)))
    return drafts


def _can_be_labelled(draft: Draft) -> bool:
    template, own = draft.template, len(draft.order)
    return bool(own and template.shows_options and own + len(template.added_to(own)) <= len(LABELS["digits"]))


def _labelled(draft: Draft, labels: Labels) -> Draft:
    return draft._replace(template=draft.template.changed(labels=labels))
