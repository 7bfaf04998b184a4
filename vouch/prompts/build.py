"""Rows of the items table become prompts: items are read, each variation is applied, the template renders.

`read_items` yields items with everything that a prompt can need: cleaned questions, rewrites, images to
exchange, earlier turns. `Prompts.rows` yields the rows of the prompts table for one item.

`vary` takes at most three times as long as pyarrow takes to write its rows (benchmarks/vary.py). So drafts of
an item with the same words or the same images (as several severities have the same words) share them."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from vouch.pipeline.errors import UserError
from vouch.prompts.combination import Variation, load_variation
from vouch.prompts.config import DatasetPrompts
from vouch.prompts.draft import TURNS, Draft, Item, Step, prompt_id, start
from vouch.prompts.exchange import Exchanges
from vouch.prompts.fit import as_added
from vouch.prompts.template import ADDED, JOINING, LABELS, ImageMarks, Template
from vouch.tables.asked import (
    ACCEPTED,
    BY_HAND,
    CLEAN,
    EARLIER_OPTIONS,
    INITIAL,
    ITEMS,
    PLACEHOLDER,
    TEXT,
    image_revision,
)
from vouch.tables.marks import in_words

# Reading items

_LISTS = ("options", "answers", "images", "references", "phrasings")
COLUMNS = ["id", "group", "question", "hint", "kind", *_LISTS, "exchange", "turns"]


def read_rows(path: Path) -> Iterator[Mapping[str, Any]]:
    """Rows of the items table in order, with their `index`. Raises UserError."""
    rows = (
        row
        for batch in ITEMS.open(path).iter_batches(columns=COLUMNS, use_threads=False)
        for row in batch.to_pylist()
    )
    yield from ({**row, "index": index} for index, row in enumerate(rows))


def read_items(path: Path, builder: "ItemBuilder") -> Iterator[Item]:
    """Items in order, a group at a time, including those that are not asked. Raises UserError."""
    return items_of(read_rows(path), builder, path)


def items_of(rows: Iterable[Mapping[str, Any]], builder: "ItemBuilder", path: Path) -> Iterator[Item]:
    """The same of rows in memory. path: of their source, for messages."""
    for _, group in groupby(rows, key=lambda row: row["group"]):
        yield from builder.items(list(group), path)


class Rewrites:
    """Rows of the rewrites table, to look questions up in."""

    def __init__(self, rows: Iterable[Mapping[str, Any]]) -> None:
        self._cleaned: dict[str, str | None] = {}
        self._others: dict[str, dict[str, str]] = {}
        for row in rows:
            if row["kind"] == CLEAN:
                # a model's proposal counts only once a person has decided
                if row["status"] == BY_HAND:
                    self._cleaned[row["original"]] = row["rewrite"]
            elif row["status"] in (ACCEPTED, BY_HAND):
                self._others.setdefault(row["original"], {})[row["kind"]] = row["rewrite"]

    def question(self, original: str) -> str | None:
        """The question as people cleaned it, None if they dropped it."""
        return self._cleaned.get(original, original)

    def others(self, question: str) -> Mapping[str, str]:
        """Kind -> the rewrite of a question, after cleaning; without those that were rejected."""
        return self._others.get(question, {})


@dataclass(frozen=True)
class ItemBuilder:
    """Builds items from rows. keeps: whether an item that people did not drop is asked."""

    rewrites: Rewrites
    exchanges: Exchanges
    keeps: Callable[[Item], bool]

    def items(self, rows: Sequence[Mapping[str, Any]], path: Path) -> list[Item]:
        """Items of one group, from adjacent rows; each has its earlier turns.

        rows: COLUMNS, and `index`. Raises UserError if a turn is none of the rows before.
        """
        followed = {turn for row in rows for turn in row["turns"] or ()}
        items: dict[str, Item] = {}
        for row in rows:
            missing = next((turn for turn in row["turns"] or () if turn not in items), None)
            if missing is not None:
                raise UserError(
                    f"{path}: item {row['id']} follows {missing}, which is no item of its group right before "
                    "it; correct the dataset's loader: a conversation is one group, its turns in a row"
                )
            turns = tuple(items[turn] for turn in row["turns"] or ())
            items[row["id"]] = self._item(row, turns, goes_on=row["id"] in followed)
        return list(items.values())

    def _item(self, row: Mapping[str, Any], turns: tuple[Item, ...], goes_on: bool) -> Item:
        lists = {name: tuple(row[name] or ()) for name in _LISTS}
        cleaned = self.rewrites.question(row["question"])
        question = row["question"] if cleaned is None else cleaned
        item = Item(
            **{**row, **lists, "question": question, "turns": turns, "exchange": self.exchanges.of(row)},
            goes_on=goes_on,
            kept=cleaned is not None,
            rewrites=self.rewrites.others(question),
        )
        return item if not item.kept or self.keeps(item) else replace(item, kept=False, filtered=True)


def keeping(config: DatasetPrompts, template: Template) -> Callable[[Item], bool]:
    """A function that tells whether an item is asked at all."""
    if config.rows == "all":
        return lambda _: True
    vs_e = load_variation("vs_e")
    return lambda item: vs_e.answers(item) is not None and bool(vs_e.drafts(item, template)[0])


def text_cap(template: Template, path: Path) -> int | None:
    """Most tokens of a generated text; 0 if the length of references decides and no item has any."""
    if not isinstance(template.max_tokens, str):
        return template.max_tokens
    batches = ITEMS.open(path).iter_batches(columns=["references"], use_threads=False)
    references = (texts for batch in batches for texts in batch.column("references").to_pylist())
    words = [len(text.split()) for texts in references for text in texts or ()]
    return max(1, math.ceil(np.percentile(words, 75))) if words else 0


# Rows of the prompts table

Before = dict[str, Sequence[str]]
"""Outputs of the earlier prompts of a group, by prompt id."""


@dataclass(frozen=True)
class Prompts:
    """Makes the prompts of items, in the order of the variations.

    name: of the template. cap: most tokens of a generated text, or None; 0 if a template caps texts by
    references and there are none. asked: whether models are asked.
    """

    variations: Sequence[Variation]
    template: Template
    name: str
    cap: int | None
    asked: bool = True

    @cached_property
    def _initial(self) -> list[Variation]:
        return [variation for variation in self.variations if variation.name == INITIAL]

    def of_items(self, items: Iterable[Item], path: Path) -> Iterator[tuple[Item, list[dict[str, Any]]]]:
        """Each item that is asked, and its rows. Raises UserError. path: of the items' table, for messages.

        An item that `rows` leaves out is asked by `initial` alone, if that is among the variations.
        """
        for _, group in groupby(items, key=lambda item: item.group):
            before: Before = {}
            for item in group:
                if item.kept or (item.filtered and self._initial):
                    try:
                        rows = list(self.rows(item, before))
                    except UserError as error:
                        raise UserError(f"{path}: {error}") from None
                    yield item, rows

    def rows(self, item: Item, before: Before) -> Iterator[dict[str, Any]]:
        """Rows of an item. Raises UserError.

        before: prompts of the same group so far, to which these are added. Only they may fill `earlier` of a
        draft.
        """
        first = start(item, self.template, "")
        frames: Frames = {}
        rendered: dict[object, Columns] = {}  # for drafts that show the item's own words
        unchanged = recipes(first)
        for variation in self.variations if item.kept else self._initial:
            answers = variation.answers(item)
            if answers is None:
                continue
            drafts, numbered = variation.of(first)
            for number, draft in enumerate(drafts, start=1):
                template, images = draft.template, draft.images
                name = prompt_id(item.id, variation.name, number if numbered else None)
                outputs: Sequence[str] = ()
                if self.asked and draft.asked:
                    outputs = template.outputs if draft.item.kind == "choice" else (TEXT,)
                if draft.earlier or self.cap == 0:
                    self._check(draft, name, outputs, before)
                before[name] = outputs
                shareable = draft.item is item and not draft.turns and not draft.earlier
                key = (template, draft.order, answers, not images) if shareable else None
                columns = rendered.get(key) or render(draft, answers, self.name, frames)
                if shareable:
                    rendered[key] = columns
                same_images = images is first.images and template.images == self.template.images
                yield {
                    **columns,  # first: the largest part is copied as a whole
                    **variation.columns,
                    "id": name,
                    "images": unchanged if same_images else recipes(draft),
                    "outputs": outputs,
                    "max_tokens": self.cap if TEXT in outputs else None,
                }

    def _check(self, draft: Draft, name: str, outputs: Sequence[str], before: Before) -> None:
        """Raises UserError if a prompt must not be in the table."""
        words = [not options for options in draft.earlier_options] or [True] * len(draft.earlier)
        pairs = zip(draft.earlier, words, strict=True)
        for source, verbatim in ((source, each) for sources, each in pairs for source in sources or [""]):
            if source not in before:
                raise UserError(
                    f"prompt {name}: an answer comes from {source!r}, no earlier prompt of this group; "
                    f"correct variation {draft.variation} in vouch/prompts/variations, whose `changes` must "
                    f"include {TURNS}"
                )
            if not before[source] or (verbatim and TEXT not in before[source]):
                raise UserError(
                    f"prompt {name}: repeats the answer to {source}, which asks for no {TEXT}; add it to "
                    "`outputs` of the dataset in params.yaml, or ask `dialogue_tests`, which repeats options"
                )
        if self.cap == 0 and TEXT in outputs:
            raise UserError(
                f"prompt {name}: no item has a reference to cap its text by; give template {self.name} a "
                "max_tokens"
            )


# Rendering the words

Columns = dict[str, Any]
"""Columns of the prompts table that describe what a prompt shows."""


class Frame(NamedTuple):
    """The text that a template puts around an item's options, and before all turns."""

    before: str
    after: str
    opening: str
    system: str | None


