"""reform: one of the 61 sets of ReForm-Eval (Li et al. 2023), as Aweminus/ReForm-Eval-Data holds them.

`settings.set` names it, docs/reform-eval.md lists them. source is a folder with that repository's files (or some of
them), wherever they lie in it. Pictures are base64 texts in the rows.

What the authors do at run time with an unset seed is done here once, with `settings.seed` and the item's id:
wrong options of TDIUC and of COCO counting are drawn from the set's own pool. Boxes are drawn into the picture.
Where a family's instruction is itself the question, the item's question is a short one with the same meaning,
so that other styles can ask it, and what the instruction speaks of (a caption, a claim) is the hint.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from pydantic import Field

from stages.prepare.raw import Expected, LoaderSettings, RawItem, Rejected, Unusable
from stages.runtime.errors import UserError
from stages.sources.reading import records
from stages.sources.reading.files import File, Source
from stages.sources.reading.reform import Set, find_set, with_boxes
from stages.sources.reading.row import Row, items

_YES_NO = ["yes", "no"]
_DISTRACTORS = 3
_ROUNDS = 10  # of a dialogue at most, for the progress shown
_ENTAILMENT = {"0": "entailment", "1": "neutral", "2": "contradiction"}


class Settings(LoaderSettings):
    """set: its name. sample: what the source holds: 10p, the part that the authors ran, or the full set.

    file: a name to look for, in place of the authors'. seed: of wrong options that are drawn. capitalize:
    whether questions and answers of dialogues begin with a capital letter and go on in small ones, as the
    authors have it. join_answers: whether several answers of an open question are one reference, joined by
    spaces, as the authors have it for TextVQA, DocVQA and OCR-VQA, or one reference each.
    """

    set: str
    sample: Literal["full", "10p"] = "10p"
    file: str | None = Field(default=None, pattern=r"^[^\x00-\x1f]+$")
    seed: int = Field(default=0, ge=0)
    capitalize: bool = True
    join_answers: bool = True


def expected(source: Source, settings: Settings) -> Expected | None:
    """How many items, or dialogues, there should be."""
    wanted = find_set(settings.set, "settings.set")
    counts = wanted.full if settings.sample == "full" else wanted.sample
    what = "groups" if wanted.shape[0] == "dialogue" else "items"
    return {what: counts} if counts else None


def count(source: Source, name: str, settings: Settings) -> int:
    """Items at most."""
    wanted = find_set(settings.set, f"datasets.{name}.settings.set")
    counts = wanted.full if settings.sample == "full" else wanted.sample or wanted.full
    return max(counts) * (_ROUNDS if wanted.shape[0] == "dialogue" else 1)


def read(source: Source, name: str, settings: Settings) -> Iterator[RawItem | Rejected]:
    """The items in the order of the file; of TDIUC in that of the questions' ids, as the authors sort them."""
    wanted = find_set(settings.set, f"datasets.{name}.settings.set")
    file = _find(source, settings.file or wanted.file, name)
    shape, *words = wanted.shape
    if shape == "tdiuc":
        yield from items(_tdiuc(source, file, name, wanted, settings), _drawn(source, name, wanted, settings))
        return
    head = _checked(file, wanted)
    if shape == "dialogue":
        yield from _dialogues(file, head, name, wanted, settings)
        return
    rows = (
        Row(value if isinstance(value, dict) else {}, f"{file.path} row {number}", number, file)
        for number, value in enumerate(records.rows(file.checked()))
    )
    if shape == "counting":
        make = _drawn(source, name, wanted, settings)
    else:
        make = _maker(shape, words, name, wanted, settings, head)
    yield from items(rows, make)


def _find(source: Source, wanted: str, name: str) -> File:
    """The file whose name ends so; one of the authors' configurations forgets `.json`."""
    found = [file for file in source.files if f"/{file.name}".endswith((f"/{wanted}", f"/{wanted}.json"))]
    if len(found) != 1:
        what = "no file" if not found else f"{len(found)} files"
        raise UserError(
            f"{source.path}: {what} {wanted} in it; correct datasets.{name}.source or origin, or name yours in "
            f"datasets.{name}.settings.file"
        )
    return found[0]


