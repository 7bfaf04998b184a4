"""table: any table as a dataset, by a map of its columns in params.yaml, without Python.

    source: ../my-data/birds           a folder, or vouch/datasets/fetch with an `origin`
    settings:
      columns: {question: prompt, options: [A, B, C, D], answer: label, image: photo, category: family}

Parquet, TSV, CSV, JSON, JSON lines and Arrow. An image is in its cell, or the cell names a file beside the
table or inside a zip archive.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import chain
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from vouch.datasets.raw import LoaderSettings, RawItem, Rejected, Unusable
from vouch.datasets.read import json_rows
from vouch.datasets.read.files import File, Row, SourceFiles, Tree, as_text, is_missing, items
from vouch.datasets.read.forms import ENDINGS, count_rows, ending, rows
from vouch.pipeline.errors import UserError
from vouch.pipeline.validation import EACH_ONCE, each_once


class Columns(BaseModel):
    """The column of each field. options: one column with a list, or a column for each option."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    question: str
    options: str | list[str] | None = None
    answer: str | None = None
    references: str | None = None
    image: str | list[str] = []
    hint: str | None = None
    id: str | None = None
    category: str | None = None
    group: str | None = None

    @field_validator("options", "image")
    @classmethod
    def _each_once(cls, columns: str | list[str] | None) -> str | list[str] | None:
        return each_once(columns) if isinstance(columns, list) else columns

    @property
    def names(self) -> list[str]:
        """All columns, each once."""
        cells = [[cell] if isinstance(cell, str) else cell or [] for cell in self.model_dump().values()]
        return list(dict.fromkeys(chain.from_iterable(cells)))


class Settings(LoaderSettings):
    """files: patterns of the tables to read; empty: all. choices: the options of every row.

    answer: the form of the answer: an index from 0, a number from 1, a letter, the text of an option, or
    (`auto`) an index if it is an integer, else a letter or a text. image: the path of an image, in which {}
    is replaced by the value of its cell.
    """

    columns: Columns
    files: Annotated[list[str], EACH_ONCE] = Field(default=[])
    choices: Annotated[list[str] | None, EACH_ONCE] = Field(default=None, min_length=2)
    answer: Literal["auto", "index", "number", "letter", "text"] = "auto"
    image: str | None = Field(default=None, pattern=r"^[^{}]*\{\}[^{}]*$")

    @model_validator(mode="after")
    def _answered(self) -> Self:
        columns = self.columns
        optional = bool(columns.options) + (self.choices is not None)
        if optional > 1:
            raise ValueError("give columns.options or choices, not both")
        if bool(optional) != (columns.answer is not None):
            raise ValueError("a choice needs its options (columns.options or choices) and columns.answer")
        if columns.answer is None and columns.references is None:
            raise ValueError("give columns.answer for a choice, or columns.references for open questions")
        return self


def kinds(settings: Settings) -> Collection[str]:
    columns = settings.columns
    return tuple(k for k, there in (("choice", columns.answer), ("text", columns.references)) if there)


def count(source: SourceFiles, name: str, settings: Settings) -> int:
    return count_rows(_tables(source, name, settings), ENDINGS)


def read(source: SourceFiles, name: str, settings: Settings) -> Iterator[RawItem | Rejected]:
    """One item per row; ids are the rows' numbers, from 0, if there is no column of ids."""
    with Tree(source) as tree:
        tables = _tables(source, name, settings)
        yield from items(
            rows(tables, settings.columns.names, endings=ENDINGS), lambda row: _item(row, settings, tree)
        )


def _tables(source: SourceFiles, name: str, settings: Settings) -> SourceFiles:
    """The tables to read, all of one form. Raises UserError."""
    wanted = settings.files or [f"*{form}" for form in ENDINGS]
    files = [file for file in source.files if any(_fits(file.name, pattern) for pattern in wanted)]
    forms = {ending(file): file.name for file in files}
    if not files or not forms.keys() <= set(ENDINGS):
        raise UserError(
            f"{source.path}: no table {' or '.join(wanted)} among its files ({source.listed()}); a table "
            f"ends in {', '.join(ENDINGS)}: correct datasets.{name}.settings.files"
        )
    if len(forms) > 1:
        raise UserError(
            f"{source.path}: tables of several forms ({', '.join(sorted(forms.values()))}); name "
            f"the tables to read in datasets.{name}.settings.files"
        )
    return replace(source, chosen=tuple(files))


def _fits(name: str, pattern: str) -> bool:
    name, pattern = name.lower(), pattern.lower()
    return fnmatchcase(name, pattern) or fnmatchcase(name.rpartition("/")[2], pattern)


