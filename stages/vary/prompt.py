"""A draft becomes a row of the prompts table."""

from dataclasses import asdict
from string import ascii_uppercase
from typing import Any

from stages.runtime.errors import UserError
from stages.vary.marks import Placing
from stages.vary.style import ADDED
from stages.vary.variation import Draft


def prompt_row(draft: Draft, variation: str, style: str) -> dict[str, Any]:
    """The row; `variation` and `style` are file names. Raises UserError where the letters run out."""
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
    return {
        "id": f"{item.id}/{variation}",
        "item": item.id,
        "variation": variation,
        "style": style,
        "system": draft.style.system,
        "text": placing.front() + text,
        "options": options,
        "order": order,
        "marks": marks,
        "answers": [place for place, index in enumerate(order) if index in item.answers],
        "pictures": [asdict(picture) for picture in draft.pictures],
        "ask": _ask(draft),
    }


def _ask(draft: Draft) -> str:
    """Without a picture there is nothing to ask; released logits join on such prompts."""
    if not draft.pictures:
        return "nothing"
    return "letters" if draft.item.kind == "choice" else "text"
