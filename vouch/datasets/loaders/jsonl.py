"""Your own items: one JSON object per line, images beside them.

    {"id": "q1", "question": "What is this?", "options": ["a kite", "a hat"], "answer": 1, "image": "1.png"}

source is the folder of the file (`settings.file`); image paths are relative to that folder and may not leave
it, so that a changed image is noticed.

docs/add-a-dataset.md describes the keys. `answer` is a 0-based index, the text of exactly one option, a
capital letter, or a list of them; an answer that can mean two options is refused. With `references` instead
of `options` a line is an open question. A line without a group joins the group of the earlier lines that have
the same image (by its bytes); `turns` names the earlier lines of a dialogue, which is one group.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import NoneType
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from vouch.datasets.raw import LoaderSettings, RawItem, Rejected, Unusable, both_kinds, checked_dialogues
from vouch.datasets.read import json_rows
from vouch.datasets.read.files import UNSEEN, SourceFiles, lines
from vouch.datasets.read.images import leads_out, read_image, spoken, through_link, with_boxes
from vouch.pipeline.dag import left_out
from vouch.pipeline.errors import UserError

GROUP = "group"
_LINE = 3  # pixels, the thickness of a box


class FieldKeys(BaseModel):
    """The key of each field. A key that is set must be on every line; its value may be null."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    question: str = "question"
    options: str = "options"
    answer: str = "answer"
    references: str = "references"
    image: str = "image"
    images: str = "images"
    hint: str = "hint"
    id: str = "id"
    category: str = "category"
    turns: str = "turns"
    exchange: str = "exchange"
    boxes: str = "boxes"


class Settings(LoaderSettings):
    """file: inside the source folder. group: key whose equal values keep items on one side of the split;
    every line must then have it. If it is not set, lines may have GROUP.

    boxes: whether the boxes of a line are drawn into its image or written into its text.
    """

    file: str = Field(default="items.jsonl", pattern=r"^[^\x00-\x1f]+$")
    keys: FieldKeys = FieldKeys()
    group: str | None = None
    boxes: Literal["drawn", "text"] = "drawn"


kinds = both_kinds


def count(source: SourceFiles, name: str, settings: Settings) -> int:
    path = _find(source.path, name, settings)
    with path.open("rb") as file:
        return sum(1 for line in lines(file, path) if line.strip())


def read(source: SourceFiles, name: str, settings: Settings) -> Iterator[RawItem | Rejected]:
    """One entry per line that is not blank; ids default to the line's number, from 1."""
    yield from checked_dialogues(_entries(source, name, settings))


def _entries(source: SourceFiles, name: str, settings: Settings) -> Iterator[RawItem | Rejected]:
    path = _find(source.path, name, settings)
    empty = True
    with path.open("rb") as file:
        for number, line in enumerate(lines(file, path), start=1):
            if not line.strip():
                continue
            empty, where, known = False, f"{path} line {number}", ""
            try:
                values = json_rows.json_object(line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line)
                given = values.get(settings.keys.id)
                known = str(number) if given is None else _name(given, settings.keys.id, "")
                yield _item(values, known, where, path.parent, settings)
            except Unusable as error:
                yield Rejected(where, known, str(error))
    if empty:
        raise UserError(f"{path}: is empty; put one JSON object per line into it")


def _find(source: Path, name: str, settings: Settings) -> Path:
    if source.is_file():
        raise UserError(
            f"{source}: is a file; name its folder as datasets.{name}.source, so that changes of its "
            "images are noticed, and the file in settings.file"
        )
    if not source.is_dir():
        raise UserError(f"{source}: no such file or folder; correct datasets.{name}.source in params.yaml")
    path = source / settings.file
    if leads_out(path, source):
        raise UserError(f"{path}: leads out of {source}; correct datasets.{name}.settings.file")
    if through_link(source, Path(settings.file).parts[:-1]):
        raise UserError(
            f"{path}: behind a link to a folder, whose changes are not noticed; name the folder itself in "
            f"datasets.{name}.settings.file"
        )
    if part := left_out(path):
        raise UserError(f"{path}: {UNSEEN.format(part)}, in datasets.{name}.settings.file as well")
    if not path.is_file():
        raise UserError(f"{path}: no such file; add it, or name yours in datasets.{name}.settings.file")
    return path


