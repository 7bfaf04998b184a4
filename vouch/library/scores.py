"""Models, prompts and runs of a table of scores side by side: ranks, paired differences and variance."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from vouch.library import check
from vouch.library.check import MOST_DRAWS
from vouch.library.comparison import MOST, paired
from vouch.library.estimates import Estimate, Result, mean_of, needs
from vouch.library.score_tables import Scores, read_scores
from vouch.metrics.comparison.statistics import holm, minimum_detectable_effect, questions_for
from vouch.metrics.comparison.variance import components

if TYPE_CHECKING:
    import pandas as pd


MINIMUM = 30
"""Fewest independent questions (groups) of a pair with a verdict, as in the report (docs/small-data.md)."""


class ModelScore(NamedTuple):
    """score: mean over the questions that all models answered. rank: 1 is the largest, equal means share it.

    rank_low: 1 + the number of models that are significantly better, rank_high: the last rank less those
    significantly worse; models whose ranks overlap are not told apart. variance: by source, None if unknown.
    rows: scores of the model.
    """

    model: str
    rows: int
    score: Estimate | None
    rank: int | None
    rank_low: int | None
    rank_high: int | None
    variance: Mapping[str, float] | None


class ScorePair(NamedTuple):
    """difference: a minus b on the questions that both answered (items). p: two-sided; p_holm: corrected over
    all pairs. minimum_detectable_effect: the smallest true difference that four of five such studies find
    (None: above the range of scores). needed: questions that would find the difference seen here, with
    MINIMUM groups at least. verdict: `a`, `b` or empty if p_holm is not below the significance level, or if
    fewer than MINIMUM groups of questions were compared. left_out: questions of just one of them.
    """

    a: str
    b: str
    items: int
    groups: int
    difference: Estimate | None
    p: float | None
    p_holm: float | None
    minimum_detectable_effect: float | None
    needed: int | None
    verdict: str
    left_out: int


@dataclass(frozen=True, repr=False)
class ScoresComparison(Result):
    """models by rank, pairs in the order of the models. items, groups, prompts, runs: of the table. common:
    questions that all models answered, with one prompt at least. significance: of the verdicts and ranks.
    remarks: on logs, as of a run that did not finish.
    """

    items: int
    groups: int
    prompts: int
    runs: int
    common: int
    significance: float
    models: tuple[ModelScore, ...]
    pairs: tuple[ScorePair, ...]
    remarks: tuple[str, ...] = ()

    def __repr__(self) -> str:
        models = ", ".join(f"{each.model} {each.score!r}" for each in self.models[:6])
        more = f" and {len(self.models) - 6} more" if len(self.models) > 6 else ""
        pair = self.pairs[0] if len(self.pairs) == 1 else None
        gap = (
            f"; difference {pair.difference!r}, p={pair.p_holm:.4g}"
            if pair and pair.p_holm is not None
            else ""
        )
        remarks = "".join(f"; {remark}" for remark in self.remarks)
        return f"ScoresComparison({self.items} items, {models}{more}{gap}{remarks})"

    def to_frame(self) -> "pd.DataFrame":
        """A pandas table with a row for each pair."""
        needs("to_frame", "pandas", "pandas")
        import pandas as pd

        rows = []
        for pair in self.pairs:
            gap = pair.difference or Estimate(math.nan)
            rows.append(pair._asdict() | {"difference": gap.value, "low": gap.low, "high": gap.high})
        return pd.DataFrame(rows, columns=[*ScorePair._fields, "low", "high"])


def compare_scores(
    *tables: Any, significance: float = 0.05, resamples: int = 1000, seed: int = 0
) -> ScoresComparison:
    """Models on the same questions, from a table of scores or from logs.

    tables: a table as the path of a CSV, TSV, XLSX or parquet file, a pandas DataFrame or a mapping of
    columns; or logs, as paths or what `from_log` gave, a model each. Columns of a table: item, model and
    score; prompt, run and group (items that are not independent) may be missing. Names of other tools are
    known, as item_id, epoch.

    Runs of a question and prompt are averaged. A difference is the mean over the questions and prompts that
    both models answered; interval, p and minimum detectable effect are those of `compare`, with whole items
    (or groups) resampled. `models` have ranks, and how much of the variance of their scores is due to the
    question, the prompt and the sampling (method of moments: Searle, Casella and McCulloch 1992). Scores may
    have any range; outside 0 to 1 it is taken from the table. Raises ValueError with the row at fault.

    >>> scores = {"item": [1, 2, 3, 1, 2, 3], "model": list("aaabbb"), "score": [1, 1, 0, 1, 0, 0]}
    >>> compare_scores(scores).pairs[0].difference.value
    0.3333333333333333
    """
    level = check.share(significance, "significance")
    draws, start = check.whole(resamples, "resamples", MOST_DRAWS), check.seed(seed)
    scores = read_scores(tables)
    cells, item_of = _cells(scores)
    every = range(len(scores.models))
    pairs = [_pair(scores, cells, item_of, a, b, draws, start) for a, b in combinations(every, 2)]
    corrected = holm([pair.p for pair in pairs])
    claims = sum(p is not None for p in corrected)
    pairs = [_judged(pair, p, level, claims, scores) for pair, p in zip(pairs, corrected, strict=True)]
    shared = ~np.isnan(cells).any(axis=0)
    models = [_model(scores, cells[index][shared], item_of[shared], index) for index in every]
    means = [each.score.value if each.score else math.nan for each in models]
    ranked = [_ranked(each, means, pairs) for each in models]
    return ScoresComparison(
        len(scores.items),
        int(scores.group.max()) + 1,
        int(scores.prompt.max()) + 1,
        int(scores.run.max()) + 1,
        len(np.unique(item_of[shared])),
        level,
        tuple(sorted(ranked, key=lambda each: (each.rank or 0, each.model))),
        tuple(pairs),
        scores.remarks,
    )


def _cells(scores: Scores) -> tuple[Any, Any]:
    """[models, cells] mean over runs, NaN where there is none, and [cells] the item of each.

    A cell is an item with a prompt that some model answered.
    """
    pairs = scores.item * (scores.prompt.max() + 1) + scores.prompt
    cell_pairs, cell = np.unique(pairs, return_inverse=True)
    shape = len(scores.models), len(cell_pairs)
    flat = np.ravel_multi_index((scores.model, cell), shape)
    counts = np.bincount(flat, minlength=math.prod(shape))
    sums = np.bincount(flat, scores.values, math.prod(shape))
    means = np.where(counts, sums / np.maximum(counts, 1), np.nan).reshape(shape)
    return means, cell_pairs // (scores.prompt.max() + 1)


def _pair(scores: Scores, cells: Any, item_of: Any, a: int, b: int, draws: int, seed: int) -> ScorePair:
    known = ~np.isnan(cells[[a, b]])
    both, either = known.all(axis=0), known.any(axis=0)
    items = item_of[both]
    groups, gap, p = _group_of(scores, items), None, None
    if len(items):
        scaled, p = paired((cells[a] - cells[b])[both] / scores.span, groups, draws, seed)
        gap = _on_scale(scaled, scores.span)
    count = len(np.unique(items))
    left_out = len(np.unique(item_of[either])) - count
    names = scores.models[a], scores.models[b]
    return ScorePair(*names, count, len(np.unique(groups)), gap, p, None, None, None, "", left_out)


def _judged(pair: ScorePair, p: float | None, level: float, claims: int, scores: Scores) -> ScorePair:
    """A pair with its corrected p, what it could have shown, and its verdict."""
    gap, span = pair.difference, scores.span
    if gap is None or gap.low is None or gap.high is None or p is None:
        return pair._replace(p_holm=p)
    effect = minimum_detectable_effect(gap.low / span, gap.high / span, level, claims)
    detectable = effect and effect * span
    needed = questions_for(abs(gap.value), pair.items, detectable) if detectable and gap.value else None
    fewest = math.ceil(MINIMUM * pair.items / pair.groups)
    better = pair.a if gap.value > 0 else pair.b
    return pair._replace(
        p_holm=p,
        minimum_detectable_effect=detectable,
        needed=None if needed is None or needed > MOST else max(needed, fewest),
        verdict=better if p < level and gap.value and pair.groups >= MINIMUM else "",
    )


def _model(scores: Scores, cells: Any, items: Any, index: int) -> ModelScore:
    """A model without its ranks, by its scores in the cells that all models have, and their items."""
    own = scores.model == index
    parts = components(scores.values[own], scores.item[own], scores.prompt[own])
    score = None
    if len(items):
        estimate = mean_of((cells - scores.low) / scores.span, _group_of(scores, items))
        score = _on_scale(estimate, scores.span, scores.low)
    name, rows = scores.models[index], int(own.sum())
    return ModelScore(name, rows, score, None, None, None, parts and parts.by)


def _group_of(scores: Scores, items: Any) -> Any:
    """The group of each of these items, as numbers from 0 without gaps."""
    group = np.zeros(len(scores.items), dtype=np.int64)
    group[scores.item] = scores.group
    return np.unique(group[items], return_inverse=True)[1]


def _on_scale(estimate: Estimate, span: float, shift: float = 0.0) -> Estimate:
    """An estimate in 0 ... 1, or a difference of such, on the scale of the table."""
    low, high = (None if end is None else end * span + shift for end in estimate[1:])
    return Estimate(estimate.value * span + shift, low, high)


def _ranked(model: ModelScore, means: Sequence[float], pairs: Sequence[ScorePair]) -> ModelScore:
    if model.score is None:
        return model
    decided = [pair for pair in pairs if pair.verdict and model.model in (pair.a, pair.b)]
    better = sum(pair.verdict != model.model for pair in decided)
    return model._replace(
        rank=1 + sum(each > model.score.value + 1e-12 for each in means),
        rank_low=1 + better,
        rank_high=len(means) - (len(decided) - better),
    )