Frames = dict[tuple[Item, Template, bool], Frame]
"""Frames by item, template and whether options are shown; all orders of the options share one. Only for items
without image marks."""


class _Layout(NamedTuple):
    """How a template shows options in a given order, whatever their texts.

    added: texts of the options that it adds. order: of each option its index, or its role if added. labels:
    as the text shows them, none if it shows no options. pattern: the options in the text, `%s` for each.
    """

    added: Sequence[str]
    order: tuple[int, ...]
    labels: tuple[str, ...]
    pattern: str


def render(draft: Draft, answers: tuple[int, ...], template: str, frames: Frames) -> Columns:
    """The columns of what a prompt shows. Raises UserError if there are more options than labels.

    answers: indices of the correct options of the item. template: name of its file. frames: those made
    so far, to which new ones are added."""
    item, own, marks = draft.item, draft.template, _image_marks(draft)
    turns = _turns(draft, marks, template, frames) if draft.turns or own.sample is not None else []
    text, options, layout, frame = _shown(draft, marks, template, frames)
    before = marks.front() + frame.opening
    if turns:
        turns[0] = (before + turns[0][0], turns[0][1])
    else:
        text = before + text
    if draft.earlier and any(PLACEHOLDER.search(one) for one in (*[question for question, _ in turns], text)):
        raise UserError(
            f"item {item.id}: its words hold `{{answer 1}}` or the like, where {draft.variation} puts what "
            "the model answered; leave the item or the variation out"
        )
    return {
        "item": item.id,
        "template": template,
        "system": frame.system,
        "turns": [{"question": question, "answer": answer} for question, answer in turns],
        "text": text,
        "response": own.response,
        "earlier": draft.earlier,
        **({EARLIER_OPTIONS.name: draft.earlier_options} if draft.earlier_options else {}),
        "options": options,
        "order": layout.order,
        "labels": layout.labels,
        "answers": _shown_at(layout.order, _correct(draft, answers)),
    }