def _name(value: Any, key: str, what: str) -> str:
    """An id or a group: a text, or an integer that is written as one."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise Unusable(f"{key} is a {type(value).__name__}, not a text or an integer{what}")
    return str(value)


def _list(value: Any, key: str, kinds: tuple[type, ...], what: str) -> list[Any]:
    """A list of values of these kinds, empty if there is none."""
    values = [] if value is None else value
    if not isinstance(values, list) or not all(type(element) in kinds for element in values):
        raise Unusable(f"{key} is not a list of {what}")
    return values


def _item(values: Mapping[str, Any], name: str, where: str, root: Path, settings: Settings) -> RawItem:
    keys = settings.keys

    def maybe(key: str) -> str:
        return "" if values.get(key) is None else json_rows.text(values, key)

    is_open = values.get(keys.references) is not None
    if is_open and values.get(keys.options) is not None:
        raise Unusable(f"has both {keys.options} and {keys.references}; keep one of them")
    _check_keys(values, is_open, settings)
    options = [] if is_open else json_rows.options(values[keys.options], keys.options)
    answers, references = [], []
    if is_open:
        given = values[keys.references]
        references = given if isinstance(given, list) else [given]
        if not all(isinstance(text, str) for text in references):
            raise Unusable(f"{keys.references} is not a text or a list of texts; put numbers in quotes")
    else:
        given = values[keys.answer]
        several = given if isinstance(given, list) else [given]
        answers = [json_rows.answer(value, options, keys.answer) for value in several]
    hint, group = maybe(keys.hint), settings.group or GROUP
    has_group = settings.group or values.get(group) is not None
    item = RawItem(
        id=name,
        where=where,
        question=json_rows.text(values, keys.question),
        options=options,
        answers=answers,
        references=references,
        kind="text" if is_open else "choice",
        hint=hint if hint.strip() else None,  # most sources write an empty hint if they have none
        images=_images(values, keys),
        root=root,
        category=maybe(keys.category),
        group=_name(values[group], group, " that names a group") if has_group else None,
        turns=list(map(str, _list(values.get(keys.turns), keys.turns, (str, int), "ids of earlier lines"))),
        exchange=_list(
            values.get(keys.exchange), keys.exchange, (str, NoneType), "paths and nulls, one for each image"
        ),
    )
    boxes = values.get(keys.boxes)
    return item if boxes is None else _with_boxes(item, boxes, settings.boxes == "drawn", keys.boxes)


def _check_keys(values: Mapping[str, Any], is_open: bool, settings: Settings) -> None:
    """Raises Unusable if the line lacks a key that it must have, or that the settings name."""
    keys = settings.keys
    either = {"references"} if is_open else {"options", "answer"}
    fields = {"question"} | either | (keys.model_fields_set - {"references", "options", "answer"})
    needed = {getattr(keys, field) for field in fields} | ({settings.group} if settings.group else set())
    if missing := sorted(needed - values.keys()):
        there = json_rows.listed_names(sorted(values)) or "nothing"
        raise Unusable(f"has no {json_rows.listed_names(missing)}; it has {there}")


def _with_boxes(item: RawItem, boxes: Any, drawn: bool, key: str) -> RawItem:
    if not isinstance(boxes, list) or not boxes or len(item.images) != 1:
        raise Unusable(f"{key} is not a list of boxes, or there is not one image for them")
    (image,) = item.images
    if drawn and isinstance(image, str):
        image = with_boxes(read_image(image, item.root), boxes, _LINE, "corners")
    return replace(
        item,
        question=spoken(item.question, boxes, drawn),
        options=[None if option is None else spoken(option, boxes, drawn) for option in item.options],
        images=[image],
    )


def _images(values: Mapping[str, Any], keys: FieldKeys) -> list[str]:
    if values.get(keys.image) is None:
        return _list(values.get(keys.images), keys.images, (str,), "paths")
    if values.get(keys.images) is not None:
        raise Unusable(f"has both {keys.image} and {keys.images}; keep one of them")
    return [json_rows.text(values, keys.image)]
