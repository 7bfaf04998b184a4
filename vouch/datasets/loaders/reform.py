"""reform: one of the 61 sets of ReForm-Eval (Li et al. 2023), as Aweminus/ReForm-Eval-Data has them.

`settings.set` names it, docs/reform-eval.md lists them. source is a folder with files of that repository, in
any subfolders. Images are base64 texts in the rows.

The authors draw at run time without a seed; here they are drawn once, by `settings.seed` and question id:
wrong options of TDIUC and of COCO counting are drawn from the set's own pool. Boxes are drawn into images;
of TextOCR's images, only the part in the box is shown.
If a family's instruction is itself the question, the item's question is a short one with the same meaning,
so that other templates can ask it; the subject of the instruction (a caption, a claim) becomes the hint.
"""

import csv
import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from vouch.datasets.raw import Expected, LoaderSettings, RawItem, Rejected, Unusable
from vouch.datasets.read import json_rows
from vouch.datasets.read.files import File, Row, SourceFiles, items
from vouch.datasets.read.images import cropped, with_boxes
from vouch.pipeline.errors import UserError, did_you_mean

TABLE = Path(__file__).parents[1] / "read/reform.csv"


@dataclass(frozen=True)
class ReformSet:
    """A row of reform.csv.

    dimension: one of the eight of the benchmark. family: its templates are reform_FAMILY and
    reform_FAMILY_likelihood. shape: one of SHAPES or `dialogue`, and words that complete it.
    file: in the folder huggingface_data of Aweminus/ReForm-Eval-Data.
    version, split, dataset_name: as the file states them; empty if it states none.
    full, sample: rows (or dialogues) of the whole set, as the paper counts them, and of the part that the
    authors ran; several if the sources contradict each other, empty if unknown. Some follow from
    printed accuracies, which are multiples of 1 / rows.
    box: empty, or the thickness of boxes to draw (or `crop`, to show only the box) and how the file gives
    them: corners, or corner and size.
    metric: choice, ocr, kie (key information) or cider.
    """

    name: str
    dimension: str
    family: str
    file: str
    version: str
    split: str
    dataset_name: str
    metric: str
    shape: tuple[str, ...]
    box: tuple[str, ...]
    full: tuple[int, ...]
    sample: tuple[int, ...]