def _checked(file: File, wanted: Set) -> dict[str, Any]:
    """The file's header. Raises UserError where it says that it is another version or split."""
    head = records.header(file.checked())
    for key in ("version", "split", "dataset_name"):
        meant = getattr(wanted, key)
        if meant and str(head.get(key)) != meant:
            raise UserError(f"{file.path}: {key} is {head.get(key)!r:.60}, expected {meant!r}; fetch the right file")
    if wanted.shape[0] == "entailment" and head.get("gt_info") != _ENTAILMENT:
        raise UserError(f"{file.path}: gt_info is {head.get('gt_info')!r:.80}, expected {_ENTAILMENT}")
    return head


# ---- rows -------------------------------------------------------------------------------------------


def _maker(
    shape: str, words: Sequence[str], name: str, wanted: Set, settings: Settings, head: Mapping[str, Any]
) -> Callable[[Row], RawItem]:
    """What makes an item of a row of a shape."""

    def make(row: Row) -> RawItem:
        if shape == "captions":
            return replace(base(row, "img"), question="Describe the image in one sentence.", kind="text",
                           references=row.texts("annos"))  # fmt: skip
        if shape in ("open", "open_vqa"):
            return _open(row, base(row, "image" if shape == "open" else "image_id"), shape, settings)
        if shape in _CHOICES:
            column, options, parts = _CHOICES[shape](row, *words)
            return replace(base(row, column), **options, **parts)
        question, options = _record(row) if shape == "record" else (row.text("question"), "options")
        chosen = _indexed(row, "answer", row.texts(options))
        return _phrased(replace(base(row, "image"), **chosen), question, head, wanted)

    def base(row: Row, column: str) -> RawItem:
        return RawItem(
            id=f"{name}-{row.number:06d}",
            where=row.where,
            question="",
            images=(_picture(row, column, wanted),),
            category=wanted.dimension,
            source_id=_source_id(row),
        )

    return make


def _source_id(row: Row) -> str:
    for column in ("question_id", "instance_id", "id"):
        if (value := row.maybe(column)) is not None:
            return value
    return str(row.number)


def _picture(row: Row, column: str, wanted: Set) -> bytes:
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


def _vqa(row: Row, context: str = "") -> tuple[str, dict[str, Any], dict[str, Any]]:
    chosen = _by_text(row, "answer", row.texts("answer_options"))
    hint = row.text(context) if context else None
    stripped = hint.strip() if hint is not None and context == "context" else hint
    return "image_id", chosen, {"question": row.text("question"), "hint": stripped}


def _why(row: Row) -> tuple[str, dict[str, Any], dict[str, Any]]:
    chosen = _by_text(row, "rationale", row.texts("rationale_options"))
    return "image_id", chosen, {"question": row.text("question"), "hint": row.text("answer")}


def _claim(row: Row) -> tuple[str, dict[str, Any], dict[str, Any]]:
    question = f"What is the truthfulness of this claim? Claim: {row.text('claim').strip()}"
    chosen = _by_text(row, "answer", row.texts("answer_options"))
    return "image_id", chosen, {"question": question, "hint": row.text("text_evidence").strip()}


def _stored(
    question: str, hint: str = "", options: str | Sequence[str] = "options"
) -> Callable[[Row], tuple[str, dict[str, Any], dict[str, Any]]]:
    """Rows with img, gt and perhaps options; the question is the same for all."""

    def make(row: Row) -> tuple[str, dict[str, Any], dict[str, Any]]:
        texts = row.texts(options) if isinstance(options, str) else list(options)
        asked = {"question": question, "hint": row.text(hint) if hint else None}
        return "img", _indexed(row, "gt", texts), asked

    return make


