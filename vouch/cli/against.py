"""Two runs side by side, `now` and `then`: which settings differ, which numbers moved, which answers changed.

Every number that differs has the 95 % interval of its paired difference, over the questions that both runs
asked in the same words: a number has *moved* if the interval excludes 0, else it has *changed*. Equal to the
last digit is *same*.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from vouch.cli.leaderboard import ACCURACY, Cells, Column, Line, ordered
from vouch.cli.revision import problem
from vouch.metrics.calibration import equal_slots, resampled_bins
from vouch.metrics.comparison.config import CompareConfig
from vouch.metrics.comparison.statistics import GRAIN, intervals, means
from vouch.metrics.confidence import ece
from vouch.metrics.intervals import about, some
from vouch.pipeline.errors import UserError
from vouch.report.gates import headline_columns, interval_holds
from vouch.tables import DONT_KNOW, HEADLINE, NONE_OF_ABOVE
from vouch.tables.asked import ITEMS, items_path
from vouch.tables.results import OUTCOMES, UNREAD, contents, grades, outcomes_path

COLUMNS = tuple(column for column in headline_columns(4))
LISTED = 50
"""Changed answers that are listed for a model, dataset and request type."""
LONGEST = 160  # characters of an answer
MOVED, CHANGED, SAME = "moved", "changed", "same"
LOST, GAINED, OTHER = "now wrong", "now correct", "other answer"
PAIR = ["prompt", "output"]
_ADDED = {DONT_KNOW: "I don't know", NONE_OF_ABOVE: "None of the above"}
_OF_OUTCOMES = (
    *("model", "prompt", "item", "group", "variation", "output", "parser", "answer", "chosen", "correct"),
    *("confidence", "clean_correct"),
    *(f"clean_{name}_{score}" for name in ("covered", "size") for score in HEADLINE),
)
_OF_ITEMS = ("id", "question", "hint", "options", "answers", "references", "images", "turns")
_IN_OUTCOMES = {"accuracy": "clean_correct", "coverage": "clean_covered", "set_size": "clean_size"}
Outs = Mapping[str, Mapping[str, str | None]]
"""Stage -> path of each output -> digest; None if it is not here."""


class Side(NamedTuple):
    """One run. settings: file -> dotted key -> value. bins: those of the calibration error. path_of: where
    the content of an output lies."""

    settings: Mapping[str, Mapping[str, Any]]
    outs: Outs
    numbers: Cells
    bins: int
    path_of: Callable[[Path], Path]

    def digest(self, path: Path) -> str | None:
        """The digest of an output."""
        return next((outs[str(path)] for outs in self.outs.values() if str(path) in outs), None)


class Setting(NamedTuple):
    """A key that differs. then, now: its values as text; None where there is no such key."""

    file: str
    key: str
    then: str | None
    now: str | None


class Outputs(NamedTuple):
    """How many outputs of one kind of stage have the same bytes, other bytes, or are on one side only."""

    kind: str
    same: int
    other: int
    single: int


class NumberPair(NamedTuple):
    """A number of both runs. difference: now minus then, over `items` questions; low, high: its interval.

    items: questions that count on both sides; 0 if the answers cannot be paired. of: questions behind `now`.
    """

    line: Line
    column: Column
    then: float | None
    now: float | None
    difference: float | None
    low: float | None
    high: float | None
    items: int
    of: int

    @property
    def state(self) -> str:
        """MOVED, CHANGED or SAME."""
        if self.now == self.then:
            return SAME
        apart = self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)
        return MOVED if apart else CHANGED


class Change(NamedTuple):
    """A changed answer. kind: LOST, GAINED or OTHER."""

    item: str
    kind: str
    then: str
    now: str


class Answers(NamedTuple):
    """The answers of one model to the prompts of one line.

    kinds: how many changed, by kind. listed: the first LISTED of them. then_only, now_only: prompts that only
    one run has an answer to.
    """

    line: Line
    prompts: int
    kinds: Mapping[str, int]
    listed: Sequence[Change]
    then_only: int
    now_only: int

    @property
    def changed(self) -> int:
        """How many answers changed."""
        return sum(self.kinds.values())


class Questions(NamedTuple):
    """The questions of a dataset. same: ids of those with equal content. other: with another content."""

    dataset: str
    same: frozenset[str]
    other: Sequence[str]
    then_only: Sequence[str]
    now_only: Sequence[str]

    @property
    def differ(self) -> bool:
        """Whether the runs asked different questions."""
        return bool(self.other or self.then_only or self.now_only)


class RunComparison(NamedTuple):
    """All that `against` finds.

    variations: (dataset, variation) -> answers of all models that both runs have, and how many of them
    changed. notes: why answers of a dataset cannot be compared one by one.
    """

    settings: Sequence[Setting]
    outputs: Sequence[Outputs]
    then_only: Sequence[str]
    now_only: Sequence[str]
    numbers: Sequence[NumberPair]
    answers: Sequence[Answers]
    variations: Mapping[tuple[str, str], tuple[int, int]]
    questions: Sequence[Questions]
    notes: Sequence[str]

    @property
    def states(self) -> Counter[str]:
        """How many numbers moved, changed, and stayed the same."""
        return Counter(number.state for number in self.numbers)

    @property
    def unchanged(self) -> bool:
        """Whether no number, answer or question differs."""
        differ = any(answers.changed or answers.then_only or answers.now_only for answers in self.answers)
        differ |= any(changed for _, changed in self.variations.values()) or bool(self.notes)
        one_sided = self.then_only or self.now_only or any(each.differ for each in self.questions)
        return not (differ or one_sided or self.states[MOVED] or self.states[CHANGED])


def against(now: Side, then: Side, config: CompareConfig) -> RunComparison:
    """Compares two runs. Raises UserError if a table is missing or damaged."""
    numbers: list[NumberPair] = []
    answers: list[Answers] = []
    questions: list[Questions] = []
    notes: list[str] = []
    variations: Counter[tuple[str, str]] = Counter()
    changed: Counter[tuple[str, str]] = Counter()
    both = [line for line in ordered(now.numbers) if line in then.numbers]
    for dataset in dict.fromkeys(line[0] for line in both):
        lines = [line for line in both if line[0] == dataset]
        pairs = None
        if differs(now, then, dataset, lines):
            if why := _unreadable(then, dataset):
                notes.append(f"{dataset}: its answers cannot be compared one by one: {why}")
            else:
                pairs = _Pairs(now, then, dataset)
                questions.append(pairs.questions)
        for model in dict.fromkeys(line[3] for line in lines):
            own = [line for line in lines if line[3] == model]
            frame = None if pairs is None else pairs.frame(model)
            for line in own:
                part = None if frame is None else _of_line(frame, line)
                numbers += _numbers(now, then, line, part, config)
                if pairs is not None and part is not None:
                    answers.append(pairs.answers(line, part))
            if frame is not None:
                common = frame[frame["both"]]
                variations.update((dataset, name) for name in common["variation"])
                changed.update((dataset, name) for name in common.loc[common["kind"] != "", "variation"])
    return RunComparison(
        settings=list(_settings(now.settings, then.settings)),
        outputs=_outputs(now.outs, then.outs),
        then_only=_only(then.numbers, now.numbers),
        now_only=_only(now.numbers, then.numbers),
        numbers=numbers,
        answers=answers,
        variations={key: (count, changed[key]) for key, count in variations.items()},
        questions=questions,
        notes=notes,
    )


def differs(now: Side, then: Side, dataset: str, lines: Sequence[Line]) -> bool:
    """Whether outcomes, questions or numbers of a dataset differ, so that its answers must be read."""
    paths = (outcomes_path(dataset), items_path(dataset))
    if any(now.digest(path) != then.digest(path) for path in paths):
        return True
    return any(
        _value(now, line, column) != _value(then, line, column) for line in lines for column in COLUMNS
    )


def _unreadable(then: Side, dataset: str) -> str:
    """Why the earlier run's answers to a dataset cannot be read; empty if they can."""
    try:
        OUTCOMES.open(then.path_of(outcomes_path(dataset)))
        ITEMS.open(then.path_of(items_path(dataset)))
    except UserError as error:
        return problem(error)
    return ""