def sets() -> dict[str, ReformSet]:
    """All sets, in the order of the table."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        return {row["set"]: _set(row) for row in csv.DictReader(file)}


def _set(row: dict[str, str]) -> ReformSet:
    words = {name: tuple(row.pop(name).split()) for name in ("shape", "box")}
    counts = {name: tuple(map(int, row.pop(name).split())) for name in ("full", "sample")}
    return ReformSet(row.pop("set"), **row, **words, **counts)  # type: ignore[arg-type]


def find_set(name: str, where: str) -> ReformSet:
    """The set of that name. Raises UserError; `where` is the parameter that names it."""
    known = sets()
    if name not in known:
        raise UserError(f"{where}: unknown set {name:.60}; {did_you_mean(name, list(known))}")
    return known[name]


def _read_pool(source: SourceFiles, wanted: ReformSet, name: str) -> list[str]:
    """All different answers of a set: the list `choice` of the first object of their file."""
    is_counting = wanted.shape[0] == "counting"
    file = "objectCounting_answer_list/answer_list" if is_counting else f"choice_list/{wanted.shape[1]}"
    path = _find(source, f"{file}.json", name).checked()
    first = next(json_rows.rows(path), None) or json_rows.header(path)
    values = first.get("choice") if isinstance(first, dict) else None
    if not isinstance(values, list) or not values or not all(map(_is_text, values)):
        raise UserError(f"{path}: no list `choice` of answers; fetch it again")
    return list(dict.fromkeys(map(str, values)))


def _is_text(value: Any) -> bool:
    """Whether a value is a text, or a whole number that serves as one."""
    return isinstance(value, str | int) and not isinstance(value, bool)


def _tdiuc(questions: File, answers: Path, wanted: ReformSet, tenth: bool) -> Iterator[Row]:
    """Rows of one type of question with their answers, by id.

    tenth: take only every 40th or 100th row of a full set, as the authors do.
    """
    _, kind, stride = wanted.shape
    by_id = _first_answers(answers, kind)
    ids = sorted(by_id)
    if tenth and len(ids) in wanted.full:
        ids = ids[:: int(stride)]
    path = questions.checked()
    asked = {key: {"question_id": key} for key in ids}
    for value in json_rows.rows(path):
        key = value.get("question_id") if isinstance(value, dict) else None
        if isinstance(key, int) and key in asked:
            asked[key] = value
    for number, (key, values) in enumerate(asked.items()):
        yield Row({**values, "answer": by_id[key]}, f"{path} question {key}", number, questions)


def _first_answers(path: Path, kind: str) -> dict[int, str]:
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


def _dialogues(
    file: File, head: Mapping[str, Any], name: str, wanted: ReformSet, capitalize: bool
) -> Iterator[RawItem | Rejected]:
    """Rounds of dialogues (VisDial, VQA in turns), which point into lists of questions and answers.

    A dialogue is one group, and each round names the rounds before it. Raises UserError.
    """
    data = head.get("data")
    lists = [data.get(key) if isinstance(data, dict) else None for key in ("questions", "answers")]
    questions, answers = (value if isinstance(value, list) else None for value in lists)
    if questions is None or answers is None or "dialogs" in head["data"]:
        raise UserError(f"{file.path}: `data` has no lists dialogs, questions and answers; fetch it again")
    if not all(map(_is_text, (*questions, *answers))):
        raise UserError(f"{file.path}: not every question and answer is a text; fetch it again")
    cased = str.capitalize if capitalize else str
    asked = [cased(str(text)) for text in questions]
    asked = [text if text.endswith("?") else f"{text}?" for text in asked]
    replies = [cased(str(text)) for text in answers]
    for number, dialog in enumerate(json_rows.rows(file.checked())):  # one at a time: VisDial has 449 MB
        values = dialog if isinstance(dialog, dict) else {}
        row = Row(values, f"{file.path} dialog {number}", number, file)
        try:
            image = _image(row, "image_base64", wanted)
        except Unusable as error:
            yield Rejected(row.where, "", str(error))
        else:
            yield from _rounds(row, name, wanted, image, asked, replies)


def _rounds(
    row: Row, name: str, wanted: ReformSet, image: bytes, questions: Sequence[str], answers: Sequence[str]
) -> Iterator[RawItem | Rejected]:
    group = f"{name}-{row.number:05d}"
    before: list[str] = []
    rounds = row.values.get("dialog")
    if not isinstance(rounds, list):
        yield Rejected(row.where, "", "dialog is not a list of rounds")
        return
    for index, turn in enumerate(rounds):
        where = f"{row.where} round {index}"
        try:
            asked = _round(turn, questions, answers)
        except Unusable as error:
            yield Rejected(where, "", str(error))
            return  # later rounds would lack this one
        yield RawItem(
            id=f"{group}-{index:02d}",
            where=where,
            images=(image,),
            category=wanted.dimension,
            source_id=f"{row.number}_{index}",
            group=group,
            turns=tuple(before),
            **asked,
        )
        before.append(f"{group}-{index:02d}")


def _round(turn: Any, questions: Sequence[str], answers: Sequence[str]) -> dict[str, Any]:
    try:
        chosen = [_index(value) for value in turn["answer_options"]]
        return {
            "question": questions[_index(turn["question"])],
            "options": [answers[index] for index in chosen],
            "answers": (chosen.index(_index(turn["answer"])),),
        }
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise Unusable(
            f"question, answer or answer_options are not indices of their lists ({error!s:.60})"
        ) from None


def _index(value: Any) -> int:
    index = int(value) if _is_text(value) else -1
    if index < 0:
        raise ValueError(f"{value!r:.40} is not a whole number from 0")
    return index


class Settings(LoaderSettings):
    """set: its name. sample: whether the source has `10p`, the part that the authors ran, or the full set.

    file: a name to look for, in place of the authors'. seed: for drawing wrong options. capitalize:
    whether questions and answers of dialogues get a capital first letter and lower case after it, as the
    authors do it.
    join_answers: whether several answers of an open question become one reference, joined by spaces, as the
    authors do for TextVQA, DocVQA and OCR-VQA, or one reference each.
    """

    set: str
    sample: Literal["full", "10p"] = "10p"
    file: str | None = Field(default=None, pattern=r"^[^\x00-\x1f]+$")
    seed: int = Field(default=0, ge=0, lt=2**32)
    capitalize: bool = True
    join_answers: bool = True


_STRIPPED = ("context", "text_evidence")  # columns with hints that have blanks at their ends
_CLEVRS = 5  # instructions, which CLEVR's questions take in turn


@dataclass(frozen=True)
class Shape:
    """Which column of a row has which field of an item.

    question: a column with a text or a list of wordings. asks: the question of all rows, or a text before
    that of the column. options: a column, or the options themselves; None for an open question, whose answer
    is a text or a list. by_text: whether the answer is an option's text, not its index.
    """

    image: str
    question: str = ""
    asks: str = ""
    hint: str = ""
    options: str | tuple[str, ...] | None = "answer_options"
    answer: str = "answer"
    by_text: bool = False


_DISTRACTORS = 3
DRAWN = ("drawn",)  # options are not in the file, but are drawn from the pool of the set
_TRUTH = "What is the truthfulness of this claim? Claim: "
_REGION = "What text matches the area enclosed by the red bounding box in the image?"
_ENTAILED = "Can you conclude this from the image?"
_MATCHES = "Does the image match the following caption?"
SHAPES = {
    "rows": Shape("image", "question", options="options"),
    "record": Shape("image", "question"),
    # a second word in reform.csv names the column of the hint
    "vqa": Shape("image_id", "question", by_text=True),
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


def _item(
    row: Row, name: str, wanted: ReformSet, head: Mapping[str, Any], pool: Sequence[str], settings: Settings
) -> RawItem:
    """head: the file's header. pool: answers to draw options from, in sets whose file has none."""
    kind, *words = wanted.shape
    shape = SHAPES[kind]
    # rows take the wordings in turn, as in the authors' code
    wordings = _wordings(row, shape, head if wanted.name == "clevr" else None)
    hint_column = words[0] if kind == "vqa" and words else shape.hint
    hint = row.text(hint_column) if hint_column else None
    options, answers, references = list[str](), list[int](), list[str]()
    if shape.options is None:
        references = _texts(row, shape.answer)
        if kind == "open_vqa" and settings.join_answers:
            references = [" ".join(references)]
    else:
        options = _options(row, shape, pool, f"{wanted.name}/{settings.seed}/{_source_id(row)}")
        answers = [_index_of(row, shape.answer, options) if shape.by_text else row.integer(shape.answer)]
        if wanted.name == "vsr":
            options = [text if text.endswith(".") else f"{text}." for text in options]
    column = "img" if wanted.name == "clevr" and "img" in row.values else shape.image
    return RawItem(
        id=f"{name}-{row.number:06d}",
        where=row.where,
        question=wordings[row.number % len(wordings)],
        phrasings=wordings if len(wordings) > 1 else (),
        hint=hint.strip() if hint is not None and hint_column in _STRIPPED else hint,
        options=options,
        answers=answers,
        references=references,
        images=(_image(row, column, wanted),),
        category=wanted.dimension,
        kind="text" if shape.options is None else "choice",
        source_id=_source_id(row),
    )


