"""A draft becomes a row of the prompts table."""

from dataclasses import asdict
from string import ascii_uppercase
from typing import Any

from stages.contracts.prompts import TEXT
from stages.runtime.errors import UserError
from stages.vary.marks import Placing
from stages.vary.style import ADDED
from stages.vary.variation import Draft, prompt_id


def prompt_row(draft: Draft, variation: str, style: str, cap: int | None) -> dict[str, Any]:
    """The row; `variation` and `style` are file names. Raises UserError where the letters run out.

    cap: most tokens of a generated text, or None.
    """
    item = draft.item
    added = draft.style.added if item.kind == "choice" else {}
    order = [*draft.order, *(ADDED[name] for name in added)]
    if len(order) > len(ascii_uppercase):
        raise UserError(
            f"item {item.id}: {len(order)} options with the {len(added)} that style {style} adds, more than "
            f"the {len(ascii_uppercase)} letters; use a style that adds none, or leave the item out"
        )
    placing = Placing(len(draft.pictures), draft.style.pictures)
    hint = None if item.hint is None else placing.passage(item.hint)
    question = placing.passage(item.question)
    options = [*(placing.option(item.options[index]) for index in draft.order), *added.values()]
    marks = list(ascii_uppercase[: len(options)])
    text = draft.style.render(hint, question, list(zip(marks, options, strict=True)))
    asks = _asks(draft)
    return {
        "id": prompt_id(item.id, variation, draft.number),
        "item": item.id,
        "variation": variation,
        "style": style,
        "system": draft.style.system,
        "turns": [{"question": question, "answer": answer} for question, answer in draft.turns],
        "text": placing.front() + text,
        "response": draft.style.response,
        "earlier": [list(ids) for ids in draft.earlier],
        "options": options,
        "order": order,
        "marks": marks,
        "answers": [place for place, index in enumerate(order) if index in item.answers],
        "pictures": [asdict(picture) for picture in draft.pictures],
        "asks": asks,
        "max_tokens": cap if TEXT in asks else None,
    }


def _asks(draft: Draft) -> list[str]:
    """Without a picture there is nothing to ask; released logits join on such prompts."""
    if not draft.pictures:
        return []
    return list(draft.style.asks if draft.item.kind == "choice" else draft.style.open_asks)
