"""The answers of one model to a dataset, in the form that the item pages need.

`read_answers` reads the model's answers, one array per column, of which each page takes a slice.
`write_models` writes, for each model in turn, the columns of all items (correct, flipped, confidence, set
size) and its part of every page.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy
from numpy.typing import NDArray

from vouch.browse.items import Ints, ItemTable, cut, script_text, write_script
from vouch.tables import asked as outputs
from vouch.tables.answered import LOW_MASS, RESPONSES
from vouch.tables.results import OUTCOMES, contents, flips, grades, other_spelling_scored, outcomes_path

NOTHING = -1
LONGEST = 4000  # characters of a generated text that are shown
LAST_BIT = 52  # of the whole numbers that JavaScript can hold
SAMPLES = 10  # sampled texts of a prompt that are shown

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class OptionColumns:
    """Probabilities of options. rows: [n] numbers of prompts, ascending. starts: [n + 1] indices into the
    others.

    shares, ranks: probability of each option, and how many others come before it (ties keep their order).
    mass: [n] share of the probability on letters; NaN if unknown. other: whether they are those of the other
    spelling of the letters, because these were scored.
    """

    rows: Ints
    starts: Ints
    shares: Floats
    ranks: Ints
    mass: Floats
    other: bool = False

    def page(self, first: int, last: int) -> dict[str, Any]:
        """The prompts `first` up to `last`: i, their numbers relative to `first`, and p, one list for each.

        low, if any: [number, letter mass in per cent] of those with low letter mass. other: 1 if the letters
        are in the other spelling.
        """
        low, high = np.searchsorted(self.rows, (first, last))
        flat = _whole(100 * self.shares[self.starts[low] : self.starts[high]])
        ends = (self.starts[low : high + 1] - self.starts[low]).tolist()
        numbers, mass = self.rows[low:high] - first, self.mass[low:high]
        weak = mass < LOW_MASS
        low_mass = np.stack([numbers[weak], np.rint(100 * mass[weak]).astype(np.int64)], axis=1).tolist()
        return {
            "i": numbers.tolist(),
            "p": [flat[a:b] for a, b in pairwise(ends)],
            **({"low": low_mass} if low_mass else {}),
            **({"other": 1} if self.other else {}),
        }

    def of_predicted(self, outcomes: "Outcomes") -> Floats:
        """[n] probability of the predicted option; NaN without one."""
        predicted = outcomes.predicted[self.rows]
        known = predicted < np.diff(self.starts)
        shares = np.full(len(self.rows), np.nan)
        shares[known] = self.shares[self.starts[:-1][known] + predicted[known].astype(np.int64)]
        return shares

    def sets(self, numbers: Ints, sizes: Floats) -> Ints:
        """Prediction sets of these sizes, for prompts by number: bit k is option k; -1 for size NaN.

        LAC and APS sets contain the likeliest options.
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
class TextColumns:
    """Generated texts, one row each. rows: [n] numbers of the prompts, ascending. The greedy text has
    temperature 0."""

    rows: Ints
    temperatures: NDArray[np.float32]
    texts: pa.ChunkedArray

    def page(self, first: int, last: int) -> dict[str, Any]:
        """The prompts `first` up to `last`: i, their numbers relative to `first`, t, the greedy text or null,
        and s, [temperature, text] of the samples."""
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
    """The answers of one request type. unanswered, reasons: [n] prompts without an answer, and why."""

    answers: OptionColumns | TextColumns
    unanswered: Ints
    reasons: Sequence[str]

    def problems(self, first: int, last: int) -> list[list[Any]]:
        """[number relative to `first`, reason] of the unanswered prompts `first` up to `last`."""
        low, high = (int(end) for end in np.searchsorted(self.unanswered, (first, last)))
        numbers = (self.unanswered[low:high] - first).tolist()
        return [list(pair) for pair in zip(numbers, self.reasons[low:high], strict=True)]


def read_answers(
    model: str, dataset: str, questions: ItemTable, outcomes: Mapping[str, "Outcomes"]
) -> Mapping[str, Output]:
    """The answers by request type; types for which the model has no rows are left out. Raises UserError."""
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
            answers = reader(table, np.asarray(table["row"].to_numpy()), questions, outcomes.get(output))
            found[output] = Output(answers, np.array(list(reasons), dtype=np.int64), list(reasons.values()))
    return found