def _item(row: Row, settings: Settings, tree: Tree) -> RawItem:
    columns = settings.columns
    references = None if columns.references is None else row.values.get(columns.references)
    is_open = columns.answer is None or not (is_missing(references) or references in ("", []))
    options = [] if is_open else _options(row, settings)
    group = None if columns.group is None else row.maybe(columns.group)
    return RawItem(
        id=str(row.number) if columns.id is None else row.text(columns.id),
        where=row.where,
        question=row.text(columns.question),
        options=options,
        answers=[] if is_open else _answers(row, settings, options),
        references=_references(row, str(columns.references)) if is_open else [],
        hint=_maybe(row, columns.hint) or None,
        images=_images(row, settings, tree),
        category=_category(row, columns.category),
        group=group or None,
        kind="text" if is_open else "choice",
    )


def _maybe(row: Row, column: str | None) -> str:
    return "" if column is None else (row.maybe(column) or "").strip()


def _cells(row: Row, column: str) -> list[Any]:
    value = row.values.get(column)
    return value if isinstance(value, list) else [value]


def _options(row: Row, settings: Settings) -> list[str | None]:
    """The options of a row; its last columns are empty if it has fewer options."""
    if settings.choices is not None:
        return list(settings.choices)
    columns = settings.columns.options
    if isinstance(columns, str):
        return list(row.texts(columns))
    options = [row.maybe(column) or None for column in columns or ()]
    while options and options[-1] is None:
        options.pop()
    return options


def _references(row: Row, column: str) -> list[str]:
    texts = [as_text(cell, column) for cell in _cells(row, column)]
    if not any(texts):
        raise Unusable(f"{column} is empty; if its answers are hidden, take another split")
    if None in texts:
        raise Unusable(f"{column} is a list with a missing answer; remove the empty element")
    return [text for text in texts if text is not None]


def _category(row: Row, column: str | None) -> str:
    """The category; several are sorted and joined into one text."""
    if column is not None and isinstance(row.values.get(column), list):
        return ", ".join(sorted(row.texts(column)))
    return _maybe(row, column)


def _answers(row: Row, settings: Settings, options: Sequence[str | None]) -> list[int]:
    column = str(settings.columns.answer)
    cells = _cells(row, column)
    return [_answer(row.with_cell(column, cell), column, settings, options) for cell in cells]


def _answer(row: Row, column: str, settings: Settings, options: Sequence[str | None]) -> int:
    if settings.answer == "letter":
        return row.letter(column, len(options))
    if settings.answer in ("index", "number"):
        index = row.integer(column) - (settings.answer == "number")
        if not 0 <= index < len(options):
            raise Unusable(f"{column} {row.text(column)!r:.40} is not one of its {len(options)} options")
        return index
    if settings.answer == "text":
        same = [index for index, option in enumerate(options) if option == row.text(column)]
        if len(same) != 1:
            number = "none" if not same else "several"
            raise Unusable(
                f"{column} {row.text(column)!r:.80} is the text of {number} of its {len(options)} options"
            )
        return same[0]
    return json_rows.answer(row.values[column], options, column)


def _images(row: Row, settings: Settings, tree: Tree) -> list[bytes]:
    image = settings.columns.image
    columns = [image] if isinstance(image, str) else image
    return [image for column in columns for image in _images_of(row, column, settings.image, tree)]


def _images_of(row: Row, column: str, pattern: str | None, tree: Tree) -> list[bytes]:
    """Images of one column: encoded in the cell, or files that it names. Base64 has no dot."""
    images = []
    for cell in _cells(row, column):
        path = cell.get("path") if isinstance(cell, dict) and cell.get("bytes") is None else cell
        if pattern is not None and not (is_missing(path) or path == ""):
            path = pattern.replace("{}", row.with_cell(column, path).text(column))
        if isinstance(path, str) and "." in path[:1000]:
            images.append(tree.read(_beside(row.file, path, tree)))
        else:
            images += row.with_cell(column, cell).images(column)
    return images


def _beside(table: File, path: str, tree: Tree) -> str:
    """The name of an image whose path is relative to the table's folder or to the top. Raises Unusable."""
    folder = table.name.rpartition("/")[0]
    clean = path.removeprefix("./")
    for name in (f"{folder}/{clean}" if folder else clean, clean):
        if name in tree:
            return name
    raise Unusable(
        f"no image {path!r:.120} beside its table; correct the path, or add the file or its archive"
    )
