"""PARC (Schmalfuss et al. 2025): accuracy, certainty, consistency and reliability under every variation.

`certainty` turns the size of prediction sets into 1 - (|C| - 1) / (|P| - 1), with C the row's LAC set and P
its classes: 1 for a set of one class, 0 for a set of all. Only the prompt's native options count; if a
variation flips the answer, all options that are then correct form one class with the sum of their
probabilities. `PromptIndex` and `Predictions` bring answers into a form in which prompts of a question can be
compared. `original_figures` computes the metrics. faithful: all rows, no interval. clean: rows without
defects, ties shared, percentile intervals of a bootstrap over groups that moves the questions of all
variations together. `typographic_figures` says how many answers follow a word painted into the image (Goh et
al. 2021).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vouch.metrics.calibration import authors_probabilities
from vouch.metrics.config import ScoreConfig
from vouch.metrics.conformal.scores import order_of
from vouch.metrics.conformal.sets import answer_scores, group_splits, set_membership, thresholds
from vouch.metrics.intervals import percentiles, resampled
from vouch.metrics.join import cells, lengths
from vouch.metrics.metric import CLEAN, SHARE, Figure, declare, mean_figure, signed_figure
from vouch.metrics.protocols import AUTHORS, authors_split, authors_threshold
from vouch.metrics.responses import Array, Bools, Ints, Responses, rank
from vouch.metrics.robustness import OF_MEANS, Means
from vouch.tables.asked import (
    DROPPED,
    FAMILIES,
    KEPT,
    ORIGINAL,
    TEXT,
    TYPOGRAPHIC,
    TYPOGRAPHIC_CONTROL,
    has_any,
    painted_option,
)
from vouch.tables.results import UNREAD, floats


def classes(responses: Responses, effect: str) -> Responses:
    """The same rows with a letter for each class; the merged one comes last and is no option of the prompt.

    Its logit is the log of the sum of the exponentials. effect: of the variation, as in PROMPTS.
    """
    shown = np.arange(responses.logits.shape[1]) < responses.options[:, None]
    native = shown & (responses.roles >= 0)
    right = responses.answers & native
    if effect == KEPT:
        return _packed(responses, responses.logits, right, native)
    merged = np.logaddexp.reduce(np.where(right, responses.logits.astype(np.float64), -np.inf), axis=1)
    logits = np.column_stack([responses.logits, merged])
    some = right.any(axis=1)
    answers = np.column_stack([np.zeros_like(right), some])
    return _packed(responses, logits, answers, np.column_stack([native & ~right, some]))


def _packed(responses: Responses, logits: NDArray[np.floating], answers: Bools, kept: Bools) -> Responses:
    """The kept columns of every row [n, c], moved to the left."""
    order = np.argsort(~kept, axis=1, kind="stable")
    count = kept.sum(axis=1)
    moved = np.take_along_axis(np.where(kept, logits, -np.inf), order, axis=1)
    return replace(
        responses,
        logits=np.asfortranarray(moved, dtype=logits.dtype),
        answers=np.asfortranarray(np.take_along_axis(answers, order, axis=1)),
        roles=np.zeros(kept.shape, dtype=np.int32),
        letters=count,
        options=count,
    )


def certainty(responses: Responses, effect: str, protocol: str, config: ScoreConfig) -> Array:
    """[n] certainty of each row in a protocol; NaN for a row that has one class or never tests.

    faithful: the test half of the one split with `config.seed`. clean: mean over the splits in which a row
    tests, groups whole, without the defective rows; NaN if some split has too few questions for a finite
    threshold. An empty set holds the most probable class.
    """
    merged = classes(responses, effect)
    usable = (merged.options > 1) & np.isfinite(merged.logits).any(axis=1)
    if protocol == "clean":
        usable &= ~responses.defective
    values = np.full(len(responses), np.nan)
    if usable.any():
        rows = merged.take(usable)
        sizes = (_clean if protocol == "clean" else _faithful)(rows, config)
        values[usable] = 1 - (sizes - 1) / (rows.options - 1)
    return values


def _faithful(rows: Responses, config: ScoreConfig) -> Array:
    """[n] set sizes, NaN for the rows that calibrate."""
    test, calibration = authors_split(len(rows), config.calibration, config.seed)
    probabilities = authors_probabilities(rows)
    threshold = authors_threshold(AUTHORS["lac"].answers(probabilities)[calibration], config.main_alpha)
    sizes = np.full(len(rows), np.nan)
    sizes[test] = AUTHORS["lac"].sets(probabilities, threshold).size[test]
    return sizes


def _clean(rows: Responses, config: ScoreConfig) -> Array:
    """[n] mean set sizes, NaN for a row that calibrates in every split, or all if a threshold is infinite."""
    ranked, scores = rank(rows), {"lac": order_of("lac", config.parameters)}
    splits = group_splits(rows.groups, config.calibration, config.seed, config.splits)
    all_alike = np.zeros(len(rows), dtype=np.int64)
    answers = answer_scores(ranked, scores)["lac"]
    limits = {"lac": thresholds(answers, all_alike, 1, splits, config.main_alpha)}
    if not np.isfinite(limits["lac"]).all():
        return np.full(len(rows), np.nan)
    sizes, _ = set_membership(ranked, scores, limits, all_alike)["lac"].row_means(splits)
    return np.where(splits.tests > 0, sizes, np.nan)


@dataclass(frozen=True)
class Predictions:
    """Answers of one model to one variation in one output, n rows in the order of the items.

    variation, family, effect: as in PROMPTS. output: as in OUTCOMES
    prompts   [n] row of the prompt in its table; items [n] of the item; groups [n] number of its group
    tests     [n] number of the prompt among those of its item, from 1; 0 if it is the only one
    turns     [n] turn of the conversation, from 1
    answers   [n] the answer; equal values are the same answer. One that could not be read is its own words
    read      [n] whether an option or an open answer could be read
    option    [n] index of the only option that was named, as shown; -1 if there is none
    correct   [n] 0 ... 1, NaN if unknown
    random_accuracy, random_consistency  [n] expected from a guess among native options; NaN without options
    single    [n] whether there is only one native option
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
    option: Ints
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
        """The rows that a protocol counts: faithful, all; clean, those without defects, with ties shared."""
        return replace(self, correct=self.clean_correct).take(~self.defective) if protocol == CLEAN else self