def _settings(
    now: Mapping[str, Mapping[str, Any]], then: Mapping[str, Mapping[str, Any]]
) -> Iterator[Setting]:
    for file, values in now.items():
        before = then.get(file, {})
        for key in sorted({*values, *before}):
            texts = [str(side[key]) if key in side else None for side in (before, values)]
            if key not in values or key not in before or values[key] != before[key]:
                yield Setting(file, key, *texts)


def _outputs(now: Outs, then: Outs) -> list[Outputs]:
    counts: dict[str, Counter[str]] = {}
    for stage in dict.fromkeys([*now, *then]):
        ours, theirs = now.get(stage, {}), then.get(stage, {})
        count = counts.setdefault(stage.partition("@")[0], Counter())
        for path in {*ours, *theirs}:
            digests = ours.get(path), theirs.get(path)
            count["single" if None in digests else SAME if digests[0] == digests[1] else "other"] += 1
    return [Outputs(kind, count[SAME], count["other"], count["single"]) for kind, count in counts.items()]


def _only(ours: Cells, theirs: Cells) -> list[str]:
    """Datasets and models that only one side has, then models on a dataset that both sides have."""
    datasets, models = ({line[at] for line in ours} - {line[at] for line in theirs} for at in (0, 3))
    rest = {
        f"{model} on {dataset} ({output})"
        for dataset, variation, output, model in ours
        if (dataset, variation, output, model) not in theirs
        and dataset not in datasets
        and model not in models
    }
    return [
        *(f"dataset {name}" for name in sorted(datasets)),
        *(f"model {name}" for name in sorted(models)),
        *sorted(rest),
    ]