def _correct(draft: Draft, answers: tuple[int, ...]) -> tuple[int, ...]:
    """The correct options, and those added by the template that say the same as one of them."""
    if not draft.template.added:
        return answers
    added = {as_added(draft.item.options[index]) for index in answers}
    return (*answers, *sorted(role for role in added if role is not None))


@lru_cache(maxsize=4096)
def _shown_at(order: tuple[int, ...], answers: tuple[int, ...]) -> tuple[int, ...]:
    """Positions of the correct options in the order in which they are shown."""
    return tuple([position for position, index in enumerate(order) if index in answers])


_NO_MARKS = ImageMarks(0, "first")  # has no state if texts hold no marks, so all prompts can share it


def _image_marks(draft: Draft) -> ImageMarks:
    """Decides the words for images. If images were taken away, marks become words as if these came first."""
    if not draft.item.marked and not draft.turns:
        return _NO_MARKS
    removed = draft.template.images == "interleaved" and not draft.images
    return ImageMarks(len(draft.item.images), "first" if removed else draft.template.images)


def _turns(draft: Draft, marks: ImageMarks, template: str, frames: Frames) -> list[tuple[str, str]]:
    """Earlier exchanges: the template's sample, and the turns of the draft."""
    turns = [
        (question if isinstance(question, str) else _shown(question, marks, template, frames)[0], answer)
        for question, answer in draft.turns
    ]
    sample = draft.template.sample_turn() if draft.item.kind == "choice" else None
    return turns if sample is None else [sample, *turns]


