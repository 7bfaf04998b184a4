"""What is said in a prompt: the words of a draft, as its style shows them."""

from dataclasses import dataclass
from typing import Any

from stages.contracts.prompts import HOLE
from stages.runtime.errors import UserError
from stages.vary.marks import Placing, in_words
from stages.vary.style import ADDED, MARKS, Style
from stages.vary.variation import Draft, Item


@dataclass(frozen=True)
class Frame:
    """What a style puts around the options of an item. instruction: as it stands in the prompt."""

    before: str
    after: str
    instruction: str


# Of items without marks, by the identity of item and style, which are kept so that no other comes to bear it,
# and whether options are shown: orders of the options have it in common.
Frames = dict[tuple[int, int, bool], tuple[Frame, Item, Style]]


@dataclass(frozen=True)
class _Shown:
    """A draft's words as they are shown. order: for each option its index, or what the style adds."""

    text: str
    instruction: str
    options: list[str]
    order: list[int]
    marks: str


def words(draft: Draft, style: str, frames: Frames) -> dict[str, Any]:
    """The columns that hold what is said. Raises UserError where the marks run out.

    style: name of its file. frames: those made so far, which grow.
    """
    item, own, placing = draft.item, draft.style, _placing(draft)
    turns = [(_question(question, placing, style, frames), answer) for question, answer in draft.turns]
    if item.kind == "choice" and (sample := own.sample_turn()):
        turns.insert(0, sample)
    shown = _shown(draft, placing, style, frames)
    texts = [*[question for question, _ in turns], shown.text]
    texts[0] = placing.front() + own.opening.format(instruction=shown.instruction) + texts[0]
    if draft.earlier and any(HOLE.search(text) for text in texts):
        raise UserError(
            f"item {item.id}: its words hold `{{answer 1}}` or the like, where {draft.variation} puts what "
            "the model answered; leave the item or the variation out"
        )
    return {
        "system": own.system and own.system.format(instruction=shown.instruction),
        "turns": [
            {"question": text, "answer": answer} for text, (_, answer) in zip(texts, turns, strict=False)
        ],
        "text": texts[-1],
        "response": own.response,
        "options": shown.options,
        "order": shown.order,
        "marks": list(shown.marks) if own.shows_options else [],
    }


def _placing(draft: Draft) -> Placing:
    """Where pictures were taken away, the words are those of pictures that stand first."""
    gone = draft.style.pictures == "marks" and not draft.pictures
    return Placing(len(draft.item.images), "first" if gone else draft.style.pictures)


def _question(question: str | Draft, placing: Placing, style: str, frames: Frames) -> str:
    return question if isinstance(question, str) else _shown(question, placing, style, frames).text


def _shown(draft: Draft, placing: Placing, style: str, frames: Frames) -> _Shown:
    item, own = draft.item, draft.style
    added = own.added_to(len(draft.order)) if item.kind == "choice" else {}
    order = [*draft.order, *[ADDED[name] for name in added]]
    marks = MARKS[own.marks][: len(order)]
    if len(order) > len(marks):
        kind = "digits" if own.marks == "digits" else "letters"
        raise UserError(
            f"item {item.id}: {len(order)} options with the {len(added)} that style {style} adds, more than "
            f"the {len(marks)} {kind}; use a style that adds none, or leave the item out"
        )
    # hint and question are read before the options, so their marks are placed first
    frame = _frame(draft, placing, bool(order), frames)
    options = [item.options[index] for index in draft.order]
    options = [*(map(placing.option, options) if item.marked else options), *added.values()]
    text = frame.before + own.listed(marks, options) + frame.after
    return _Shown(text if item.question else text.lstrip(), frame.instruction, options, order, marks)


def _frame(draft: Draft, placing: Placing, options: bool, frames: Frames) -> Frame:
    item, own = draft.item, draft.style
    if item.marked:  # its words depend on the places of the pictures
        return _framed(item, own, placing, options)
    key = (id(item), id(own), options)
    if key not in frames:
        frames[key] = _framed(item, own, placing, options), item, own
    return frames[key][0]


def _framed(item: Item, own: Style, placing: Placing, options: bool) -> Frame:
    hint = None if item.hint is None else placing.passage(item.hint)
    question = placing.passage(item.question)
    try:
        # The picture stands at its mark in the body; an instruction that repeats these words speaks of it.
        body = own.body if options else own.open_body
        spoken = None if hint is None or "{hint}" not in body else in_words(hint)
        asked = in_words(question) if "{question}" in body else question
        instruction = own.instruction(item.place, hint if spoken is None else spoken, asked)
    except UserError as error:
        raise UserError(f"item {item.id}: {error}") from None
    return Frame(*own.around(hint, question, options, instruction), instruction)


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