def _value(side: Side, line: Line, column: Column) -> float | None:
    row = side.numbers[line].get(column)
    return None if row is None else row["value"]


def _numbers(
    now: Side, then: Side, line: Line, part: pd.DataFrame | None, config: CompareConfig
) -> Iterator[NumberPair]:
    """The headline numbers of a line that either run has. part: the line's answers of both runs."""
    counted = [side.numbers[line].get(ACCURACY, {}).get("items") or 0 for side in (now, then)]
    kept = None
    if part is not None:
        kept = part[part["alike"]].dropna(subset=["clean_correct", "clean_correct_then"])
    for column in COLUMNS:
        before, after = _value(then, line, column), _value(now, line, column)
        if before is None and after is None:
            continue
        gap: tuple[float | None, float | None, float | None] = (None, None, None)
        items = 0 if kept is None else len(kept)
        if before == after:
            gap = (0.0, None, None)
        elif kept is not None and items and before is not None and after is not None:
            whole = after - before if counted == [items, items] else None
            gap = _gap(kept, column, (now.bins, then.bins), whole, config)
            if not interval_holds(column[0], kept["group"].nunique()):
                gap = (gap[0], None, None)
        yield NumberPair(line, column, before, after, *gap, items, counted[0])


def _gap(
    kept: pd.DataFrame, column: Column, bins: tuple[int, int], whole: float | None, config: CompareConfig
) -> tuple[float | None, float | None, float | None]:
    """The paired difference with its interval, both None without answers that have the number.

    whole: the difference of the headline numbers, if these rest on just the same questions; the interval is
    then moved there, since the means of prediction sets weight questions by how often a split tested them.
    """
    metric, score = column
    name = _IN_OUTCOMES.get(metric, "confidence") + (f"_{score}" if score else "")
    kept = kept.dropna(subset=[name, f"{name}_then"])
    if kept.empty:
        return None, None, None
    codes, groups = pd.factorize(kept["group"], sort=True)
    if metric == "ece":
        draws, values = [], []
        for suffix, number in zip(("", "_then"), bins, strict=True):
            confidence, correct = (
                kept[f"{key}{suffix}"].to_numpy(float) for key in ("confidence", "clean_correct")
            )
            slots = equal_slots(confidence, number)
            drawn = resampled_bins(slots, number, confidence, correct, codes, config.seed)
            draws.append(ece(drawn))
            one = np.zeros(len(kept), dtype=np.int64)  # all rows as one group give the value itself
            values.append(float(ece(resampled_bins(slots, number, confidence, correct, one, 0))[0]))
        value = values[0] - values[1] if whole is None else whole
        return value, *about(value, draws[0] - draws[1])
    units = np.rint(GRAIN * (kept[name] - kept[f"{name}_then"]).to_numpy(float))
    sums = np.bincount(codes, units, len(groups)).astype(float)[:, None]
    counts = np.bincount(codes, minlength=len(groups)).astype(float)[:, None]
    most = GRAIN * (
        max(1.0, kept[[name, f"{name}_then"]].to_numpy().max() - 1) if metric == "set_size" else 1
    )
    low, high = (some(end[0]) for end in intervals(sums, counts, config.seed, config.resamples, -most, most))
    mean = float(means(sums, counts)[0]) / GRAIN
    value = mean if whole is None else whole
    shift = value - mean
    return value, None if low is None else low / GRAIN + shift, None if high is None else high / GRAIN + shift


