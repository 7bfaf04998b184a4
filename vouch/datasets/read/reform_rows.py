"""Rows of ReForm-Eval's files as items, by the shape of their set (reform.csv)

rows       image, question, options, answer: an index
record     image, question or questions, a text or a list of wordings, answer_options, answer: an index, bbox
vqa        image_id, question, answer_options, answer: a text; a word names the column of the hint
why        image_id, question, answer: the hint, rationale_options, rationale: a text
claim      image_id, claim, text_evidence: the hint, answer_options, answer: a text
options, region, matching, selection, task, entailment     img, gt: an index; see _CHOICES
open       image, question, a text or a list of wordings, answer_txt, bbox
open_vqa   image_id, question, answer
captions   img, annos
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from vouch.datasets.raw import RawItem, Unusable
from vouch.datasets.read.boxes import with_boxes
from vouch.datasets.read.reform import Set
from vouch.datasets.read.row import Row

Found = tuple[str, dict[str, Any]]  # the column of the picture, and fields of the item


def maker(name: str, wanted: Set, head: Mapping[str, Any], join_answers: bool) -> Callable[[Row], RawItem]:
    """What makes an item of a row. head: the file's header. join_answers: of open questions, into one."""
    shape, *words = wanted.shape

    def make(row: Row) -> RawItem:
        if shape in _CHOICES:
            column, found = _CHOICES[shape](row, *words)
            return replace(base(row, column), **found)
        if shape == "captions":
            asked = "Describe the image in one sentence."
            return replace(base(row, "img"), question=asked, kind="text", references=row.texts("annos"))
        if shape == "open_vqa":
            return _open(base(row, "image_id"), row, "answer", join_answers)
        if shape == "open":
            return _open(base(row, "image"), row, "answer_txt", join=False)
        if shape == "rows":
            chosen = _indexed(row, "answer", row.texts("options"))
            return replace(base(row, "image"), question=row.text("question"), **chosen)
        return _record(base(row, "image"), row, wanted, head)

    def base(row: Row, column: str) -> RawItem:
        return RawItem(
            id=f"{name}-{row.number:06d}",
            where=row.where,
            question="",
            images=(picture(row, column, wanted),),
            category=wanted.dimension,
            source_id=source_id(row),
        )

    return make


def source_id(row: Row) -> str:
    """The row's own name, or its number."""
    for column in ("question_id", "instance_id", "id"):
        if (value := row.maybe(column)) is not None:
            return value
    return str(row.number)


def picture(row: Row, column: str, wanted: Set) -> bytes:
    """The picture of a row, with the boxes of its set. Raises Unusable."""
    found = row.images(column)
    if len(found) != 1:
        raise Unusable(f"{column} holds {len(found)} pictures, not one")
    if not wanted.box:
        return found[0]
    boxes = row.values.get("region") if wanted.shape[0] == "region" else row.values.get("bbox")
    if not isinstance(boxes, list) or not boxes:
        raise Unusable("has no boxes to draw")
    thickness, form = wanted.box
    one = not isinstance(boxes[0], list)
    return with_boxes(found[0], [boxes] if one else boxes, int(thickness), form)


def _indexed(row: Row, column: str, options: Sequence[str]) -> dict[str, Any]:
    return {"options": options, "answers": (row.integer(column),)}


def _by_text(row: Row, column: str, options: Sequence[str]) -> dict[str, Any]:
    text = row.text(column)
    if text not in options:
        raise Unusable(f"{column} {text!r:.60} is none of its options")
    return {"options": options, "answers": (options.index(text),)}


def _vqa(row: Row, context: str = "") -> Found:
    hint = row.text(context) if context else None
    if hint is not None and context == "context":
        hint = hint.strip()
    chosen = _by_text(row, "answer", row.texts("answer_options"))
    return "image_id", {"question": row.text("question"), "hint": hint, **chosen}


def _why(row: Row) -> Found:
    chosen = _by_text(row, "rationale", row.texts("rationale_options"))
    return "image_id", {"question": row.text("question"), "hint": row.text("answer"), **chosen}


def _claim(row: Row) -> Found:
    question = f"What is the truthfulness of this claim? Claim: {row.text('claim').strip()}"
    chosen = _by_text(row, "answer", row.texts("answer_options"))
    return "image_id", {"question": question, "hint": row.text("text_evidence").strip(), **chosen}


def _stored(
    question: str, hint: str = "", options: str | Sequence[str] = "options"
) -> Callable[[Row], Found]:
    """The question is the same for all; hint, options: a column, or the options themselves."""

    def make(row: Row) -> Found:
        texts = row.texts(options) if isinstance(options, str) else list(options)
        spoken_of = row.text(hint) if hint else None
        return "img", {"question": question, "hint": spoken_of, **_indexed(row, "gt", texts)}

    return make


# By shape: what gives the column of the picture, and the question, the hint, the options and the answer.
_CHOICES: dict[str, Callable[..., Found]] = {
    "vqa": _vqa,
    "why": _why,
    "claim": _claim,
    "options": _stored("What disaster happens in the image?"),
    "region": _stored("What text matches the area enclosed by the red bounding box in the image?"),
    "matching": _stored("Does the image match the following caption?", "anno", ("no", "yes")),
    "selection": _stored("Which text best matches the image?", options="anno"),
    "task": _stored("Which step of this task does the image show?", "method"),
    "entailment": _stored("Can you conclude this from the image?", "anno", ("yes", "not sure", "no")),
}


def _record(item: RawItem, row: Row, wanted: Set, head: Mapping[str, Any]) -> RawItem:
    wordings = _wordings(row)
    if wanted.name == "clevr":
        instructions = head.get("instructs")
        if not isinstance(instructions, list) or not instructions:
            raise Unusable("the file has no list `instructs`, which holds CLEVR's instructions")
        wordings = [f"{instruction} {wordings[0]}" for instruction in instructions[:5]]
    options = row.texts("answer_options")
    if wanted.name == "vsr":
        options = [text if text.endswith(".") else f"{text}." for text in options]
    return replace(item, **_indexed(row, "answer", options), **_worded(row, wordings))


def _open(item: RawItem, row: Row, column: str, join: bool) -> RawItem:
    """A question without options; several answers are several references, or one, joined by spaces."""
    several = isinstance(row.values.get(column), list)
    answers = row.texts(column) if several else [row.text(column)]
    references = [" ".join(answers)] if join else answers
    return replace(item, kind="text", references=references, **_worded(row, _wordings(row)))


def _wordings(row: Row) -> list[str]:
    column = "questions" if "questions" in row.values else "question"
    value = row.values.get(column)
    found = value if isinstance(value, list) else [value]
    wordings = [wording for wording in found if isinstance(wording, str)]
    if not wordings or len(wordings) < len(found):
        raise Unusable(f"{column} is neither a text nor a list of texts")
    return wordings


def _worded(row: Row, wordings: Sequence[str]) -> dict[str, Any]:
    """The question is the wording whose turn it is at the row's place, as the authors take them."""
    phrasings = wordings if len(wordings) > 1 else ()
    return {"question": wordings[row.number % len(wordings)], "phrasings": phrasings}