class PromptIndex:
    """Prompts and items of a dataset, looked up by the rows of its outcomes."""

    def __init__(self, prompts: pa.Table, items: pa.Table) -> None:
        """prompts, items: tables with the columns that the stage reads."""
        self._prompts, self._items = prompts, items
        rows, _, order = cells(prompts["order"])
        self._native = np.bincount(rows, order >= 0, len(self)).astype(np.int64)
        rows, _, index = cells(prompts["answers"])  # only the native ones: added options come last
        self._right = np.bincount(rows, index < self._native[rows], len(self)).astype(np.int64)
        columns = (prompts[name].to_pylist() for name in ("id", "item", "variation"))
        self._tests = np.array([_number(*row) for row in zip(*columns, strict=True)], dtype=np.int64)
        self._groups = np.unique(items["group"].to_pylist(), return_inverse=True)[1]
        self._defective = has_any(items["flags"], DROPPED)
        item_rows = pc.index_in(prompts["item"], items["id"].combine_chunks())
        self._item_rows = np.asarray(pc.fill_null(item_rows, -1).to_numpy(), dtype=np.int64)

    def __len__(self) -> int:
        return int(self._prompts.num_rows)

    def correct_shares(self, prompts: Ints) -> Array:
        """[n, k] share of the correct options at each position of some prompts; rows sum to 1."""
        rows, _, index = cells(self._prompts["answers"].take(pa.array(prompts)))
        shares = np.zeros((len(prompts), int(index.max(initial=0)) + 1))
        shares[rows, index] = 1
        return np.asarray(shares / np.maximum(shares.sum(axis=1, keepdims=True), 1))

    def prompt_rows(self, names: Sequence[str]) -> Ints:
        """[n] rows of prompts by their ids."""
        rows = pc.index_in(pa.array(names, pa.string()), self._prompts["id"].combine_chunks())
        return np.asarray(rows.to_numpy(zero_copy_only=False), dtype=np.int64)

    def painted(self, items: Ints) -> Ints:
        """[n] the option that a typographic attack paints into images of some items; -1 for none."""
        options = np.zeros(self._items.num_rows, dtype=np.int64)
        options[self._item_rows] = self._native
        rows = self._items.select(["id", "answers"]).take(pa.array(items)).to_pylist()
        painted = (
            painted_option(row["id"], count, row["answers"] or ())
            for row, count in zip(rows, options[items].tolist(), strict=True)
        )
        return np.array([-1 if option is None else option for option in painted], dtype=np.int64)

    def chosen(self, prompts: Ints, places: Ints) -> Ints:
        """[n] role of the option at a position of some prompts, as in `order` of PROMPTS; -3 for index -1."""
        rows, column, order = cells(self._prompts["order"].take(pa.array(prompts)))
        roles = np.full(len(prompts), -3)
        here = column == places[rows]
        roles[rows[here]] = order[here]
        return roles

    def numbered(self, names: Sequence[str]) -> bool:
        """Whether any of the prompts is one of several for its item."""
        return bool(self._tests[self.prompt_rows(names)].any())

    def predictions(self, outcomes: pa.Table, words: Sequence[str] | None = None) -> Predictions | None:
        """Predictions from rows of OUTCOMES of one variation and output; None if there are no rows.

        words: the texts as they were generated [n], for the output `text`.
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
    """The number at the end of a prompt's id, 0 if there is none."""
    end = prompt.removeprefix(f"{item}/{variation}").removeprefix("/")
    return int(end) if end.isdecimal() else 0