# By shape: the column of the picture, the options and the answer, the question and the hint.
_CHOICES: dict[str, Callable[..., tuple[str, dict[str, Any], dict[str, Any]]]] = {
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


def _record(row: Row) -> tuple[Any, str]:
    return row.values.get("questions", row.values.get("question")), "answer_options"


def _phrased(item: RawItem, question: Any, head: Mapping[str, Any], wanted: Set) -> RawItem:
    """With its wordings. The one of its place in the file is its question, as the authors take it in turn."""
    number = int(item.id.rpartition("-")[2])
    wordings = question if isinstance(question, list) else [question]
    if not wordings or any(not isinstance(wording, str) for wording in wordings):
        raise Unusable("question is neither a text nor a list of texts")
    if wanted.name == "clevr":
        instructions = head.get("instructs")
        if not isinstance(instructions, list) or not instructions:
            raise Unusable("the file has no list `instructs`, which holds CLEVR's instructions")
        wordings = [f"{instruction} {wordings[0]}" for instruction in instructions[:5]]
    if wanted.name == "vsr":
        item = replace(item, options=[text if str(text).endswith(".") else f"{text}." for text in item.options])
    phrasings = wordings if len(wordings) > 1 else ()
    return replace(item, question=wordings[number % len(wordings)], phrasings=phrasings)


def _open(row: Row, item: RawItem, shape: str, settings: Settings) -> RawItem:
    """A question without options; several answers are several references, or one, as the settings say."""
    column = "answer_txt" if shape == "open" else "answer"
    value = row.values.get(column)
    answers = row.texts(column) if isinstance(value, list) else [row.text(column)]
    if shape == "open_vqa" and settings.join_answers:
        answers = [" ".join(answers)]
    question = row.values.get("question")
    wordings = question if isinstance(question, list) else [question]
    if not wordings or any(not isinstance(wording, str) for wording in wordings):
        raise Unusable("question is neither a text nor a list of texts")
    phrasings = wordings if len(wordings) > 1 else ()
    chosen = wordings[row.number % len(wordings)]
    return replace(item, question=chosen, phrasings=phrasings, kind="text", references=answers)


# ---- sets whose wrong options are drawn --------------------------------------------------------------


def _drawn(source: Source, name: str, wanted: Set, settings: Settings) -> Callable[[Row], RawItem]:
    """Makes items whose wrong options come from the set's pool."""
    counting = wanted.shape[0] == "counting"
    pool = _pool(source, "objectCounting_answer_list/answer_list.json" if counting else
                 f"choice_list/{wanted.shape[1]}.json", name)  # fmt: skip

    def make(row: Row) -> RawItem:
        column = ("image" if row.values.get("image") else "Image_ID") if counting else "image_id"
        answer = row.text("Answer" if counting else "answer")
        item_id = f"{name}-{row.number:06d}"
        options = options_of(answer, pool, f"{wanted.name}/{settings.seed}/{_source_id(row)}")
        return RawItem(
            id=item_id,
            where=row.where,
            question=row.text("Question" if counting else "question"),
            options=options,
            answers=(options.index(answer),),
            images=(_picture(row, column, wanted),),
            category=wanted.dimension,
            source_id=_source_id(row),
        )

    return make


def options_of(answer: str, pool: Sequence[str], seed: str) -> list[str]:
    """Three wrong options and the answer, which stands last; yes and no where it is one of them.

    Raises Unusable where the pool is too small.
    """
    if answer in _YES_NO:
        return list(_YES_NO)
    wrong = [text for text in pool if text != answer]
    if len(wrong) < _DISTRACTORS:
        raise Unusable(f"has {len(wrong)} other answers to draw wrong options from, fewer than {_DISTRACTORS}")
    return [*random.Random(seed).sample(wrong, _DISTRACTORS), answer]


def _pool(source: Source, wanted: str, name: str) -> list[str]:
    """All different answers of a set, in the order of their file: texts, or objects with `choice`."""
    path = _find(source, wanted, name).checked()
    found = list(records.rows(path)) or records.header(path).get("choice")
    values = [one.get("choice") if isinstance(one, dict) else one for one in found or ()]
    if not values or any(isinstance(value, bool) or not isinstance(value, str | int) for value in values):
        raise UserError(f"{path}: holds no list of answers; fetch it again")
    return list(dict.fromkeys(map(str, values)))


def _tdiuc(source: Source, file: File, name: str, wanted: Set, settings: Settings) -> Iterator[Row]:
    """Rows of one type of question with their answers, by id; every 40th or 100th of a full set for 10p."""
    _, kind, stride = wanted.shape
    answers: dict[int, str] = {}
    path = _find(source, wanted.file.replace("_ques", "_anns"), name).checked()
    for number, value in enumerate(records.rows(path)):
        if isinstance(value, dict) and value.get("question_type") == kind:
            try:
                answers[int(value["question_id"])] = str(value["answers"][0]["answer"])
            except (KeyError, IndexError, TypeError, ValueError):
                raise UserError(f"{path} row {number}: has no question_id or no answers; fetch it again") from None
    ids = sorted(answers)
    if settings.sample == "10p" and len(ids) in wanted.full:
        ids = ids[:: int(stride)]
    kept = set(ids)
    found = {
        value["question_id"]: value
        for value in records.rows(file.checked())
        if isinstance(value, dict) and value.get("question_id") in kept
    }
    for number, key in enumerate(ids):
        values = {**found.get(key, {"question_id": key}), "answer": answers[key]}
        yield Row(values, f"{file.path} question {key}", number, file)


# ---- dialogues ---------------------------------------------------------------------------------------


def _dialogues(
    file: File, head: Mapping[str, Any], name: str, wanted: Set, settings: Settings
) -> Iterator[RawItem | Rejected]:
    """Rounds of dialogues; a dialogue is one group, and each round names those before it."""
    data = head.get("data")
    if not isinstance(data, dict) or not all(isinstance(data.get(key), list) for key in ("dialogs", "questions", "answers")):
        raise UserError(f"{file.path}: data holds no lists dialogs, questions and answers; fetch it again")
    questions = [_asked(text, settings) for text in data["questions"]]
    answers = [text.capitalize() if settings.capitalize else text for text in map(str, data["answers"])]
    for number, dialog in enumerate(data["dialogs"]):
        where = f"{file.path} dialog {number}"
        row = Row(dialog if isinstance(dialog, dict) else {}, where, number, file)
        before: list[str] = []
        try:
            picture = _picture(row, "image" if row.values.get("image") else "image_id", wanted)
        except Unusable as error:
            yield Rejected(where, "", str(error))
            continue
        for place, turn in enumerate(row.values.get("dialog") or ()):
            spot = f"{where} round {place}"
            try:
                item = _round(turn, questions, answers)
            except (Unusable, KeyError, IndexError, TypeError, ValueError) as error:
                reason = str(error) if isinstance(error, Unusable) else f"has no good {error!s:.60}"
                yield Rejected(spot, "", reason)
                break  # what follows would lack a round
            yield RawItem(
                id=f"{name}-{number:05d}-{place:02d}",
                where=spot,
                images=(picture,),
                category=wanted.dimension,
                source_id=f"{row.maybe('image_id') if len(row.maybe('image_id') or '') < 80 else number}_{place}",
                group=f"{name}-{number:05d}",
                turns=tuple(before),
                **item,
            )
            before.append(f"{name}-{number:05d}-{place:02d}")


def _round(turn: Mapping[str, Any], questions: Sequence[str], answers: Sequence[str]) -> dict[str, Any]:
    chosen = [int(index) for index in turn["answer_options"]]
    if min([int(turn["question"]), *chosen]) < 0:
        raise Unusable("counts backwards in the lists of questions and answers")
    return {
        "question": questions[int(turn["question"])],
        "options": [answers[index] for index in chosen],
        "answers": (chosen.index(int(turn["answer"])),),
    }


def _asked(text: Any, settings: Settings) -> str:
    question = str(text).capitalize() if settings.capitalize else str(text)
    return question if question.endswith("?") else f"{question}?"
