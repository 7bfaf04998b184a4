"""What came of one model's answers to a dataset: right or wrong, flipped by a changed prompt, how sure."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vouch.report.items.questions import Ints, Questions
from vouch.tables import prompts as outputs
from vouch.tables.outcomes import OUTCOMES, contents, flips, grades

Floats = NDArray[np.float64]
COLUMNS = (
    *(
        "prompt",
        "output",
        "parser",
        "reason",
        "answer",
        "predicted",
        "chosen",
        "correct",
        "clean_correct",
        "confidence",
    ),
    *("size_lac", "size_aps", "clean_size_lac", "clean_size_aps"),
)
NONE, WRONG, RIGHT, UNGRADED = range(4)
LETTERS = b"-wru-WRU"
"""What stands for a state in the columns of an item: not answered, wrong, right, not graded; capitals where
a change of the prompt flipped the answer, or failed to where it should have."""


@dataclass(frozen=True)
class Outcomes:
    """Of one output, by prompt [P]: NaN, or NONE of `state`, where there is none.

    state: NONE, WRONG, RIGHT or UNGRADED. flipped: whether it is one of `flips`. predicted: place of
    the option. confidence: 0 ... 1. sizes: by name of the column. texts: number among `said` of what a
    generated answer came to, and what read it and why, -1 for none.
    """

    state: NDArray[np.uint8]
    flipped: NDArray[np.bool_]
    predicted: Floats
    confidence: Floats
    sizes: Mapping[str, Floats]
    texts: Ints
    said: tuple[tuple[str, str], ...]

    def page(self, numbers: Ints) -> dict[str, Any]:
        """For prompts by number: k, option taken; r, state; f, whether flipped; L and A, mean sizes of sets
        of the clean protocol, in tenths; of texts y, what it came to and what read it, and c, confidence per
        cent, which of options is the largest probability. -1 for what is not there."""
        found: dict[str, Any] = {
            "k": _whole(self.predicted[numbers]),
            "r": self.state[numbers].tolist(),
            "f": self.flipped[numbers].astype(int).tolist(),
        }
        if self.said:
            found["c"] = _whole(100 * self.confidence[numbers])
            found["y"] = [None if at < 0 else list(self.said[at]) for at in self.texts[numbers].tolist()]
            return found
        found["L"] = _whole(10 * self.sizes["clean_size_lac"][numbers])
        found["A"] = _whole(10 * self.sizes["clean_size_aps"][numbers])
        return found


def _whole(values: Floats) -> list[int]:
    return [int(value) for value in np.where(np.isnan(values), -1, np.rint(values)).tolist()]


def read_outcomes(path: Path, model: str, questions: Questions) -> dict[str, Outcomes]:
    """Of one model, by what was asked for, in the order of OUTPUTS. Raises UserError."""
    table = _of_model(path, model)
    found = {}
    for output in outputs.OUTPUTS:
        rows = table.filter(pc.equal(table["output"], output))
        if rows.num_rows:
            found[output] = _outcomes(rows, questions)
    return found


def _of_model(path: Path, model: str) -> pa.Table:
    empty = pa.schema([OUTCOMES.schema.field(name) for name in COLUMNS]).empty_table()
    return pa.concat_tables([empty, *OUTCOMES.rows_with(path, "model", [model], COLUMNS)])


def _outcomes(table: pa.Table, questions: Questions) -> Outcomes:
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
    state[correct == 0], state[correct == 1] = WRONG, RIGHT
    columns = (table[name].to_pylist() for name in ("answer", "parser", "reason"))
    pairs = [
        (answer or "", f"{parser} ({reason})" if reason else parser)
        for answer, parser, reason in zip(*columns, strict=True)
    ]
    said = tuple(dict.fromkeys(pair for pair in pairs if pair[1] is not None))
    place = {pair: at for at, pair in enumerate(said)}
    texts = np.full(count, -1, dtype=np.int64)
    texts[rows] = [place.get(pair, -1) for pair in pairs]
    return Outcomes(
        state=state,
        flipped=_flipped(table, rows, state, questions),
        predicted=spread("predicted"),
        confidence=spread("confidence"),
        sizes={name: spread(name) for name in COLUMNS if "size" in name},
        texts=texts,
        said=said,
    )


def _flipped(
    table: pa.Table, rows: Ints, state: NDArray[np.uint8], questions: Questions
) -> NDArray[np.bool_]:
    """Of prompts that stand in the table [rows] beside the original of their item."""
    answer, grade = np.full((2, len(state)), np.nan)
    answer[rows], grade[rows] = contents(table), grades(table)
    first = questions.originals[questions.of]
    asked = (state != NONE) & (first >= 0) & (state[first] != NONE) & (first != np.arange(len(first)))
    return np.asarray(asked & (flips(answer, answer[first], grade[first], questions.kept) == 1))