def _options(row: Row, shape: Shape, pool: Sequence[str], seed: str) -> list[str]:
    if shape.options == DRAWN:
        return _drawn_options(row.text(shape.answer), pool, seed)
    return row.texts(shape.options) if isinstance(shape.options, str) else list(shape.options or ())


def _drawn_options(answer: str, pool: Sequence[str], seed: str) -> list[str]:
    """Three wrong options, then the answer; or yes and no if the answer is one of these."""
    if answer in ("yes", "no"):
        return ["yes", "no"]
    wrong = [text for text in pool if text != answer]
    if len(wrong) < _DISTRACTORS:
        raise Unusable(f"its pool has {len(wrong)} other answers, fewer than the {_DISTRACTORS} to draw")
    return [*random.Random(seed).sample(wrong, _DISTRACTORS), answer]


def _wordings(row: Row, shape: Shape, clevr: Mapping[str, Any] | None) -> list[str]:
    """All wordings of the question. clevr: the header of CLEVR's file, which has its instructions."""
    if not shape.question:
        return [shape.asks]
    wordings = _texts(row, "questions" if "questions" in row.values else shape.question)
    if not wordings:
        raise Unusable(f"{shape.question} has no text")
    if shape.asks:
        return [f"{shape.asks}{wordings[0].strip()}"]
    if clevr is None:
        return wordings
    instructions = clevr.get("instructs")
    if not isinstance(instructions, list) or not instructions:
        raise Unusable("the file has no list `instructs` of CLEVR's instructions")
    return [f"{instruction} {wordings[0]}" for instruction in instructions[:_CLEVRS]]


def _texts(row: Row, column: str) -> list[str]:
    """A text or a list of them."""
    return row.texts(column) if isinstance(row.values.get(column), list) else [row.text(column)]


