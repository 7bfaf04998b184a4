"""Your own items: one JSON object per line, images beside them.

    {"id": "q1", "question": "What is this?", "options": ["a kite", "a hat"], "answer": 1, "image": "1.png"}

source is the folder of the file (`settings.file`); image paths are relative to that folder and may not leave
it, so that a changed image is noticed.

docs/add-a-dataset.md describes the keys. `answer` is a 0-based index, the text of exactly one option, a
capital letter, or a list of them; an answer that can mean two options is refused. With `references` instead
of `options` a line is an open question. A line without a group joins the group of the earlier lines that have
the same image (by its bytes); `turns` names the earlier lines of a dialogue, which is one group.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from vouch.datasets.raw import LoaderSettings, RawItem, Rejected, Unusable, checked_dialogues
from vouch.datasets.read import json_rows
from vouch.datasets.read.files import UNSEEN, Source, lines
from vouch.datasets.read.images import leads_out, read_image, spoken, through_link, with_boxes
from vouch.pipeline.dag import left_out
from vouch.pipeline.errors import UserError

GROUP = "group"
_LINE = 3  # pixels, the thickness of a box


class Keys(BaseModel):
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
    every line must then have it. Without, a line may have GROUP.

    boxes: whether those of a line are drawn into its image, or put into its text.
    """

    file: str = Field(default="items.jsonl", pattern=r"^[^\x00-\x1f]+$")
    keys: Keys = Keys()
    group: str | None = None
    boxes: Literal["drawn", "text"] = "drawn"


def kinds(settings: Settings) -> Collection[str]:
    """Both: each line can be of either kind."""
    return ("choice", "text")


def count(source: Source, name: str, settings: Settings) -> int:
    """Number of lines that are not blank."""
    path = _find(source.path, name, settings)
    with path.open("rb") as file:
        return sum(1 for line in lines(file, path) if line.strip())


def read(source: Source, name: str, settings: Settings) -> Iterator[RawItem | Rejected]:
    """One entry per line that is not blank; ids default to the line's number, from 1."""
    yield from checked_dialogues(_entries(source, name, settings))


def _entries(source: Source, name: str, settings: Settings) -> Iterator[RawItem | Rejected]:
    path = _find(source.path, name, settings)
    empty = True
    with path.open("rb") as file:
        for number, line in enumerate(lines(file, path), start=1):
            if not line.strip():
                continue
            empty, where, known = False, f"{path} line {number}", ""
            try:
                values = json_rows.json_object(line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line)
                known = _id(values, settings.keys, number)
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


def _id(values: Mapping[str, Any], keys: Keys, number: int) -> str:
    value = values.get(keys.id)
    if value is None:
        return str(number)
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise Unusable(f"{keys.id} is a {type(value).__name__}, not a text or an integer")
    return str(value)


def _item(values: Mapping[str, Any], name: str, where: str, root: Path, settings: Settings) -> RawItem:
    keys = settings.keys
    is_open = values.get(keys.references) is not None
    kind: Literal["choice", "text"] = "text" if is_open else "choice"
    if is_open and values.get(keys.options) is not None:
        raise Unusable(f"has both {keys.options} and {keys.references}; keep one of them")
    either = {"references"} if kind == "text" else {"options", "answer"}
    given = keys.model_fields_set - {"references", "options", "answer"}
    needed = {getattr(keys, field) for field in {"question"} | either | given}
    missing = sorted((needed | ({settings.group} if settings.group else set())) - values.keys())
    if missing:
        there = json_rows.listed_names(sorted(values)) or "nothing"
        raise Unusable(f"has no {json_rows.listed_names(missing)}; it has {there}")
    hint = "" if values.get(keys.hint) is None else json_rows.text(values, keys.hint)
    group = settings.group or GROUP
    options = json_rows.options(values[keys.options], keys.options) if kind == "choice" else []
    item = RawItem(
        id=name,
        where=where,
        question=json_rows.text(values, keys.question),
        options=options,
        answers=json_rows.answers(values[keys.answer], options, keys.answer) if kind == "choice" else [],
        references=json_rows.references(values[keys.references], keys.references) if kind == "text" else [],
        kind=kind,
        hint=hint if hint.strip() else None,  # most sources write an empty hint where there is none
        images=_images(values, keys),
        root=root,
        category="" if values.get(keys.category) is None else json_rows.text(values, keys.category),
        group=json_rows.group(values[group], group)
        if settings.group or values.get(group) is not None
        else None,
        turns=json_rows.turns(values.get(keys.turns), keys.turns),
        exchange=json_rows.exchange(values.get(keys.exchange), keys.exchange),
    )
    boxes = values.get(keys.boxes)
    return item if boxes is None else _with_boxes(item, boxes, settings.boxes == "drawn", keys.boxes)


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


def _images(values: Mapping[str, Any], keys: Keys) -> list[str]:
    one, many = values.get(keys.image), values.get(keys.images)
    if one is not None and many is not None:
        raise Unusable(f"has both {keys.image} and {keys.images}; keep one of them")
    if one is not None:
        return [json_rows.text(values, keys.image)]
    if many is not None and not (isinstance(many, list) and all(isinstance(path, str) for path in many)):
        raise Unusable(f"{keys.images} is not a list of paths")
    return list(many or ())
