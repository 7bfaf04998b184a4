"""Metrics of several prompts of a question: tables by what a formula rests on. To add one, add an entry.

OF_MEANS     from Means of v variations, [..., v]
OF_TESTS     from mean accuracies [..., c] by number of the test of a question (Li et al. 2023)
OF_TURNS     from those by turn of a conversation (the same)

calibrated and reliability hold scores against those of a random guesser (Schmalfuss et al. 2025), so that
datasets can be compared.

Accuracy, certainty, consistency and reliability of every variation (Schmalfuss et al. 2025, PARC).

faithful: all rows, no interval. clean: rows without defects, ties shared; 95 % percentile intervals of
a bootstrap over groups, which moves the questions of all variations together.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vouch.metrics.intervals import CLEAN, Figure, percentiles, resampled
from vouch.metrics.responses import Array
from vouch.metrics.robustness.predictions import Predictions
from vouch.tables.asked import KEPT, ORIGINAL


@dataclass(frozen=True)
class Means:
    """Means over the rows of v variations, all [..., v] and in 0 ... 1; NaN where there is no row.

    random_accuracy, random_consistency: of a guess on the same rows.
    """

    accuracy: Array
    random_accuracy: Array
    certainty: Array
    consistency: Array
    random_consistency: Array


class OfMeans(NamedTuple):
    """rests_on: the field of Means whose rows are counted.

    averaged: over what its means over variations go: `prompts` (the original one as well), `variations` or
    nothing.
    """

    of: Callable[[Means], Array]
    rests_on: str
    averaged: Literal["prompts", "variations", ""]


def accuracy_range(means: Array) -> Array:
    """[...] largest minus smallest, in 0 ... 1."""
    return np.asarray(means.max(axis=-1) - means.min(axis=-1))


def turn_correlation(means: Array) -> Array:
    """[...] Pearson's correlation in -1 ... 1; NaN where all turns have the same accuracy."""
    turn = np.arange(means.shape[-1]) - (means.shape[-1] - 1) / 2
    gaps = means - means.mean(axis=-1, keepdims=True)
    spread = np.sqrt((gaps**2).sum(axis=-1) * (turn**2).sum())
    with np.errstate(divide="ignore", invalid="ignore"):
        found = (gaps * turn).sum(axis=-1) / spread
    return np.where(spread > 0, np.clip(found, -1, 1), np.nan)


def turn_slope(means: Array) -> Array:
    """[...] accuracy per turn by the least-squares line, every turn counts alike."""
    turn = np.arange(means.shape[-1]) - (means.shape[-1] - 1) / 2
    return np.asarray((means * turn).sum(axis=-1) / (turn**2).sum())


def instability(
    questions: NDArray[np.int64], answers: np.ndarray, weights: NDArray[np.floating] | None = None
) -> Array:
    """[q] entropy of the answers to each question, nats, at most log of the number of tests (Li et al. 2023).

    questions [n]: numbers 0 ... q - 1; answers [n]: equal ones are one, whatever they say. weights [n]: how
    much each counts; 1 where none are given.
    """
    codes = np.unique(answers, return_inverse=True)[1]
    pairs, place = np.unique(np.stack([questions, codes]), axis=1, return_inverse=True)
    tests = np.bincount(questions, weights)
    share = np.bincount(place.ravel(), weights) / tests[pairs[0]]
    terms = -share * np.log(np.where(share > 0, share, 1))
    return np.asarray(np.bincount(pairs[0], terms, len(tests)) + 0.0, dtype=np.float64)


