"""A draft becomes a row of the prompts table."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from stages.contracts.prompts import HOLE, TEXT
from stages.runtime.errors import UserError
from stages.vary.combination import Variation
from stages.vary.marks import Placing, in_words, marked
from stages.vary.style import ADDED, JOINING, MARKS, Style
from stages.vary.variation import Draft, Item, Picture, Step, prompt_id


@dataclass(frozen=True)
class _Shown:
    """A draft's words as they are shown. order: for each option its index, or what the style adds."""

    text: str
    instruction: str
    options: tuple[str, ...]
    order: tuple[int, ...]
    marks: tuple[str, ...]


# What is said in a prompt, by the identity of item and style, the order of the options and whether pictures
# are shown: many variations change none of these. Item and style are kept, so that no other comes to bear
# their identity.
Words = dict[tuple[int, int, tuple[int, ...], bool], tuple[Item, Style, dict[str, Any]]]


def prompt_row(
    draft: Draft,
    variation: Variation,
    answers: Sequence[int],
    style: str,
    cap: int | None,
    known: Words,
    number: int | None = None,
) -> dict[str, Any]:
    """The row; `style` is a file's name. Raises UserError where the marks run out.

    answers: indices of the correct options. cap: most tokens of a generated text, or None. known: of the
    same item so far, which grows. number: of a numbered draft. Rows may share lists.
    """
    asks = _asks(draft)
    words = _known_words(draft, style, known)
    return {
        "id": prompt_id(draft.item.id, variation.name, number),
        "item": draft.item.id,
        "variation": variation.name,
        "family": variation.family,
        "effect": variation.effect,
        "style": style,
        "earlier": [list(ids) for ids in draft.earlier],
        "answers": [place for place, index in enumerate(words["order"]) if index in answers],
        "pictures": _recipes(draft),
        "asks": asks,
        "max_tokens": cap if TEXT in asks else None,
        **words,
    }


def _known_words(draft: Draft, style: str, known: Words) -> dict[str, Any]:
    item, own = draft.item, draft.style
    key = (id(item), id(own), draft.order, bool(draft.pictures))
    alone = not draft.turns and not draft.earlier
    if alone and key in known:
        return known[key][2]
    words = _words(draft, style)
    # where a mark goes depends on the pictures as well
    if alone and not any(map(marked, (item.hint or "", item.question, *item.options))):
        known[key] = (item, own, words)
    return words


def _words(draft: Draft, style: str) -> dict[str, Any]:
    """The columns that hold what is said."""
    item, placing = draft.item, _placing(draft)
    turns = [(_question(question, placing, style), answer) for question, answer in draft.turns]
    if item.kind == "choice" and (sample := draft.style.sample_turn()):
        turns.insert(0, sample)
    shown = _shown(draft, placing, style)
    texts = [*(question for question, _ in turns), shown.text]
    texts[0] = placing.front() + draft.style.opening.format(instruction=shown.instruction) + texts[0]
    if draft.earlier and any(HOLE.search(text) for text in texts):
        raise UserError(
            f"item {item.id}: its words hold `{{answer 1}}` or the like, where {draft.variation} puts what "
            "the model answered; leave the item or the variation out"
        )
    return {
        "system": draft.style.system and draft.style.system.format(instruction=shown.instruction),
        "turns": [
            {"question": text, "answer": answer} for text, (_, answer) in zip(texts[:-1], turns, strict=True)
        ],
        "text": texts[-1],
        "response": draft.style.response,
        "options": list(shown.options),
        "order": list(shown.order),
        "marks": list(shown.marks) if draft.style.shows_options else [],
    }


def _placing(draft: Draft) -> Placing:
    """Where pictures were taken away, the words are those of pictures that stand first."""
    gone = draft.style.pictures == "marks" and not draft.pictures
    return Placing(len(draft.item.images), "first" if gone else draft.style.pictures)


def _question(question: str | Draft, placing: Placing, style: str) -> str:
    return question if isinstance(question, str) else _shown(question, placing, style).text


def _shown(draft: Draft, placing: Placing, style: str) -> _Shown:
    item, own = draft.item, draft.style
    added = own.added_to(len(draft.order)) if item.kind == "choice" else {}
    order = (*draft.order, *[ADDED[name] for name in added])
    marks = tuple(MARKS[own.marks][: len(order)])
    if len(order) > len(marks):
        kind = "digits" if own.marks == "digits" else "letters"
        raise UserError(
            f"item {item.id}: {len(order)} options with the {len(added)} that style {style} adds, more than "
            f"the {len(marks)} {kind}; use a style that adds none, or leave the item out"
        )
    hint = None if item.hint is None else placing.passage(item.hint)
    question = placing.passage(item.question)
    options = (*[placing.option(item.options[index]) for index in draft.order], *added.values())
    try:
        # The picture stands at its mark in the body; an instruction that repeats these words speaks of it.
        body = own.body if options else own.open_body
        spoken = None if hint is None or "{hint}" not in body else in_words(hint)
        asked = in_words(question) if "{question}" in body else question
        instruction = own.instruction(item.place, hint if spoken is None else spoken, asked)
    except UserError as error:
        raise UserError(f"item {item.id}: {error}") from None
    text = own.render(hint, question, list(zip(marks, options, strict=True)), instruction)
    text = text if item.question else text.lstrip()
    return _Shown(text, instruction, options, order, marks)


def correct_answer(draft: Draft) -> str | None:
    """The first correct answer: the option as the style shows it, or its text where the style shows none, or
    a reference; None without one.
    """
    item = draft.item
    if item.kind != "choice":
        return next(iter(item.references), None)
    for mark, index in zip(MARKS[draft.style.marks], draft.order, strict=False):
        if index in item.answers:
            text = in_words(item.options[index])
            return draft.style.option.format(mark=mark, text=text) if draft.style.shows_options else text
    return None


def _recipes(draft: Draft) -> list[dict[str, Any]]:
    """Two pictures become one in a style that joins them, each with its own steps done before."""
    pictures = draft.pictures
    join = JOINING.get(draft.style.pictures)
    if join is None or len(pictures) != 2:
        return [_recipe([picture], picture.steps) for picture in pictures]
    first, second = pictures
    if first.steps != second.steps:
        raise UserError(
            f"item {draft.item.id}: variation {draft.variation} disturbs two pictures differently, which "
            "cannot be joined; use a style with `pictures: first`"
        )
    return [_recipe(pictures, (*first.steps, Step(join)))]


def _recipe(pictures: Sequence[Picture], steps: Sequence[Step]) -> dict[str, Any]:
    done = [
        {"operation": step.operation, "severity": step.severity, "revision": step.revision} for step in steps
    ]
    return {"images": [picture.image for picture in pictures], "steps": done}


def _asks(draft: Draft) -> list[str]:
    if not draft.asked:
        return []
    return list(draft.style.asks if draft.item.kind == "choice" else draft.style.open_asks)