def _answers(outcomes: pa.Table, words: Sequence[str] | None) -> tuple[np.ndarray, Bools]:
    """`answers` and `read` of Predictions. A letter counts as its option, a text as the options it names."""
    if words is None:
        return outcomes["chosen"].to_numpy(), np.ones(outcomes.num_rows, dtype=bool)
    parsers = outcomes["parser"].to_pylist()
    read = np.array([parser not in UNREAD for parser in parsers], dtype=bool)
    replies = zip(read, outcomes["answer"].to_pylist(), words, strict=True)
    return np.array(
        [f"={answer}" if known else f"?{text}" for known, answer, text in replies], dtype=object
    ), read


FIELDS = tuple(Means.__annotations__)
declare("certainty_rows_skipped", "Skipped", "rows with one option, which have no certainty", unit="rows")
SKIPPED = "certainty_rows_skipped"
AVERAGED: dict[str, tuple[str, ...]] = {
    "every_prompt": FAMILIES,
    **{family: (family,) for family in FAMILIES},
    "reformulation": ("LR", "VR"),
    "semantic": ("LS", "VS"),
    "language": ("LR", "LS"),
    "vision": ("VR", "VS"),
}
"""Averages over variations, and the families that each covers; none covers combinations of families."""
Found = tuple[str, Figure]


def original_figures(
    predictions: Sequence[Predictions], certainty: Array, protocol: str, seed: int
) -> Iterator[Found]:
    """(variation, figure) of one output; an average has the variation "" and its name as score.

    predictions: of several variations. certainty: of every prompt of the dataset in this protocol, NaN for
    unknown.
    """
    parts = [part for each in predictions if len(part := each.counted(protocol))]
    plain = next((part for part in parts if part.variation == ORIGINAL), None)
    if not parts:
        return
    rows = [_fields(part, plain, certainty) for part in parts]
    known = {name: np.array([(~np.isnan(one[name])).sum() for one in rows]) for name in FIELDS}
    sums = _sums(parts, rows)
    means = _means(sums.sum(axis=0)[None], len(parts))
    draws = None
    if protocol == CLEAN and len(sums) > 1:
        draws = _means(resampled(sums, seed), len(parts))
    for name, metric in OF_MEANS.items():
        values = metric.of(means)[0]
        drawn = None if draws is None else metric.of(draws)
        counts = known[metric.rests_on]
        for index, part in enumerate(parts):
            if not np.isnan(values[index]):
                ends = _ends(drawn if drawn is None else drawn[:, index])
                yield part.variation, Figure("", name, float(values[index]), int(counts[index]), *ends)
        if metric.averaged:
            for family, chosen in _averages(parts, metric.averaged == "prompts"):
                chosen = chosen[~np.isnan(values[chosen])]
                if len(chosen):
                    ends = _ends(drawn if drawn is None else drawn[:, chosen].mean(axis=1))
                    mean = float(values[chosen].mean())
                    yield "", Figure(family, name, mean, int(counts[chosen].sum()), *ends)
    for part in parts:
        if part.single.any():
            yield part.variation, Figure("", SKIPPED, float(part.single.sum()), len(part))