def _letters(table: pa.Table, rows: Ints, questions: ItemTable, outcomes: "Outcomes | None") -> OptionColumns:
    """In the spelling that was scored."""
    stored = _spelled(table, "logits", rows, questions)
    if outcomes is None or table["other_logits"].null_count == len(table):
        return stored
    other = _spelled(table, "other_logits", rows, questions)
    shares = (spelled.of_predicted(outcomes) for spelled in (stored, other))
    return replace(other, other=True) if other_spelling_scored(outcomes.confidence[rows], *shares) else stored


def _spelled(table: pa.Table, column: str, rows: Ints, questions: ItemTable) -> OptionColumns:
    lists = table[column]
    lengths = np.asarray(pc.fill_null(pc.list_value_length(lists), 0).to_numpy()).astype(np.int64)
    logits = np.asarray(pc.list_flatten(lists).to_numpy()).astype(np.float64)
    # Released files may hold more letters than a prompt has options: the further letters are no answers.
    place = np.arange(len(logits)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    inside = place < np.repeat(questions.shown[rows], lengths)
    mass = np.asarray(table["letter_mass"].cast(pa.float64()).to_numpy())
    return _options(rows, np.minimum(lengths, questions.shown[rows]), logits[inside], mass)


def _likelihood(table: pa.Table, rows: Ints, *_: object) -> OptionColumns:
    names, lengths = np.unique(rows, return_counts=True)
    # An impossible option has an infinite NLL.
    unknown = np.full(len(names), np.nan)
    return _options(names, lengths, -np.asarray(table["nll"].to_numpy()), unknown)


def _texts(table: pa.Table, rows: Ints, *_: object) -> TextColumns:
    return TextColumns(rows, np.asarray(table["temperature"].to_numpy()), table["text"])


Reader = Callable[[pa.Table, Ints, ItemTable, "Outcomes | None"], OptionColumns | TextColumns]
READERS: dict[str, tuple[tuple[str, ...], tuple[str, ...], Reader]] = {
    outputs.LETTERS: ((), ("logits", "other_logits", "letter_mass"), _letters),
    outputs.LIKELIHOOD: (("option",), ("nll",), _likelihood),
    outputs.TEXT: (("temperature", "sample"), ("text",), _texts),
}
"""For each output: the columns that order answers to one prompt, further columns to read, and a reader."""


def _options(rows: Ints, lengths: Ints, logits: Floats, mass: Floats) -> OptionColumns:
    """Softmax of every row's logits; a row of nothing but -inf has no probabilities."""
    starts = np.cumsum(lengths) - lengths
    of = np.repeat(np.arange(len(rows)), lengths)
    column = np.arange(len(logits)) - np.repeat(starts, lengths)
    padded = np.full((len(rows), int(lengths.max(initial=1))), -np.inf)
    padded[of, column] = logits
    with np.errstate(invalid="ignore"):
        share = scipy.special.softmax(padded, axis=1)[of, column]
    share = np.where(np.isfinite(share), share, 0)
    order = np.lexsort((np.arange(len(logits)), -logits, of))
    ranks = np.empty(len(logits), dtype=np.int64)
    ranks[order] = column
    return OptionColumns(rows, np.append(starts, len(logits)), share, ranks, mass)


COLUMNS = (
    *("prompt", "output", "parser", "reason", "answer", "predicted", "chosen", "correct", "clean_correct"),
    *("confidence", "size_lac", "size_aps", "clean_size_lac", "clean_size_aps"),
)
NONE, WRONG, CORRECT, UNGRADED = range(4)
LETTERS = b"-wru-WRU"
"""The letter of each state in the columns of an item: not answered, wrong, correct, not graded; capitals if
the variation flipped the answer, or failed to flip it although it should have."""


@dataclass(frozen=True)
class Outcomes:
    """The outcomes of one request type, by prompt [P]; NaN (NONE of `state`) if a prompt has none.

    state: NONE, WRONG, CORRECT or UNGRADED. flipped: see `flips`. predicted: index of the option. confidence:
    0 to 1. sizes: by name of the column. readings: the answers read from texts, with parser and reason.
    texts: index of each text in `readings`, -1 for none.
    """

    state: NDArray[np.uint8]
    flipped: NDArray[np.bool_]
    predicted: Floats
    confidence: Floats
    sizes: Mapping[str, Floats]
    texts: Ints
    readings: tuple[tuple[str, str], ...]

    def page(self, numbers: Ints) -> dict[str, Any]:
        """For prompts by number: k, chosen option; r, state; f, whether flipped; L and A, mean set sizes of
        the clean protocol, in tenths. For texts instead: y, the reading, and c, confidence in per cent. -1 if
        missing.
        """
        found: dict[str, Any] = {
            "k": _whole(self.predicted[numbers]),
            "r": self.state[numbers].tolist(),
            "f": self.flipped[numbers].astype(int).tolist(),
        }
        if self.readings:
            found["c"] = _whole(100 * self.confidence[numbers])
            found["y"] = [None if at < 0 else list(self.readings[at]) for at in self.texts[numbers].tolist()]
            return found
        found["L"] = _whole(10 * self.sizes["clean_size_lac"][numbers])
        found["A"] = _whole(10 * self.sizes["clean_size_aps"][numbers])
        return found


def _whole(values: Floats) -> list[int]:
    """The values as whole numbers, rounded; -1 for NaN."""
    rounded: list[int] = np.where(np.isnan(values), NOTHING, np.rint(values)).astype(np.int64).tolist()
    return rounded


def read_outcomes(path: Path, model: str, questions: ItemTable) -> dict[str, Outcomes]:
    """The outcomes of one model by request type, in the order of OUTPUTS. Raises UserError."""
    empty = pa.schema([OUTCOMES.schema.field(name) for name in COLUMNS]).empty_table()
    table = pa.concat_tables([empty, *OUTCOMES.rows_with(path, "model", [model], COLUMNS)])
    of_outputs = {output: table.filter(pc.equal(table["output"], output)) for output in outputs.OUTPUTS}
    return {output: _outcomes(rows, questions) for output, rows in of_outputs.items() if rows.num_rows}


def _outcomes(table: pa.Table, questions: ItemTable) -> Outcomes:
    rows = questions.numbers(table["prompt"])
    table, rows = table.filter(pa.array(rows >= 0)), rows[rows >= 0]
    count = len(questions.of)

    def spread(name: str) -> Floats:
        values = np.full(count, np.nan)
        values[rows] = np.asarray(table[name].cast(pa.float64()).to_numpy())
        return values

    correct = spread("correct")
    state = np.full(count, NONE, dtype=np.uint8)
    state[rows] = UNGRADED
    state[correct == 0], state[correct == 1] = WRONG, CORRECT
    columns = (table[name].to_pylist() for name in ("answer", "parser", "reason"))
    pairs = [
        (answer or "", f"{parser} ({reason})" if reason else parser)
        for answer, parser, reason in zip(*columns, strict=True)
    ]
    readings = tuple(dict.fromkeys(pair for pair in pairs if pair[1] is not None))
    index = {pair: at for at, pair in enumerate(readings)}
    texts = np.full(count, -1, dtype=np.int64)
    texts[rows] = [index.get(pair, -1) for pair in pairs]
    return Outcomes(
        state=state,
        flipped=_flipped(table, rows, state, questions),
        predicted=spread("predicted"),
        confidence=spread("confidence"),
        sizes={name: spread(name) for name in COLUMNS if "size" in name},
        texts=texts,
        readings=readings,
    )


def _flipped(
    table: pa.Table, rows: Ints, state: NDArray[np.uint8], questions: ItemTable
) -> NDArray[np.bool_]:
    """Whether each prompt in the table [rows] flipped the answer to the original prompt of its item."""
    answer, grade = np.full((2, len(state)), np.nan)
    answer[rows], grade[rows] = contents(table), grades(table)
    first = questions.originals[questions.of]
    asked = (state != NONE) & (first >= 0) & (state[first] != NONE) & (first != np.arange(len(first)))
    return np.asarray(asked & (flips(answer, answer[first], grade[first], questions.kept) == 1))


SCORES = {"l": "size_lac", "a": "size_aps"}
"""Name of a prediction set on a page -> column of its size in the faithful protocol."""


def states(outcomes: Outcomes, questions: ItemTable, variation: int) -> str:
    """One letter of LETTERS for each item, for one variation; with several prompts, a wrong answer counts
    first."""
    chosen = questions.variation == variation
    of = questions.of[chosen]

    def some(marked: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return np.bincount(of, marked[chosen], questions.items) > 0

    found = np.full(questions.items, NONE, dtype=np.uint8)
    for state in (UNGRADED, CORRECT, WRONG):
        found[some(outcomes.state == state)] = state
    found[some(outcomes.flipped)] += len(LETTERS) // 2
    return np.frombuffer(LETTERS, dtype=np.uint8)[found].tobytes().decode("ascii")


def of_model(name: str, output: str, outcomes: Outcomes, questions: ItemTable) -> dict[str, Any]:
    """The columns of a model: states by variation; for the original prompts, confidence per mille and size of
    the LAC set in hundredths (mean of the clean protocol, else the faithful one); -1 if missing."""
    size = outcomes.sizes["clean_size_lac"]
    size = np.where(np.isnan(size), outcomes.sizes["size_lac"], size)
    return {
        "model": name,
        "output": output,
        "states": [states(outcomes, questions, number) for number in range(len(questions.variations))],
        "confidence": _whole(1000 * np.append(outcomes.confidence, np.nan)[questions.originals]),
        "size": _whole(100 * np.append(size, np.nan)[questions.originals]),
    }


def of_output(output: Output, outcomes: Outcomes | None, first: int, last: int) -> dict[str, Any]:
    """Answers to the prompts `first` up to `last` (see the methods `page`), with the sets of options
    (SCORES)."""
    found = output.answers.page(first, last)
    if outcomes is not None and found["i"]:
        numbers = np.array(found["i"]) + first
        found |= outcomes.page(numbers)
        if isinstance(output.answers, OptionColumns):
            for short, name in SCORES.items():
                found[short] = output.answers.sets(numbers, outcomes.sizes[name][numbers]).tolist()
    if found["i"] == list(range(last - first)):
        found["i"] = None  # every prompt of the page; a long list otherwise
    return found | {"problems": output.problems(first, last)}


def of_pages(
    answers: Mapping[str, Output], outcomes: Mapping[str, Outcomes], questions: ItemTable, size: int
) -> Iterator[dict[str, Any]]:
    """The answers of one model by request type, page after page. size: items of a page."""
    for start in range(0, questions.items, size):
        first, last = (int(questions.starts[min(at, questions.items)]) for at in (start, start + size))
        yield {
            output: of_output(found, outcomes.get(output), first, last) for output, found in answers.items()
        }


def write_models(
    folder: Path, dataset: str, models: Sequence[str], questions: ItemTable, size: int
) -> tuple[dict[str, list[int]], list[str]]:
    """Writes the columns of each model, and its part of every page as a line of FOLDER/MODEL.part.

    Returns, for each item, how many models answered its original prompt and how many correctly, and the main
    request type of each model.
    """
    answered, correct = np.zeros((2, questions.items), dtype=np.int64)
    leads = []
    for number, model in enumerate(models):
        outcomes = read_outcomes(outcomes_path(dataset), model, questions)
        answers = read_answers(model, dataset, questions, outcomes)
        lead = next(iter(outcomes), "")
        leads.append(lead)
        columns: dict[str, Any] = {"model": model}
        if lead:
            state = np.append(outcomes[lead].state, NONE)[questions.originals]
            answered += (state == WRONG) | (state == CORRECT)
            correct += state == CORRECT
            columns = of_model(model, lead, outcomes[lead], questions)
        write_script(folder, dataset, f"model-{number}", script_text(columns))
        with (folder / f"{number}.part").open("w", encoding="utf-8", errors="replace") as parts:
            for page in of_pages(answers, outcomes, questions, size):
                parts.write(script_text(page) + "\n")
    return {"correct": correct.tolist(), "answered": answered.tolist()}, leads