def _index_of(row: Row, column: str, options: Sequence[str]) -> int:
    text = row.text(column)
    if text not in options:
        raise Unusable(f"{column} {text!r:.60} is not one of its options")
    return options.index(text)


def _source_id(row: Row) -> str:
    names = (row.maybe(column) for column in ("question_id", "instance_id", "id"))
    return next((name for name in names if name is not None), str(row.number))


def _image(row: Row, column: str, wanted: ReformSet) -> bytes:
    """The image of a row, with the boxes of its set, or the part in its box."""
    images = row.images(column)
    if len(images) != 1:
        raise Unusable(f"{column} has {len(images)} images, not one")
    if not wanted.box:
        return images[0]
    boxes = row.values.get("region" if wanted.shape[0] == "region" else "bbox")
    if not isinstance(boxes, list) or not boxes:
        raise Unusable("has no boxes")
    thickness, form = wanted.box
    if thickness == "crop":
        return cropped(images[0], boxes, form)
    return with_boxes(images[0], boxes if isinstance(boxes[0], list) else [boxes], int(thickness), form)


_ROUNDS = 10  # of a dialogue at most, for the progress shown
_ENTAILMENT = {"0": "entailment", "1": "neutral", "2": "contradiction"}


def kinds(settings: Settings) -> Collection[str]:
    shape = SHAPES.get(find_set(settings.set, "settings.set").shape[0])
    return ("text",) if shape is not None and shape.options is None else ("choice",)


def expected(source: SourceFiles, settings: Settings) -> Expected | None:
    wanted = find_set(settings.set, "settings.set")
    counts = wanted.full if settings.sample == "full" else wanted.sample
    what = "groups" if wanted.shape[0] == "dialogue" else "items"
    return {what: counts} if counts else None


def count(source: SourceFiles, name: str, settings: Settings) -> int:
    wanted = find_set(settings.set, f"datasets.{name}.settings.set")
    counts = wanted.full if settings.sample == "full" else wanted.sample or wanted.full
    return max(counts) * (_ROUNDS if wanted.shape[0] == "dialogue" else 1)


def read(source: SourceFiles, name: str, settings: Settings) -> Iterator[RawItem | Rejected]:
    """The items in the order of the file; for TDIUC by the questions' ids, as the authors sort them."""
    wanted = find_set(settings.set, f"datasets.{name}.settings.set")
    file = _find(source, settings.file or wanted.file, name)
    shape = wanted.shape[0]
    if shape == "dialogue":
        yield from _dialogues(file, _checked(file, wanted), name, wanted, settings.capitalize)
        return
    if shape == "tdiuc":
        answers = _find(source, wanted.file.replace("_ques", "_anns"), name).checked()
        rows = _tdiuc(file, answers, wanted, settings.sample == "10p")
    else:
        path = file.checked()
        rows = (
            Row(values if isinstance(values, dict) else {}, f"{path} row {number}", number, file)
            for number, values in enumerate(json_rows.rows(path))
        )
    is_drawn = SHAPES[shape].options == DRAWN
    pool = _read_pool(source, wanted, name) if is_drawn else []
    head = {} if is_drawn else _checked(file, wanted)
    yield from items(rows, lambda row: _item(row, name, wanted, head, pool, settings))


def _find(source: SourceFiles, wanted: str, name: str) -> File:
    # one of the authors' configurations omits `.json`
    files = [file for file in source.files if f"/{file.name}".endswith((f"/{wanted}", f"/{wanted}.json"))]
    if len(files) != 1:
        what = "no file" if not files else f"{len(files)} files"
        raise UserError(
            f"{source.path}: {what} {wanted} in it; correct datasets.{name}.source or origin, or name yours "
            f"in datasets.{name}.settings.file"
        )
    return files[0]


def _checked(file: File, wanted: ReformSet) -> dict[str, Any]:
    """The file's header. Raises UserError if it states another version or split than reform.csv."""
    head = json_rows.header(file.checked())
    for key in ("version", "split", "dataset_name"):
        meant = getattr(wanted, key)
        if meant and str(head.get(key)) != meant:
            raise UserError(
                f"{file.path}: {key} is {head.get(key)!r:.60}, expected {meant!r}; fetch the right file"
            )
    if wanted.shape[0] == "entailment" and head.get("gt_info") != _ENTAILMENT:
        raise UserError(f"{file.path}: gt_info is {head.get('gt_info')!r:.80}, expected {_ENTAILMENT}")
    return head
