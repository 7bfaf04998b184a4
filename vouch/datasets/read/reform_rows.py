"""Rows of ReForm-Eval's files as items, by the shape of their set (reform.csv)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vouch.datasets.raw import RawItem, Unusable
from vouch.datasets.read.boxes import with_boxes
from vouch.datasets.read.reform import Set
from vouch.datasets.read.row import Row

_STRIPPED = ("context", "text_evidence")  # hints with blanks at their ends
_CLEVRS = 5  # instructions that CLEVR's questions take in turn


@dataclass(frozen=True)
class Shape:
    """Where a row has what.

    picture, hint, answer: columns. asks: the question of all rows, or what stands before the one in the
    column `question`, a text or a list of wordings. options: a column, or the options themselves; null for
    an open question, whose answer is a text or a list. by_text: whether the answer is an option's text, not
    its index.
    """

    picture: str
    question: str = ""
    asks: str = ""
    hint: str = ""
    options: str | tuple[str, ...] | None = "answer_options"
    answer: str = "answer"
    by_text: bool = False


Draw = Callable[[str, str], list[str]]
DRAWN = ("drawn",)  # options that are not in the file: see reform_drawn.py
_TRUTH = "What is the truthfulness of this claim? Claim: "
_REGION = "What text matches the area enclosed by the red bounding box in the image?"
_ENTAILED = "Can you conclude this from the image?"
_MATCHES = "Does the image match the following caption?"
SHAPES = {
    "rows": Shape("image", "question", options="options"),
    "record": Shape("image", "question"),
    "vqa": Shape("image_id", "question", by_text=True),  # a word beside it names the column of the hint
    "why": Shape("image_id", "question", "", "answer", "rationale_options", "rationale", by_text=True),
    "claim": Shape("image_id", "claim", _TRUTH, "text_evidence", by_text=True),
    "options": Shape("img", "", "What disaster happens in the image?", "", "options", "gt"),
    "region": Shape("img", "", _REGION, "", "options", "gt"),
    "matching": Shape("img", "", _MATCHES, "anno", ("no", "yes"), "gt"),
    "selection": Shape("img", "", "Which text best matches the image?", "", "anno", "gt"),
    "task": Shape("img", "", "Which step of this task does the image show?", "method", "options", "gt"),
    "entailment": Shape("img", "", _ENTAILED, "anno", ("yes", "not sure", "no"), "gt"),
    "open": Shape("image", "question", options=None, answer="answer_txt"),
    "open_vqa": Shape("image_id", "question", options=None),
    "captions": Shape("img", "", "Describe the image in one sentence.", options=None, answer="annos"),
    "tdiuc": Shape("image_id", "question", options=DRAWN, by_text=True),
    "counting": Shape("Image_ID", "Question", options=DRAWN, answer="Answer", by_text=True),
}


def maker(
    name: str, wanted: Set, head: Mapping[str, Any], join_answers: bool, draw: Draw
) -> Callable[[Row], RawItem]:
    """What makes an item of a row. head: the file's header. join_answers: of open questions, into one.

    draw: options for an answer and the id of its row, in sets whose file has none.
    """
    kind, *words = wanted.shape
    shape = SHAPES[kind]
    hint_column = words[0] if kind == "vqa" and words else shape.hint

    def make(row: Row) -> RawItem:
        # the wording whose turn it is at the row's place, as the authors take them
        wordings = _wordings(row, shape, head if wanted.name == "clevr" else None)
        hint = row.text(hint_column) if hint_column else None
        options, answers, references = list[str](), list[int](), list[str]()
        if shape.options is None:
            references = _texts(row, shape.answer)
            if kind == "open_vqa" and join_answers:
                references = [" ".join(references)]
        else:
            options = _options(row, shape, draw)
            answers = [_index_of(row, shape.answer, options) if shape.by_text else row.integer(shape.answer)]
            if wanted.name == "vsr":
                options = [text if text.endswith(".") else f"{text}." for text in options]
        column = "image" if kind == "counting" and row.values.get("image") else shape.picture
        return RawItem(
            id=f"{name}-{row.number:06d}",
            where=row.where,
            question=wordings[row.number % len(wordings)],
            phrasings=wordings if len(wordings) > 1 else (),
            hint=hint.strip() if hint is not None and hint_column in _STRIPPED else hint,
            options=options,
            answers=answers,
            references=references,
            images=(picture(row, column, wanted),),
            category=wanted.dimension,
            kind="text" if shape.options is None else "choice",
            source_id=source_id(row),
        )

    return make


def _options(row: Row, shape: Shape, draw: Draw) -> list[str]:
    if shape.options == DRAWN:
        return draw(row.text(shape.answer), source_id(row))
    return row.texts(shape.options) if isinstance(shape.options, str) else list(shape.options or ())


def _wordings(row: Row, shape: Shape, clevr: Mapping[str, Any] | None) -> list[str]:
    """The question in all of its wordings. clevr: the header of CLEVR's file, which has its instructions."""
    if not shape.question:
        return [shape.asks]
    found = _texts(row, "questions" if "questions" in row.values else shape.question)
    if not found:
        raise Unusable(f"{shape.question} holds no text")
    if shape.asks:
        return [f"{shape.asks}{found[0].strip()}"]
    if clevr is None:
        return found
    instructions = clevr.get("instructs")
    if not isinstance(instructions, list) or not instructions:
        raise Unusable("the file has no list `instructs`, which holds CLEVR's instructions")
    return [f"{instruction} {found[0]}" for instruction in instructions[:_CLEVRS]]


def _texts(row: Row, column: str) -> list[str]:
    """A text or a list of them."""
    return row.texts(column) if isinstance(row.values.get(column), list) else [row.text(column)]


def _index_of(row: Row, column: str, options: Sequence[str]) -> int:
    text = row.text(column)
    if text not in options:
        raise Unusable(f"{column} {text!r:.60} is none of its options")
    return options.index(text)


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
