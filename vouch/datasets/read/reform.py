"""Boxes that a question speaks of: drawn as ReForm-Eval does (Li et al. 2023), or as text.

The 61 sets of ReForm-Eval (Li et al. 2023): reform.csv, which says for each

set           its name here
dimension     of the eight of the benchmark
family        its task family: the templates are reform_FAMILY, with _likelihood and others after it
shape         how its rows look, see reform_rows.py, reform_drawn.py, reform_dialogues.py
file          in the folder huggingface_data of Aweminus/ReForm-Eval-Data
version, split, dataset_name    what the file says of itself; empty where it says nothing
full, sample  rows (dialogues, where it holds such) of the whole set, as the paper counts them, and of the
              part that the authors ran; several where they contradict each other, empty where unknown.
              The smaller ones follow from the printed accuracies, which are multiples of their inverse
box           thickness of the boxes to draw, and how the file gives them: corners, or corner and size
metric        choice, ocr, kie (key information) or cider

Sets of ReForm-Eval whose wrong options are drawn from a pool: seven of TDIUC, and COCO counting.

The authors draw them anew, without a seed, whenever a question is asked; here an item has its own for good.

Dialogues of ReForm-Eval (VisDial, VQA in turns): rounds that point into lists of questions and answers.

Rows of ReForm-Eval's files as items, by the shape of their set (reform.csv).
"""

import csv
import io
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import ImageDraw

from vouch.datasets.cleaning.cleaning import examine
from vouch.datasets.raw import RawItem, Rejected, Unusable
from vouch.datasets.read import json_rows
from vouch.datasets.read.files import File, Row
from vouch.images.opening import decode
from vouch.pipeline.errors import UserError, did_you_mean

# The colour goes by the number of the box; there are no more.
_COLOURS = ((255, 0, 0), (0, 128, 0), (0, 0, 255), (255, 215, 0))
_NAMES = ("red", "green", "blue", "yellow")
_MARK = re.compile(r"<box ([0-9]{1,3})>")
_FARTHEST = 100_000  # pixels; no picture is larger, and lines that are take Pillow for ever


def with_boxes(data: bytes, boxes: Sequence[Any], thickness: int, form: str) -> bytes:
    """The picture with its boxes drawn, as PNG. Raises Unusable.

    form: `corners` (x1, y1, x2, y2) or `size` (x, y, width, height), in pixels. Lines run along the middle
    of their thickness; corners are square, where OpenCV, which the authors used, rounds them.
    """
    if len(boxes) > len(_COLOURS):
        raise Unusable(f"has {len(boxes)} boxes, of which only {len(_COLOURS)} have colours")
    try:
        examine(data)  # its size as well, before all of it is in memory
    except Unusable as error:
        raise Unusable(f"has an image that {error}") from None
    image = decode(data)
    pen, out = ImageDraw.Draw(image), thickness // 2
    for box, colour in zip(boxes, _COLOURS, strict=False):
        x1, y1, x2, y2 = _corners(box, form)
        pen.rectangle((x1 - out, y1 - out, x2 + out, y2 + out), outline=colour, width=thickness)
    buffer = io.BytesIO()
    image.save(buffer, format="PNG")
    return buffer.getvalue()


def spoken(text: str, boxes: Sequence[Any], drawn: bool) -> str:
    """A text with its marks `<box 1>` as words: `the red box` where it is drawn, else its corners in pixels.

    boxes: x1, y1, x2, y2 each. Raises Unusable for a mark without a box.
    """
    places = [_corners(box, "corners") for box in boxes]

    def words(mark: re.Match[str]) -> str:
        number = int(mark[1])
        if not 1 <= number <= (min(len(places), len(_NAMES)) if drawn else len(places)):
            raise Unusable(f"speaks of {mark[0]}, but has {len(places)} boxes")
        x1, y1, x2, y2 = places[number - 1]
        return f"the {_NAMES[number - 1]} box" if drawn else f"[{x1}, {y1}, {x2}, {y2}]"

    return _MARK.sub(words, text)


