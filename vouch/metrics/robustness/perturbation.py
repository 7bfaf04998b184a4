"""Accuracy, certainty, consistency and reliability of every variation (Schmalfuss et al. 2025, PARC).

faithful: all rows, no interval. clean: rows without defects, ties shared; 95 % percentile intervals of
a bootstrap over groups, which moves the questions of all variations together.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from vouch.metrics.intervals import CLEAN, Figure, percentiles, resampled
from vouch.metrics.responses import Array
from vouch.metrics.robustness.metrics import OF_MEANS, Means
from vouch.metrics.robustness.predictions import Predictions
from vouch.tables.asked import KEPT, ORIGINAL

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