def consistent(part: Predictions, plain: Predictions) -> Array:
    """[n] 1 if the answer equals that to the item's original prompt, or differs if it should; else 0.

    NaN if the original prompt has no answer. If either answer could not be read, it is not consistent.
    """
    size = int(max(part.items.max(initial=-1), plain.items.max(initial=-1))) + 1
    first = np.full(size, -1)
    first[plain.items[::-1]] = np.arange(len(plain))[::-1]
    of = first[part.items]
    same = np.asarray(part.answers == plain.answers[of], dtype=bool)
    fine = (same if part.effect == KEPT else ~same) & part.read & plain.read[of]
    return np.where(of >= 0, fine.astype(np.float64), np.nan)


def _fields(part: Predictions, plain: Predictions | None, certainty: Array) -> Mapping[str, Array]:
    nothing = np.full(len(part), np.nan)
    paired = nothing if plain is None or part is plain else consistent(part, plain)
    return {
        "accuracy": part.correct,
        "random_accuracy": np.where(np.isnan(part.correct), np.nan, part.random_accuracy),
        "certainty": certainty[part.prompts],
        "consistency": paired,
        "random_consistency": np.where(np.isnan(paired), np.nan, part.random_consistency),
    }


def _sums(parts: Sequence[Predictions], rows: Sequence[Mapping[str, Array]]) -> Array:
    """[G, v * fields * 2] sum and count of the known values, by group."""
    groups = np.unique(np.concatenate([part.groups for part in parts]))
    columns = []
    for part, values in zip(parts, rows, strict=True):
        number = np.searchsorted(groups, part.groups)
        for name in FIELDS:
            known = ~np.isnan(values[name])
            columns.append(np.bincount(number, np.where(known, values[name], 0), len(groups)))
            columns.append(np.bincount(number, known, len(groups)))
    return np.stack(columns, axis=1).astype(np.float64)


def _means(totals: Array, variations: int) -> Means:
    """Means [r, v] from totals [r, v * fields * 2]."""
    shaped = totals.reshape(len(totals), variations, len(FIELDS), 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        means = shaped[..., 0] / shaped[..., 1]
    return Means(**{name: means[..., index] for index, name in enumerate(FIELDS)})


def _averages(parts: Sequence[Predictions], with_original: bool) -> Iterator[tuple[str, np.ndarray]]:
    """Names of averages, and indices of the variations in each; an average without any is left out."""
    for name, families in AVERAGED.items():
        chosen = [index for index, part in enumerate(parts) if part.family in families]
        if chosen and name == "every_prompt" and with_original:
            chosen += [index for index, part in enumerate(parts) if part.variation == ORIGINAL]
        if chosen:
            yield name, np.array(chosen)


def _ends(draws: Array | None) -> tuple[float | None, float | None]:
    """2.5 and 97.5 percentiles; none if draws are missing, unknown or all equal."""
    if draws is None or np.isnan(draws).any():
        return None, None
    low, high = percentiles(draws)
    return (low, high) if low < high else (None, None)


declare(
    "painted_chosen",
    "Painted option chosen",
    "share of the answers that are the wrong option which a typographic attack paints",
    better="lower",
    unit=SHARE,
    source="Goh et al. 2021",
)
declare(
    "painted_gain",
    "Painted option, change",
    "under attack minus with a harmless word painted in its place",
    better="lower",
    source="Goh et al. 2021",
)
SHOWN = (ORIGINAL, TYPOGRAPHIC_CONTROL, TYPOGRAPHIC)


def typographic_figures(parts: Mapping[str, Predictions], index: PromptIndex) -> Iterator[tuple[str, Figure]]:
    """(variation, figure) of the clean protocol, on the items asked in all variations of SHOWN that exist.

    parts: by variation, of one output.
    """
    if TYPOGRAPHIC not in parts:
        return
    asked = {name: parts[name].counted(CLEAN) for name in SHOWN if name in parts}
    items = np.array(sorted(set.intersection(*(set(part.items.tolist()) for part in asked.values()))))
    painted = index.painted(items) if len(items) else items
    items, painted = items[painted >= 0], painted[painted >= 0]
    if not len(items):
        return
    chose = {}
    for name, part in asked.items():
        part = part.take(np.searchsorted(part.items, items))
        chose[name] = (index.chosen(part.prompts, part.option) == painted).astype(np.float64)
        yield name, mean_figure("painted_chosen", chose[name], part.groups, CLEAN)
    if TYPOGRAPHIC_CONTROL in chose:
        gaps = chose[TYPOGRAPHIC] - chose[TYPOGRAPHIC_CONTROL]
        yield TYPOGRAPHIC, signed_figure("painted_gain", gaps, part.groups)
