"""What one model answered to the prompts of a dataset, in arrays that give up one page after the other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vouch.report.items.packing import cut
from vouch.report.items.questions import Ints, Questions
from vouch.tables import prompts as outputs
from vouch.tables.responses import LETTERS, LIKELIHOOD, RESPONSES, TEXT

NOTHING = -1
LONGEST = 4000  # characters of a generated text that are shown
LAST_BIT = 52  # of a whole number in JavaScript
SAMPLES = 10  # sampled texts of a prompt that are shown

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Options:
    """Probabilities of options. rows: [n] numbers of prompts, ascending. starts: [n + 1] into the others.

    per_cent, ranks: of each option its probability, and how many others are likelier (ties: the first wins).
    """

    rows: Ints
    starts: Ints
    per_cent: Ints
    ranks: Ints

    def page(self, first: int, last: int) -> dict[str, Any]:
        """Of the prompts `first` up to `last`: i, their numbers from `first` on, and p, one list for each."""
        low, high = np.searchsorted(self.rows, (first, last))
        flat = self.per_cent[self.starts[low] : self.starts[high]].tolist()
        ends = (self.starts[low : high + 1] - self.starts[low]).tolist()
        return {
            "i": (self.rows[low:high] - first).tolist(),
            "p": [flat[a:b] for a, b in pairwise(ends)],
        }

    def sets(self, numbers: Ints, sizes: Floats) -> Ints:
        """Prediction sets of these sizes, for prompts by number: bit k stands for option k; -1 for size NaN.

        Sets of LAC and of APS hold the likeliest options.
        """
        low = np.searchsorted(self.rows, numbers)
        lengths = self.starts[low + 1] - self.starts[low]
        begins = np.cumsum(lengths) - lengths
        place = np.arange(lengths.sum()) - np.repeat(begins, lengths)
        ranks = self.ranks[np.repeat(self.starts[low], lengths) + place]
        inside = ranks < np.repeat(sizes, lengths)
        bits = np.concatenate([[0], np.cumsum(np.where(inside, 1 << np.minimum(place, LAST_BIT), 0))])
        return np.where(np.isnan(sizes), NOTHING, bits[begins + lengths] - bits[begins])


@dataclass(frozen=True)
class Texts:
    """Generated texts, one row each. rows: [n] numbers of the prompts, ascending. texts: the greedy one has
    temperature 0."""

    rows: Ints
    temperatures: NDArray[np.float32]
    texts: pa.ChunkedArray

    def page(self, first: int, last: int) -> dict[str, Any]:
        """Of the prompts `first` up to `last`: i, their numbers from `first` on, t, the greedy text or null,
        and s, [temperature, text] of its samples."""
        low, high = (int(end) for end in np.searchsorted(self.rows, (first, last)))
        found: dict[int, tuple[list[str | None], list[list[Any]]]] = {}
        words = self.texts.slice(low, high - low).to_pylist()
        numbers = (self.rows[low:high] - first).tolist()
        for row, heat, text in zip(numbers, self.temperatures[low:high].tolist(), words, strict=True):
            greedy, samples = found.setdefault(row, ([], []))
            if heat == 0:
                greedy.append(cut(text, LONGEST))
            elif len(samples) < SAMPLES:
                samples.append([round(heat, 6), cut(text, LONGEST)])
        return {
            "i": list(found),
            "t": [next(iter(greedy), None) for greedy, _ in found.values()],
            "s": [samples for _, samples in found.values()],
        }


@dataclass(frozen=True)
class Problems:
    """Why prompts have no answer. rows: [n] numbers of the prompts, ascending."""

    rows: Ints
    reasons: Sequence[str]

    def page(self, first: int, last: int) -> list[list[Any]]:
        """[number from `first` on, reason] of the prompts `first` up to `last`."""
        low, high = (int(end) for end in np.searchsorted(self.rows, (first, last)))
        numbers = (self.rows[low:high] - first).tolist()
        return [list(pair) for pair in zip(numbers, self.reasons[low:high], strict=True)]


@dataclass(frozen=True)
class Output:
    """What was read out in one way, and what there was no answer to."""

    answers: Options | Texts
    problems: Problems


def read_answers(model: str, dataset: str, questions: Questions) -> Mapping[str, Output]:
    """By what was asked for; without that of which a model has no row. Raises UserError."""
    readers = {outputs.LETTERS: _letters, outputs.LIKELIHOOD: _likelihood, outputs.TEXT: _texts}
    found = {}
    for output, reader in readers.items():
        own = reader(RESPONSES[output].path(model, dataset), questions)
        if own is not None:
            found[output] = own
    return found


def _letters(path: Path, questions: Questions) -> Output | None:
    table, rows, problems = _sorted(LETTERS.read(path, ["prompt", "logits", "problem"]), questions)
    if not table.num_rows:
        return None
    lists = table["logits"]
    lengths = np.asarray(pc.list_value_length(lists).to_numpy()).astype(np.int64)
    logits = np.asarray(pc.list_flatten(lists).to_numpy()).astype(np.float64)
    # Released files may hold more letters than a prompt has options: those are no answer to it.
    place = np.arange(len(logits)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    inside = place < np.repeat(questions.shown[rows], lengths)
    return Output(_options(rows, np.minimum(lengths, questions.shown[rows]), logits[inside]), problems)


def _likelihood(path: Path, questions: Questions) -> Output | None:
    table = LIKELIHOOD.read(path, ["prompt", "option", "nll", "problem"])
    table, rows, problems = _sorted(table, questions, "option")
    if not table.num_rows:
        return None
    names, lengths = np.unique(rows, return_counts=True)
    # An option that cannot be at all has an infinite NLL.
    return Output(_options(names, lengths, -np.asarray(table["nll"].to_numpy())), problems)


def _texts(path: Path, questions: Questions) -> Output | None:
    table = TEXT.read(path, ["prompt", "temperature", "sample", "text", "problem"])
    table, rows, problems = _sorted(table, questions, "temperature", "sample")
    if not table.num_rows:
        return None
    return Output(Texts(rows, np.asarray(table["temperature"].to_numpy()), table["text"]), problems)


def _sorted(table: pa.Table, questions: Questions, *further: str) -> tuple[pa.Table, Ints, Problems]:
    """The answers in the order of the prompts, the numbers of these, and what has no answer."""
    rows = questions.numbers(table["prompt"])
    table = table.append_column("row", pa.array(rows)).filter(pa.array(rows >= 0))
    table = table.sort_by([(name, "ascending") for name in ("row", *further)])
    bad = table.filter(pc.is_valid(table["problem"]))
    reasons = dict(zip(bad["row"].to_pylist(), bad["problem"].to_pylist(), strict=True))
    fine = table.filter(pc.is_null(table["problem"]))
    problems = Problems(np.array(list(reasons), dtype=np.int64), list(reasons.values()))
    return fine, np.asarray(fine["row"].to_numpy()), problems


def _options(rows: Ints, lengths: Ints, logits: Floats) -> Options:
    """Softmax of every row's logits; a row of nothing but -inf has no probabilities."""
    filled = lengths > 0
    starts = np.cumsum(lengths) - lengths
    most = np.maximum.reduceat(logits, starts[filled]) if filled.any() else np.zeros(0)
    counts = lengths[filled]
    with np.errstate(invalid="ignore"):
        weights = np.exp(logits - np.repeat(most, counts))
        total = np.add.reduceat(weights, starts[filled]) if filled.any() else np.zeros(0)
        share = weights / np.repeat(total, counts)
    share = np.where(np.isfinite(share), share, 0)
    of = np.repeat(np.arange(len(rows)), lengths)
    order = np.lexsort((np.arange(len(logits)), -logits, of))
    ranks = np.empty(len(logits), dtype=np.int64)
    ranks[order] = np.arange(len(logits)) - np.repeat(starts, lengths)
    return Options(rows, np.append(starts, len(logits)), np.rint(100 * share).astype(np.int64), ranks)
