"""What one model answered to the prompts of a dataset, in arrays that give up one page after the other."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vouch.report.items.packing import cut
from vouch.report.items.questions import Ints, Questions
from vouch.tables import prompts as outputs
from vouch.tables.responses import LOW_MASS, RESPONSES

NOTHING = -1
LONGEST = 4000  # characters of a generated text that are shown
LAST_BIT = 52  # of a whole number in JavaScript
SAMPLES = 10  # sampled texts of a prompt that are shown

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Options:
    """Probabilities of options. rows: [n] numbers of prompts, ascending. starts: [n + 1] into the others.

    per_cent, ranks: of each option its probability, and how many others are likelier (ties: the first wins).
    mass: [n] share of the probability on letters; NaN where unknown.
    """

    rows: Ints
    starts: Ints
    per_cent: Ints
    ranks: Ints
    mass: Floats

    def page(self, first: int, last: int) -> dict[str, Any]:
        """Of the prompts `first` up to `last`: i, their numbers from `first` on, and p, one list for each.

        low, if any: [number, letter mass in per cent] of those where it is low.
        """
        low, high = np.searchsorted(self.rows, (first, last))
        flat = self.per_cent[self.starts[low] : self.starts[high]].tolist()
        ends = (self.starts[low : high + 1] - self.starts[low]).tolist()
        numbers, mass = self.rows[low:high] - first, self.mass[low:high]
        weak = mass < LOW_MASS
        said = np.stack([numbers[weak], np.rint(100 * mass[weak]).astype(np.int64)], axis=1).tolist()
        return {
            "i": numbers.tolist(),
            "p": [flat[a:b] for a, b in pairwise(ends)],
            **({"low": said} if said else {}),
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
class Output:
    """The answers of one output. unanswered: [n] numbers of the prompts without an answer, and why."""

    answers: Options | Texts
    unanswered: Ints
    reasons: Sequence[str]

    def problems(self, first: int, last: int) -> list[list[Any]]:
        """[number from `first` on, reason] of the prompts `first` up to `last`."""
        low, high = (int(end) for end in np.searchsorted(self.unanswered, (first, last)))
        numbers = (self.unanswered[low:high] - first).tolist()
        return [list(pair) for pair in zip(numbers, self.reasons[low:high], strict=True)]


def read_answers(model: str, dataset: str, questions: Questions) -> Mapping[str, Output]:
    """By what was asked for; without that of which a model has no row. Raises UserError."""
    found = {}
    for output, (order, columns, reader) in READERS.items():
        response = RESPONSES[output]
        table = response.table.read(response.path(model, dataset), ["prompt", *order, *columns, "problem"])
        rows = questions.numbers(table["prompt"])
        table = table.append_column("row", pa.array(rows)).filter(pa.array(rows >= 0))
        table = table.sort_by([(name, "ascending") for name in ("row", *order)])
        bad = table.filter(pc.is_valid(table["problem"]))
        reasons = dict(zip(bad["row"].to_pylist(), bad["problem"].to_pylist(), strict=True))
        table = table.filter(pc.is_null(table["problem"]))
        if table.num_rows:
            answers = reader(table, np.asarray(table["row"].to_numpy()), questions)
            found[output] = Output(answers, np.array(list(reasons), dtype=np.int64), list(reasons.values()))
    return found


def _letters(table: pa.Table, rows: Ints, questions: Questions) -> Options:
    lists = table["logits"]
    lengths = np.asarray(pc.list_value_length(lists).to_numpy()).astype(np.int64)
    logits = np.asarray(pc.list_flatten(lists).to_numpy()).astype(np.float64)
    # Released files may hold more letters than a prompt has options: those are no answer to it.
    place = np.arange(len(logits)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    inside = place < np.repeat(questions.shown[rows], lengths)
    mass = np.asarray(table["letter_mass"].cast(pa.float64()).to_numpy())
    return _options(rows, np.minimum(lengths, questions.shown[rows]), logits[inside], mass)


def _likelihood(table: pa.Table, rows: Ints, questions: Questions) -> Options:
    names, lengths = np.unique(rows, return_counts=True)
    # An option that cannot be at all has an infinite NLL.
    unknown = np.full(len(names), np.nan)
    return _options(names, lengths, -np.asarray(table["nll"].to_numpy()), unknown)


def _texts(table: pa.Table, rows: Ints, questions: Questions) -> Texts:
    return Texts(rows, np.asarray(table["temperature"].to_numpy()), table["text"])


Reader = Callable[[pa.Table, Ints, Questions], Options | Texts]
READERS: dict[str, tuple[tuple[str, ...], tuple[str, ...], Reader]] = {
    outputs.LETTERS: ((), ("logits", "letter_mass"), _letters),
    outputs.LIKELIHOOD: (("option",), ("nll",), _likelihood),
    outputs.TEXT: (("temperature", "sample"), ("text",), _texts),
}
"""Of each output, what orders the answers to one prompt, what else is read of them, and their reader."""


def _options(rows: Ints, lengths: Ints, logits: Floats, mass: Floats) -> Options:
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
    return Options(rows, np.append(starts, len(logits)), np.rint(100 * share).astype(np.int64), ranks, mass)
