"""Columns of the prompts table, gathered item after item: a row is a few numbers of what it shows.

Most prompts of an item have their words or pictures in common with others of it, and all items the names of
the variations. Each of these becomes arrow once, and rows take it from there.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from vouch.prompts.build import arrays
from vouch.prompts.build.prompt import Around, Words
from vouch.prompts.build.recipes import Recipe
from vouch.prompts.build.variation import Step
from vouch.tables.prompts import PICTURE, PROMPTS, STEP, TURN

K = TypeVar("K")


class Numbered(dict[K, int]):
    """Keys in the order in which they were first asked for, each with its number from 0."""

    def __missing__(self, key: K) -> int:
        self[key] = number = len(self)
        return number


class Head(NamedTuple):
    """Of which variation a prompt is. ending: of its id, after that of the item."""

    ending: str
    variation: str
    family: str
    effect: str


class Ask(NamedTuple):
    """What is read out of a prompt. cap: most tokens of a generated text."""

    outputs: tuple[str, ...]
    cap: int | None


class Shown:
    """Pictures of prompts, flat: of each prompt the number of recipes, of each of these that of its images
    and which steps are done, and all images one after the other: digests, or, where what items have in common
    is shown, places among the images of an item."""

    def __init__(self) -> None:
        self.recipes: list[int] = []
        self.images: list[int] = []
        self.steps: list[int] = []
        self.sources: list[Any] = []

    def add(self, recipes: Sequence[Recipe], steps: Numbered[tuple[Step, ...]]) -> None:
        """Adds the pictures of one prompt."""
        self.recipes.append(len(recipes))
        for images, done in recipes:
            self.images.append(len(images))
            self.steps.append(steps[done])
            self.sources.extend(images)

    def extend(self, common: "Shown", images: Sequence[str]) -> None:
        """Adds what items have in common, of one with these images."""
        self.recipes += common.recipes
        self.images += common.images
        self.steps += common.steps
        self.sources += [images[place] for place in common.sources]

    def array(self, steps: Iterable[tuple[Step, ...]]) -> pa.Array:
        """The column of recipes."""
        images = arrays.listed(self.images, arrays.texts(self.sources))
        done = _steps(list(steps)).take(arrays.integers(self.steps))
        return arrays.listed(self.recipes, pa.StructArray.from_arrays([images, done], fields=list(PICTURE)))


class Rows:
    """Rows of the table: of each the number of its item, head, ask, words and pictures."""

    def __init__(self) -> None:
        self.items: list[int] = []
        self.heads: list[int] = []
        self.outputs: list[int] = []
        self.words: list[int] = []
        self.pictures: list[int] = []


class Gathered:
    """Prompts not yet made a table. template: name of its file."""

    def __init__(self, template: str) -> None:
        self._style = template
        self.heads: list[Head] = []
        self.outputs: Numbered[Ask] = Numbered()
        self.steps: Numbered[tuple[Step, ...]] = Numbered()
        self._clear()

    def _clear(self) -> None:
        self.rows, self.shown = Rows(), Shown()
        self.items: list[str] = []
        self.texts: list[str] = []
        self.options: list[Sequence[str]] = []
        self._around: Numbered[Around] = Numbered()
        self._around_texts: list[int] = []

    def say(self, words: Words) -> int:
        """The number of words that are added."""
        self.texts.append(words.text)
        self.options.append(words.options)
        self._around_texts.append(self._around[words.around])
        return len(self.texts) - 1

    def table(self) -> pa.Table:
        """All prompts gathered since the last table, which are forgotten."""
        if not self.rows.items:
            return PROMPTS.schema.empty_table()
        rows, columns = self.rows, dict[str, pa.Array]()
        for values, numbers in (
            ({"item": arrays.texts(self.items)}, rows.items),
            (_heads(self.heads), rows.heads),
            (_asks(list(self.outputs)), rows.outputs),
            (_around(list(self._around)), [self._around_texts[number] for number in rows.words]),
            ({"text": arrays.texts(self.texts), "options": arrays.lists(self.options)}, rows.words),
            ({"pictures": self.shown.array(self.steps)}, rows.pictures),
        ):
            places = arrays.integers(numbers)
            columns |= {name: array.take(places) for name, array in values.items()}
        always = arrays.integers([0] * len(rows.items))
        columns["template"], nothing = (arrays.texts([text]).take(always) for text in (self._style, ""))
        columns["id"] = pc.binary_join_element_wise(columns["item"], columns.pop("ending"), nothing)
        self._clear()
        return pa.Table.from_arrays([columns[name] for name in PROMPTS.schema.names], schema=PROMPTS.schema)


def whole(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """The same rows in tables of one row group each."""
    size, left = PROMPTS.rows_per_group, list[pa.Table]()
    for table in tables:
        whole = pa.concat_tables([*left, table]).combine_chunks()
        end = len(whole) // size * size
        yield from (whole.slice(first, size) for first in range(0, end, size))
        left = [whole.slice(end)]
    yield from (table for table in left if len(table))


def _heads(heads: Sequence[Head]) -> dict[str, pa.Array]:
    return {
        name: arrays.texts(list(values))
        for name, values in zip(Head._fields, zip(*heads, strict=True), strict=True)
    }


def _asks(outputs: Sequence[Ask]) -> dict[str, pa.Array]:
    return {
        "outputs": arrays.lists([output.outputs for output in outputs]),
        "max_tokens": arrays.optional_integers([output.cap for output in outputs]),
    }


def _steps(steps: Sequence[Sequence[Step]]) -> pa.Array:
    every = list(chain.from_iterable(steps))
    flat = [
        arrays.texts([step.operation for step in every]),
        arrays.integers(step.severity for step in every),
        arrays.integers(step.revision for step in every),
    ]
    return arrays.listed(map(len, steps), pa.StructArray.from_arrays(flat, fields=list(STEP)))


def _around(around: Sequence[Around]) -> dict[str, pa.Array]:
    return {
        "system": arrays.optional_texts([one.system for one in around]),
        "turns": _turns([one.turns for one in around]),
        "response": arrays.optional_texts([one.response for one in around]),
        "earlier": _earlier([one.earlier for one in around]),
        "order": arrays.integer_lists([one.order for one in around]),
        "marks": arrays.lists([one.marks for one in around]),
        "answers": arrays.integer_lists([one.answers for one in around]),
    }


def _turns(values: Sequence[Sequence[tuple[str, str]]]) -> pa.Array:
    flat = list(chain.from_iterable(values))
    said = [arrays.texts([turn[place] for turn in flat]) for place in (0, 1)]
    return arrays.listed(map(len, values), pa.StructArray.from_arrays(said, fields=list(TURN)))


def _earlier(values: Sequence[Sequence[Sequence[str]]]) -> pa.Array:
    return arrays.listed(map(len, values), arrays.lists(list(chain.from_iterable(values))))
