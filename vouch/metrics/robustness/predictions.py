"""What one model said to every prompt of a dataset, in a form in which prompts can be compared."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from vouch.metrics.intervals import CLEAN
from vouch.metrics.join import cells, has_any, lengths
from vouch.metrics.responses import Array, Bools, Ints
from vouch.tables.asked import DROPPED, KEPT, TEXT, painted_option
from vouch.tables.results import UNREAD, floats


@dataclass(frozen=True)
class Predictions:
    """Answers of one model to one variation in one output, n rows in the order of the items.

    variation, family, effect: as in PROMPTS. output: as in OUTCOMES
    prompts   [n] row of the prompt in its table; items [n] of the item; groups [n] number of its group
    tests     [n] number of the prompt among those of its item, from 1; 0 where there is but one
    turns     [n] turn of the conversation, from 1
    answers   [n] what was said; equal values are the same answer. What could not be read is its own words
    read      [n] whether an option or an open answer could be read
    place     [n] of the only option that was named, as shown; -1 where there is none
    correct   [n] 0 ... 1, NaN where unknown
    random_accuracy, random_consistency  [n] what a guess among the native options gives; NaN without options
    single    [n] whether there is but one native option
    defective [n] whether cleaning found a defect
    """

    variation: str
    family: str
    effect: str
    output: str
    prompts: Ints
    items: Ints
    groups: Ints
    tests: Ints
    turns: Ints
    answers: np.ndarray
    read: Bools
    place: Ints
    correct: Array
    clean_correct: Array
    random_accuracy: Array
    random_consistency: Array
    single: Bools
    defective: Bools

    def __len__(self) -> int:
        return len(self.items)

    def take(self, rows: Bools | Ints) -> "Predictions":
        """Some rows, by mask or by index."""
        values = ((f.name, getattr(self, f.name)) for f in fields(self))
        arrays: dict[str, Any] = {k: v[rows] for k, v in values if isinstance(v, np.ndarray)}
        return replace(self, **arrays)

    def counted(self, protocol: str) -> "Predictions":
        """The rows that a protocol counts: all, or those without defects, ties shared."""
        return replace(self, correct=self.clean_correct).take(~self.defective) if protocol == CLEAN else self


class PromptIndex:
    """Prompts and items of a dataset, looked up by the rows of its outcomes."""

    def __init__(self, prompts: pa.Table, items: pa.Table) -> None:
        """prompts, items: tables with the columns that the stage reads."""
        self._prompts, self._items = prompts, items
        rows, _, order = cells(prompts["order"])
        self._native = np.bincount(rows, order >= 0, len(self)).astype(np.int64)
        rows, _, place = cells(prompts["answers"])  # of these, the native ones: added options stand last
        self._right = np.bincount(rows, place < self._native[rows], len(self)).astype(np.int64)
        columns = (prompts[name].to_pylist() for name in ("id", "item", "variation"))
        self._tests = np.array([_number(*row) for row in zip(*columns, strict=True)], dtype=np.int64)
        self._groups = np.unique(items["group"].to_pylist(), return_inverse=True)[1]
        self._defective = has_any(items["flags"], DROPPED)
        found = pc.index_in(prompts["item"], items["id"].combine_chunks())
        self._item_rows = np.asarray(pc.fill_null(found, -1).to_numpy(), dtype=np.int64)

    def __len__(self) -> int:
        return int(self._prompts.num_rows)

    def right_shares(self, prompts: Ints) -> Array:
        """[n, k] how much of what is right stands at each place of some prompts; rows sum to 1."""
        rows, _, place = cells(self._prompts["answers"].take(pa.array(prompts)))
        shares = np.zeros((len(prompts), int(place.max(initial=0)) + 1))
        shares[rows, place] = 1
        return np.asarray(shares / np.maximum(shares.sum(axis=1, keepdims=True), 1))

    def prompt_rows(self, names: Sequence[str]) -> Ints:
        """[n] rows of prompts by their ids."""
        found = pc.index_in(pa.array(names, pa.string()), self._prompts["id"].combine_chunks())
        return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.int64)

    def painted(self, items: Ints) -> Ints:
        """[n] the option that a typographic attack paints into pictures of some items; -1 for none."""
        options = np.zeros(self._items.num_rows, dtype=np.int64)
        options[self._item_rows] = self._native
        rows = self._items.select(["id", "answers"]).take(pa.array(items)).to_pylist()
        found = (
            painted_option(row["id"], count, row["answers"] or ())
            for row, count in zip(rows, options[items].tolist(), strict=True)
        )
        return np.array([-1 if place is None else place for place in found], dtype=np.int64)

    def chosen(self, prompts: Ints, places: Ints) -> Ints:
        """[n] what stands at a place of some prompts, as `order` of PROMPTS has it; -3 for the place -1."""
        rows, column, order = cells(self._prompts["order"].take(pa.array(prompts)))
        found = np.full(len(prompts), -3)
        here = column == places[rows]
        found[rows[here]] = order[here]
        return found

    def numbered(self, names: Sequence[str]) -> bool:
        """Whether any of the prompts is one of several of its item."""
        return bool(self._tests[self.prompt_rows(names)].any())

    def predictions(self, outcomes: pa.Table, words: Sequence[str] | None = None) -> Predictions | None:
        """Rows of OUTCOMES of one variation and output; None without any.

        words: the texts as they were generated [n], of the output `text`.
        """
        if not outcomes.num_rows:
            return None
        prompts = self.prompt_rows(outcomes["prompt"].to_pylist())
        items = self._item_rows[prompts]
        output, first = outcomes["output"][0].as_py(), int(prompts[0])
        effect = self._prompts["effect"][first].as_py() or KEPT
        native = np.where(self._native[prompts] > 0, self._native[prompts], np.nan)
        same = 1 / native
        answers, read = _answers(outcomes, words if output == TEXT else None)
        return Predictions(
            self._prompts["variation"][first].as_py(),
            self._prompts["family"][first].as_py() or "",
            effect,
            output,
            prompts,
            items,
            self._groups[items],
            self._tests[prompts],
            1 + lengths(self._items["turns"])[items],
            answers,
            read,
            pc.fill_null(outcomes["predicted"], -1).to_numpy().astype(np.int64),
            floats(outcomes["correct"]),
            floats(outcomes["clean_correct"]),
            self._right[prompts] / native,
            same if effect == KEPT else 1 - same,
            native == 1,
            self._defective[items],
        )


def _number(prompt: str, item: str, variation: str) -> int:
    """The number at the end of a prompt's id, 0 where there is none."""
    end = prompt.removeprefix(f"{item}/{variation}").removeprefix("/")
    return int(end) if end.isdecimal() else 0


def _answers(outcomes: pa.Table, words: Sequence[str] | None) -> tuple[np.ndarray, Bools]:
    """answers, read of Predictions. A letter is the option it stands for, a text the options it names."""
    if words is None:
        return outcomes["chosen"].to_numpy(), np.ones(outcomes.num_rows, dtype=bool)
    parsers = outcomes["parser"].to_pylist()
    read = np.array([parser not in UNREAD for parser in parsers], dtype=bool)
    said = zip(read, outcomes["answer"].to_pylist(), words, strict=True)
    return np.array(
        [f"={answer}" if known else f"?{text}" for known, answer, text in said], dtype=object
    ), read