def _shown(
    draft: Draft, marks: ImageMarks, template: str, frames: Frames
) -> tuple[str, list[str], _Layout, Frame]:
    """A draft's text, its options as shown, and the text around them."""
    item, own, order = draft.item, draft.template, draft.order
    try:
        layout = _layout(own, template, item.kind == "choice", order)
    except UserError as error:
        raise UserError(f"item {item.id}: {error}") from None
    # hint and question are read before the options, so their marks come first
    key = (item, own, bool(layout.order))
    frame = frames.get(key) or _frame(item, own, marks, bool(layout.order))
    if not item.marked:  # else the words depend on which images were mentioned before
        frames[key] = frame
    options = [item.options[index] for index in order]
    if item.marked:
        options = list(map(marks.option, options))
    options += layout.added
    text = frame.before + (layout.pattern and layout.pattern % tuple(options)) + frame.after
    return text if item.question else text.lstrip(), options, layout, frame


@lru_cache(maxsize=4096)
def _layout(template: Template, name: str, choice: bool, order: tuple[int, ...]) -> _Layout:
    if choice and (problem := template.crowded(len(order), name)):
        raise UserError(problem)
    added = template.added_to(len(order)) if choice else {}
    order = (*order, *[ADDED[name] for name in added])
    labels = LABELS[template.labels][: len(order)]
    shown = tuple(labels) if template.shows_options else ()
    return _Layout(list(added.values()), order, shown, template.listed(labels))


def _frame(item: Item, template: Template, marks: ImageMarks, options: bool) -> Frame:
    hint = None if item.hint is None else marks.passage(item.hint)
    question = marks.passage(item.question)
    try:
        # The image is at its mark in the body; an instruction that repeats the words only names it.
        body = template.body if options else template.open_body
        named_hint = None if hint is None or "{hint}" not in body else in_words(hint)
        named_question = in_words(question) if "{question}" in body else question
        instruction = template.instruction(
            item.index, hint if named_hint is None else named_hint, named_question
        )
    except UserError as error:
        raise UserError(f"item {item.id}: {error}") from None
    opening = template.opening and template.opening.format(instruction=instruction)
    system = template.system and template.system.format(instruction=instruction)
    return Frame(*template.around(hint, question, options, instruction), opening, system)


# Rendering the images


def recipes(draft: Draft) -> list[dict[str, Any]]:
    """How each image that is shown is made: `pictures` of the prompts table. Raises UserError.

    A template that joins two images gets one recipe, which first does the steps of each.
    """
    images = draft.images
    join = JOINING.get(draft.template.images)
    if join is None or len(images) != 2:
        return [{"images": [image], "steps": _steps(steps)} for image, steps in images]
    first, second = images
    if first.steps != second.steps:
        raise UserError(
            f"item {draft.item.id}: variation {draft.variation} disturbs two images differently, which "
            "cannot be joined; use a template with `images: first`"
        )
    return [{"images": [first.image, second.image], "steps": _steps((*first.steps, Step(join)))}]


@lru_cache(maxsize=1024)
def _steps(steps: tuple[Step, ...]) -> list[dict[str, Any]]:
    return [{**step._asdict(), "revision": image_revision(step.operation)} for step in steps]