def _corners(box: Any, form: str) -> tuple[int, int, int, int]:
    if not isinstance(box, list | tuple) or len(box) != 4 or not all(map(_is_place, box)):
        raise Unusable(f"has the box {box!r:.60}, which is not four numbers of pixels")
    x, y, across, down = box
    x2, y2 = (across, down) if form == "corners" else (x + across, y + down)
    if x2 < x or y2 < y:
        raise Unusable(f"has the box {box!r:.60}, whose corners stand the other way round")
    return int(x), int(y), int(x2), int(y2)


def _is_place(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and -_FARTHEST <= value <= _FARTHEST


TABLE = Path(__file__).with_name("reform.csv")


@dataclass(frozen=True)
class Set:
    """A row of the table. shape: its name, then words for it. box: empty, or thickness and form."""

    name: str
    dimension: str
    family: str
    shape: tuple[str, ...]
    file: str
    version: str
    split: str
    dataset_name: str
    full: tuple[int, ...]
    sample: tuple[int, ...]
    box: tuple[str, ...]
    metric: str


def sets() -> dict[str, Set]:
    """All sets, in the order of the table."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        return {row["set"]: _set(**row) for row in csv.DictReader(file)}


def find_set(name: str, where: str) -> Set:
    """The set of that name. Raises UserError; `where` is the parameter that names it."""
    known = sets()
    if name not in known:
        raise UserError(f"{where}: unknown set {name:.60}; {did_you_mean(name, list(known))}")
    return known[name]


def _set(set: str, shape: str, full: str, sample: str, box: str, **texts: str) -> Set:
    return Set(
        name=set,
        shape=tuple(shape.split()),
        full=tuple(map(int, full.split())),
        sample=tuple(map(int, sample.split())),
        box=tuple(box.split()),
        **texts,
    )


_YES_NO = ("yes", "no")
_DISTRACTORS = 3


def options_of(answer: str, pool: Sequence[str], seed: str) -> list[str]:
    """Three wrong options and the answer, which stands last; yes and no where it is one of them.

    Raises Unusable where the pool is too small.
    """
    if answer in _YES_NO:
        return list(_YES_NO)
    wrong = [text for text in pool if text != answer]
    if len(wrong) < _DISTRACTORS:
        raise Unusable(f"its pool has {len(wrong)} other answers, fewer than the {_DISTRACTORS} to draw")
    return [*random.Random(seed).sample(wrong, _DISTRACTORS), answer]


def pool_file(wanted: Set) -> str:
    """Name of the file that holds a set's answers."""
    if wanted.shape[0] == "counting":
        return "objectCounting_answer_list/answer_list.json"
    return f"choice_list/{wanted.shape[1]}.json"


def read_pool(path: Path) -> list[str]:
    """All different answers of a set, in the order of their file: texts, or objects with `choice`."""
    listed = list(json_rows.rows(path)) or json_rows.header(path).get("choice")
    found = listed if isinstance(listed, list) else ()
    values = [one.get("choice") if isinstance(one, dict) else one for one in found]
    if not values or any(isinstance(value, bool) or not isinstance(value, str | int) for value in values):
        raise UserError(f"{path}: holds no list of answers; fetch it again")
    return list(dict.fromkeys(map(str, values)))


def tdiuc(questions: File, answers: Path, wanted: Set, tenth: bool) -> Iterator[Row]:
    """Rows of one type of question with their answers, by id.

    tenth: of a file with the full set take every 40th or 100th only, as the authors do.
    """
    _, kind, stride = wanted.shape
    by_id = _answers(answers, kind)
    ids = sorted(by_id)
    if tenth and len(ids) in wanted.full:
        ids = ids[:: int(stride)]
    kept = set(ids)
    path = questions.checked()
    found = {
        value["question_id"]: value
        for value in json_rows.rows(path)
        if isinstance(value, dict)
        and isinstance(value.get("question_id"), int)
        and value["question_id"] in kept
    }
    for number, key in enumerate(ids):
        values = {**found.get(key, {"question_id": key}), "answer": by_id[key]}
        yield Row(values, f"{path} question {key}", number, questions)


def _answers(path: Path, kind: str) -> dict[int, str]:
    """The first answer to each question of a kind."""
    answers = {}
    for number, value in enumerate(json_rows.rows(path)):
        if isinstance(value, dict) and value.get("question_type") == kind:
            try:
                answers[int(value["question_id"])] = str(value["answers"][0]["answer"])
            except (KeyError, IndexError, TypeError, ValueError):
                raise UserError(
                    f"{path} row {number}: has no question_id or no answers; fetch it again"
                ) from None
    return answers


def dialogues(
    file: File, head: Mapping[str, Any], name: str, wanted: Set, capitalize: bool
) -> Iterator[RawItem | Rejected]:
    """Rounds of dialogues; a dialogue is one group, and each round names those before it.

    capitalize: whether texts begin with a capital letter and go on in small ones. Raises UserError.
    """
    data = head.get("data")
    lists = [data.get(key) if isinstance(data, dict) else None for key in ("dialogs", "questions", "answers")]
    found, questions, answers = (one if isinstance(one, list) else None for one in lists)
    if found is None or questions is None or answers is None:
        raise UserError(f"{file.path}: data holds no lists dialogs, questions and answers; fetch it again")
    if any(isinstance(text, bool) or not isinstance(text, str | int) for text in (*questions, *answers)):
        raise UserError(f"{file.path}: questions or answers hold more than texts; fetch it again")
    asked = [_cased(str(text), capitalize) for text in questions]
    asked = [text if text.endswith("?") else f"{text}?" for text in asked]
    said = [_cased(str(text), capitalize) for text in answers]
    for number, dialog in enumerate(found):
        values = dialog if isinstance(dialog, dict) else {}
        row = Row(values, f"{file.path} dialog {number}", number, file)
        try:
            shown = picture(row, "image" if values.get("image") else "image_id", wanted)
        except Unusable as error:
            yield Rejected(row.where, "", str(error))
        else:
            yield from _rounds(row, name, wanted, shown, asked, said)


def _cased(text: str, capitalize: bool) -> str:
    return text.capitalize() if capitalize else text


def _rounds(
    row: Row, name: str, wanted: Set, shown: bytes, questions: Sequence[str], answers: Sequence[str]
) -> Iterator[RawItem | Rejected]:
    group = f"{name}-{row.number:05d}"
    before: list[str] = []
    rounds = row.values.get("dialog")
    if not isinstance(rounds, list):
        yield Rejected(row.where, "", "dialog is not a list of rounds")
        return
    for place, turn in enumerate(rounds):
        where = f"{row.where} round {place}"
        try:
            asked = _round(turn, questions, answers)
        except Unusable as error:
            yield Rejected(where, "", str(error))
            return  # what follows would lack a round
        yield RawItem(
            id=f"{group}-{place:02d}",
            where=where,
            images=(shown,),
            category=wanted.dimension,
            source_id=f"{row.number}_{place}",
            group=group,
            turns=tuple(before),
            **asked,
        )
        before.append(f"{group}-{place:02d}")


def _round(turn: Any, questions: Sequence[str], answers: Sequence[str]) -> dict[str, Any]:
    """The question and the options of a round, which names them by their places in the lists."""
    try:
        chosen = [_place(index) for index in turn["answer_options"]]
        places = (_place(turn["question"]), *chosen)
        found = {
            "question": questions[places[0]],
            "options": [answers[index] for index in chosen],
            "answers": (chosen.index(_place(turn["answer"])),),
        }
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise Unusable(
            f"question, answer or answer_options are not places in their lists ({error!s:.60})"
        ) from None
    if min(places) < 0:
        raise Unusable("question or answer_options count from the end of their lists")
    return found


def _place(value: Any) -> int:
    """A place in a list, also one written as text. Raises ValueError where it is none."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise ValueError(f"{value!r:.40} is no whole number")
    return int(value)


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