def calibrated(score: Array, random: Array) -> Array:
    """-1 ... 1: 0 for what a guess gives, 1 for a score of 1, -1 for 0 (equation 5).

    score, random: means in 0 ... 1, of the same shape; NaN where either is unknown or random is 0 below or 1
    above it.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(score >= random, (score - random) / (1 - random), (score - random) / random)


def reliability(accuracy: Array, random: Array, certainty: Array) -> Array:
    """(2 accuracy^m - 1) certainty, with m = log 2 / log(1 / random): positive where a guess is beaten.

    Means in 0 ... 1 of the same shape, not values of rows. NaN where random is not between 0 and 1.
    """
    between = (random > 0) & (random < 1)
    power = np.log(2) / -np.log(np.where(between, random, 0.5))
    return np.where(between, (2 * accuracy**power - 1) * certainty, np.nan)


OF_MEANS: dict[str, OfMeans] = {
    "accuracy_calibrated": OfMeans(
        lambda means: calibrated(means.accuracy, means.random_accuracy), "accuracy", "prompts"
    ),
    "certainty": OfMeans(lambda means: means.certainty, "certainty", "prompts"),
    # The same answer where the variation keeps what is correct, another one where it flips it, right or
    # wrong. What could not be read is never consistent.
    "consistency": OfMeans(lambda means: means.consistency, "consistency", ""),
    "consistency_calibrated": OfMeans(
        lambda means: calibrated(means.consistency, means.random_consistency), "consistency", "variations"
    ),
    "random_accuracy": OfMeans(lambda means: means.random_accuracy, "random_accuracy", ""),
    "random_consistency": OfMeans(lambda means: means.random_consistency, "random_consistency", ""),
    "reliability": OfMeans(
        lambda means: reliability(means.accuracy, means.random_accuracy, means.certainty),
        "accuracy",
        "prompts",
    ),
}
OF_TESTS: dict[str, Callable[[Array], Array]] = {
    "accuracy_range": accuracy_range,
}
OF_TURNS: dict[str, Callable[[Array], Array]] = {
    "turn_correlation": turn_correlation,
    "turn_slope": turn_slope,
}


FIELDS = tuple(Means.__annotations__)
SKIPPED = "certainty_rows_skipped"
FAMILIES: dict[str, tuple[str, ...]] = {
    "every_prompt": ("LR", "LS", "VR", "VS"),
    "LR": ("LR",),
    "LS": ("LS",),
    "VR": ("VR",),
    "VS": ("VS",),
    "reformulation": ("LR", "VR"),
    "semantic": ("LS", "VS"),
    "language": ("LR", "LS"),
    "vision": ("VR", "VS"),
}
"""What is averaged over variations, and of which families. Combinations of families are in none."""
Found = tuple[str, Figure]


def original_figures(
    predictions: Sequence[Predictions], certainty: Array, protocol: str, seed: int
) -> Iterator[Found]:
    """(variation, figure) of one output, and with variation "" and its family as score what is averaged.

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
        for place, part in enumerate(parts):
            if not np.isnan(values[place]):
                ends = _ends(drawn if drawn is None else drawn[:, place])
                yield part.variation, Figure("", name, float(values[place]), int(counts[place]), *ends)
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
    """[n] 1 where a prompt is answered as the answer to the original prompt of its item demands, else 0.

    NaN where the original prompt has no answer. What could not be read, there or here, is not consistent.
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
    """[G, v * fields * 2] by group the sums and numbers of the known values."""
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
        found = shaped[..., 0] / shaped[..., 1]
    return Means(**{name: found[..., place] for place, name in enumerate(FIELDS)})


def _averages(parts: Sequence[Predictions], with_original: bool) -> Iterator[tuple[str, np.ndarray]]:
    """Names and places of the variations that are averaged together; nothing without a variation."""
    for name, families in FAMILIES.items():
        chosen = [place for place, part in enumerate(parts) if part.family in families]
        if chosen and name == "every_prompt" and with_original:
            chosen += [place for place, part in enumerate(parts) if part.variation == ORIGINAL]
        if chosen:
            yield name, np.array(chosen)


def _ends(draws: Array | None) -> tuple[float | None, float | None]:
    """2.5 and 97.5 percentiles; none where draws are missing, unknown or all alike."""
    if draws is None or np.isnan(draws).any():
        return None, None
    low, high = percentiles(draws)
    return (low, high) if low < high else (None, None)