def _of_line(frame: pd.DataFrame, line: Line) -> pd.DataFrame:
    return frame[(frame["variation"] == line[1]) & (frame["output"] == line[2])]


class _Pairs:
    """The answers of both runs to the prompts of one dataset. Raises UserError."""

    def __init__(self, now: Side, then: Side, dataset: str) -> None:
        self._sides, self._dataset = {"": now, "_then": then}, dataset
        same = now.digest(items_path(dataset)) == then.digest(items_path(dataset))
        self._items = {"": self._read(now)}
        self._items["_then"] = self._items[""] if same else self._read(then)
        ours, theirs = self._items[""], self._items["_then"]
        self.questions = Questions(
            dataset,
            frozenset(name for name, row in ours.items() if theirs.get(name) == row),
            [name for name, row in ours.items() if name in theirs and theirs[name] != row],
            [name for name in theirs if name not in ours],
            [name for name in ours if name not in theirs],
        )

    def _read(self, side: Side) -> dict[str, dict[str, Any]]:
        rows = ITEMS.read(side.path_of(items_path(self._dataset)), _OF_ITEMS).to_pylist()
        return {row["id"]: row for row in rows}

    def frame(self, model: str) -> pd.DataFrame:
        """A row for each prompt and output of a model; columns of `then` end in _then.

        both: whether both runs have it. alike: whether they asked it about the same question. kind: of the
        change, empty for none and where they are not alike.
        """
        empty = pa.schema([OUTCOMES.schema.field(name) for name in _OF_OUTCOMES]).empty_table()
        path = outcomes_path(self._dataset)
        tables = [
            pa.concat_tables([empty, *OUTCOMES.rows_with(side.path_of(path), "model", [model], _OF_OUTCOMES)])
            for side in self._sides.values()
        ]
        every = pa.concat_tables(tables)
        frame = every.to_pandas().assign(content=contents(every), grade=grades(every))
        ours, theirs = frame.iloc[: tables[0].num_rows], frame.iloc[tables[0].num_rows :]
        frame = ours.merge(theirs, on=PAIR, suffixes=("", "_then"), how="outer", indicator=True, sort=False)
        for name in ("item", "group", "variation"):
            frame[name] = frame[name].where(frame["_merge"] != "right_only", frame[f"{name}_then"])
        frame["both"] = frame["_merge"] == "both"
        frame["alike"] = frame["both"] & frame["item"].isin(self.questions.same)
        return frame.assign(kind=_kinds(frame))

    def answers(self, line: Line, part: pd.DataFrame) -> Answers:
        """The changed answers of a line: those that became wrong first, then correct, then other."""
        kinds = {kind: int((part["kind"] == kind).sum()) for kind in (LOST, GAINED, OTHER)}
        changed = part[part["kind"] != ""]
        order = changed["kind"].map({kind: at for at, kind in enumerate(kinds)})
        first = changed.assign(order=order).sort_values(["order", "item", "prompt"]).head(LISTED)
        listed = [
            Change(row["item"], row["kind"], self._text(row, "_then"), self._text(row, ""))
            for row in first.to_dict("records")
        ]
        return Answers(
            line,
            int(part["alike"].sum()),
            kinds,
            listed,
            int((part["_merge"] == "right_only").sum()),
            int((part["_merge"] == "left_only").sum()),
        )

    def _text(self, row: Mapping[str, Any], suffix: str) -> str:
        """An answer in words: the option, what was read from a text, or why nothing was."""
        chosen, answer, parser = (row[f"{name}{suffix}"] for name in ("chosen", "answer", "parser"))
        if not pd.isna(chosen):
            options = self._items[suffix][row["item"]]["options"]
            text = _ADDED.get(int(chosen)) or str(options[int(chosen)])
        else:
            text = f"({parser})" if parser in UNREAD or pd.isna(answer) else str(answer)
        text = " ".join(text.split())
        return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _kinds(frame: pd.DataFrame) -> np.ndarray[Any, Any]:
    """[rows] the kind of change of each answer."""
    gap = (frame["grade"] - frame["grade_then"]).to_numpy(float)
    contents = frame[["content", "content_then"]].to_numpy(float)
    unread = np.isnan(contents)
    equal = (contents[:, 0] == contents[:, 1]) | unread.all(axis=1)
    kinds = np.where(gap < 0, LOST, np.where(gap > 0, GAINED, np.where(equal, "", OTHER)))
    return np.where(frame["alike"], kinds, "")
