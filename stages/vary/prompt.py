"""A draft becomes a row of the prompts table."""

from dataclasses import asdict
from typing import Any

from stages.contracts.prompts import TEXT
from stages.runtime.errors import UserError
from stages.vary.marks import Placing
from stages.vary.style import ADDED, MARKS
from stages.vary.variation import Draft, prompt_id


def prompt_row(draft: Draft, variation: str, style: str, cap: int | None) -> dict[str, Any]:
    """The row; `variation` and `style` are file names. Raises UserError where the marks run out.

    cap: most tokens of a generated text, or None.
    """
    item, own = draft.item, draft.style
    added = own.added_to(len(draft.order)) if item.kind == "choice" else {}
    order = [*draft.order, *(ADDED[name] for name in added)]
    placing = Placing(len(draft.pictures), own.pictures)
    hint = None if item.hint is None else placing.passage(item.hint)
    question = placing.passage(item.question)
    options = [*(placing.option(item.options[index]) for index in draft.order), *added.values()]
    marks = _marks(draft, style, len(options), len(added))
    try:
        instruction = own.instruction(item.place, hint, question)
    except UserError as error:
        raise UserError(f"item {item.id}: {error}") from None
    text = own.render(hint, question, list(zip(marks, options, strict=True)), instruction)
    turns = list(draft.turns)
    if item.kind == "choice" and (sample := own.sample_turn()):
        turns.insert(0, sample)
    opening = own.opening.format(instruction=instruction)
    if turns:
        turns[0] = (opening + turns[0][0], turns[0][1])
    else:
        text = opening + text
    asks = _asks(draft)
    return {
        "id": prompt_id(item.id, variation, draft.number),
        "item": item.id,
        "variation": variation,
        "style": style,
        "system": None if own.system is None else own.system.format(instruction=instruction),
        "turns": [{"question": question, "answer": answer} for question, answer in turns],
        "text": placing.front() + text,
        "response": own.response,
        "earlier": [list(ids) for ids in draft.earlier],
        "options": options,
        "order": order,
        "marks": marks if own.shows_options else [],
        "answers": [place for place, index in enumerate(order) if index in item.answers],
        "pictures": [asdict(picture) for picture in draft.pictures],
        "asks": asks,
        "max_tokens": cap if TEXT in asks else None,
    }


def _marks(draft: Draft, style: str, options: int, added: int) -> list[str]:
    """What the options are called. Raises UserError where there are not enough names."""
    marks = MARKS[draft.style.marks]
    if options > len(marks):
        kind = "digits" if draft.style.marks == "digits" else "letters"
        raise UserError(
            f"item {draft.item.id}: {options} options with the {added} that style {style} adds, more than "
            f"the {len(marks)} {kind}; use a style that adds none, or leave the item out"
        )
    return list(marks[:options])


def _asks(draft: Draft) -> list[str]:
    """Without a picture there is nothing to ask; released logits join on such prompts."""
    if not draft.pictures:
        return []
    return list(draft.style.asks if draft.item.kind == "choice" else draft.style.open_asks)
