"""Rankers: scores that say without labels which model is better (Tu et al. 2024).

To add one, write its function under `@ranker`, or under `@proxy_ranker` if it needs another labelled dataset.
Nothing else lists the rankers.

A ranker gives every model and item a number, [models, items]; a model's value is the mean over its items.
Higher is always better, and NaN is unknown.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from vouch.metrics.calibration import fit
from vouch.metrics.conformal.sets import quantile
from vouch.metrics.responses import Array, entropy

TOP = 3
"""How many options `entropy_top` counts."""
PROBABILITIES = "probabilities"
NLL = "nll_min"


@dataclass(frozen=True)
class RankingTask:
    """m models on n items of a dataset, by one output.

    score        empty, or the temperature of the samples that `label_free` holds, such as `t0.7`
    models       names, in alphabetical order
    groups       [n] number of the item's group
    performance  [m, n] how correct an answer is; NaN if there is none
    label_free   by name, [m, n], NaN if unknown; PROBABILITIES [m, n, k], NaN for a missing option
    answers      [n, k] the correct options; rankers may use them only on a proxy
    """

    dataset: str
    output: str
    score: str
    models: tuple[str, ...]
    groups: NDArray[np.int64]
    performance: Array
    label_free: Mapping[str, Array]
    answers: NDArray[np.bool_]

    def only(self, models: tuple[str, ...]) -> "RankingTask":
        """The same task with only these models."""
        rows = [self.models.index(model) for model in models]
        label_free = {name: values[rows] for name, values in self.label_free.items()}
        return replace(self, models=models, performance=self.performance[rows], label_free=label_free)

    @property
    def certainty(self) -> Array:
        """[m, n] how sure the model is: minus NLL of the least probable token, or the log-odds of the most
        probable option, whose probability may round to 1."""
        if NLL in self.label_free:
            return -self.label_free[NLL]
        given = self.label_free[PROBABILITIES]
        p = np.sort(np.nan_to_num(given), axis=2)
        with np.errstate(divide="ignore", invalid="ignore"):
            odds = np.log(p[:, :, -1]) - np.log(p[:, :, :-1].sum(axis=2))
        return np.where(np.isnan(given).all(axis=2), np.nan, odds)


def highest(probabilities: Array) -> Array:
    """[m, n] the largest of [m, n, k]; NaN if there are no options."""
    return np.asarray(np.fmax.reduce(probabilities, axis=2))


class Ranker(NamedTuple):
    """label: names the ranker in the report. note: says what its number is.

    needs: label-free scores, of which a task must have at least one; if empty, any task without samples will
    do. values(task), or with by_proxy values(task, proxy, alpha): from the task only, or also from a labelled
    dataset that has the same output and models. uncertainty: whether the authors' score has the other sign.
    """

    label: str
    note: str
    needs: tuple[str, ...]
    values: Callable[..., Array]
    by_proxy: bool = False
    uncertainty: bool = False

    def applies(self, task: RankingTask) -> bool:
        """Whether the task has the scores that the ranker needs."""
        return any(name in task.label_free for name in self.needs) if self.needs else not task.score


RANKERS: dict[str, Ranker] = {}
"""By name, in the order in which tables show them."""
Values = TypeVar("Values", bound=Callable[..., Array])


def ranker(
    name: str, label: str, note: str, *needs: str, by_proxy: bool = False, uncertainty: bool = False
) -> Callable[[Values], Values]:
    """Declares the ranker whose numbers the decorated function gives; the arguments are fields of Ranker."""

    def declared(values: Values) -> Values:
        RANKERS[name] = Ranker(label, note, needs, values, by_proxy, uncertainty)
        return values

    return declared


proxy_ranker = partial(ranker, by_proxy=True)


def _text_score(name: str, label: str, note: str = "", sign: int = 1) -> None:
    """Declares a label-free score of the answers as a ranker."""
    ranker(name, label, note, name, uncertainty=sign < 0)(lambda task: sign * task.label_free[name])


_text_score("nll_first", "NLL, first token", sign=-1)
_text_score("nll_last", "NLL, last token", sign=-1)
_text_score("nll_min", "NLL, worst token", "of the least probable token", sign=-1)
_text_score("nll_avg", "NLL, mean", sign=-1)
_text_score("ent_first", "Entropy, first token", sign=-1)
_text_score("ent_last", "Entropy, last token", sign=-1)
_text_score("ent_max", "Entropy, largest", sign=-1)
_text_score("ent_avg", "Entropy, mean", sign=-1)
_text_score("sample_bleu", "Samples, BLEU-1", "similarity to the greedy text")
_text_score("sample_bert", "Samples, BERTScore", "similarity to the greedy text in a text encoder")
_text_score("sample_bert_expanded", "Samples, BERTScore, spelled out", "letters with their option's text")
_text_score("sample_cosine", "Samples, cosine", "of mean encodings, with the greedy text")
_text_score("agreement", "Samples, agreement", "share that are the greedy text")
_text_score("semantic_entropy", "Samples, semantic entropy", "of their answers", sign=-1)
_text_score("variation_entropy", "Variations, entropy", "of the answers to prompts of equal meaning", sign=-1)


@ranker("confidence", "Confidence", "probability of the chosen option", PROBABILITIES)
def confidence(task: RankingTask) -> Array:
    """[models, items] the largest probability of the softmax over the options."""
    return highest(task.label_free[PROBABILITIES])


@ranker("entropy", "Entropy", "of the options", PROBABILITIES, uncertainty=True)
def minus_entropy(task: RankingTask) -> Array:
    """[models, items] minus the entropy of the softmax over the options, nats."""
    p = task.label_free[PROBABILITIES]
    return np.where(np.isnan(p).all(axis=2), np.nan, 0.0 - entropy(p))


@ranker(
    "entropy_top",
    "Entropy, three best",
    "of the three most probable options",
    PROBABILITIES,
    uncertainty=True,
)
def minus_entropy_top(task: RankingTask) -> Array:
    """[models, items] minus the entropy of the TOP most probable options, whose sum is made 1; nats.

    Tu et al. 2024 suggest it for the tokens of a text, of which only the entropy over all is stored.
    """
    p = task.label_free[PROBABILITIES]
    best = np.sort(np.where(np.isnan(p), 0.0, p), axis=2)[:, :, -TOP:]
    total = best.sum(axis=2, keepdims=True)
    shares = np.divide(best, total, out=np.zeros_like(best), where=total > 0)
    return np.where(np.isnan(p).all(axis=2), np.nan, 0.0 - entropy(shares))


@ranker("gap", "Gap", "between the two best options", PROBABILITIES)
def gap(task: RankingTask) -> Array:
    """[models, items] largest probability minus the second largest; 1 for a single option."""
    p = task.label_free[PROBABILITIES]
    ordered = np.sort(np.where(np.isnan(p), 0.0, p), axis=2)
    second = ordered[:, :, -2] if p.shape[2] > 1 else 0.0
    return np.asarray(np.where(np.isnan(p).all(axis=2), np.nan, ordered[:, :, -1] - second))


def sizes(task: RankingTask, proxy: RankingTask, alpha: float) -> Array:
    """[models, items] number of options with 1 - p <= q, at least one; NaN if the model gave no answer.

    q is the ceil((n + 1)(1 - alpha))-th smallest 1 - p of the correct answers of the proxy's n items (LAC),
    and infinite if n is too small; no label of the task is used. Between datasets, nothing guarantees
    coverage.
    """
    p = task.label_free[PROBABILITIES]
    set_sizes = np.full(p.shape[:2], np.nan)
    right = np.where(proxy.answers, proxy.label_free[PROBABILITIES], np.nan)
    scores = -np.fmax.reduce(right, axis=2, initial=np.nan)  # 1 - p would round to 1 for a tiny p
    for model, own in enumerate(scores):
        threshold = quantile(own[~np.isnan(own)], alpha)
        answered = ~np.isnan(p[model]).all(axis=1)
        set_sizes[model, answered] = np.maximum((-p[model, answered] <= threshold).sum(axis=1), 1)
    return set_sizes


@proxy_ranker("set_size", "Set size", "threshold from another dataset", PROBABILITIES, uncertainty=True)
def minus_size(task: RankingTask, proxy: RankingTask, alpha: float) -> Array:
    """[models, items] minus the size of the LAC set, see `sizes`."""
    return -sizes(task, proxy, alpha)


@proxy_ranker(
    "certainty", "Certainty", "share of options ruled out, threshold from another dataset", PROBABILITIES
)
def certainty(task: RankingTask, proxy: RankingTask, alpha: float) -> Array:
    """1 - (|C| - 1) / (k - 1): share of the other options that the set rules out (Schmalfuss et al. 2025).

    The LAC threshold comes from the labels of the proxy, whereas the authors calibrate on half of the same
    dataset. 1 for a single option.
    """
    options = (~np.isnan(task.label_free[PROBABILITIES])).sum(axis=2)
    return np.asarray(1 - (sizes(task, proxy, alpha) - 1) / np.maximum(options - 1, 1))


@proxy_ranker("atc", "Thresholded confidence", "threshold from another dataset", NLL, PROBABILITIES)
def atc(task: RankingTask, proxy: RankingTask, alpha: float) -> Array:
    """Average thresholded confidence (Garg et al. 2022).

    [models, items] 1 if the model is surer than a threshold, else 0; `alpha` is not used. The threshold makes
    the mean equal the model's performance on the labelled proxy. On the task, the mean estimates the
    performance.
    """
    return above(task.certainty, proxy.certainty, proxy.performance)


@proxy_ranker(
    "atc_scaled", "The same, scaled", "confidence at a temperature from that dataset", PROBABILITIES
)
def atc_scaled(task: RankingTask, proxy: RankingTask, alpha: float) -> Array:
    """ATC of confidences after temperature scaling (Guo et al. 2017), as Tu et al. 2024 suggest.

    Each model's temperature is the likeliest for the labels of the proxy, and holds for both datasets. Of a
    text there is one probability, whose order no temperature changes, so texts have only `atc`.
    """
    sides = [np.empty(each.performance.shape) for each in (task, proxy)]
    for model in range(len(task.models)):
        logs = [_logs(each.label_free[PROBABILITIES][model]) for each in (task, proxy)]
        answer = np.where(proxy.answers, logs[1], -np.inf).max(axis=1)
        known = np.isfinite(answer)
        fitted = (
            float(fit(logs[1][known], answer[known], np.ones((1, int(known.sum())), dtype=bool))[0])
            if known.any()
            else np.nan
        )
        for side, own in zip(sides, logs, strict=True):
            side[model] = _odds(own / (1.0 if np.isnan(fitted) else fitted))
    return above(sides[0], sides[1], proxy.performance)


def _logs(p: Array) -> Array:
    """[n, k] logarithms of probabilities, at least that of the least float64; -inf for a missing option."""
    return np.where(np.isnan(p), -np.inf, np.log(np.fmax(p, np.finfo(np.float64).tiny)))


def _odds(logs: Array) -> Array:
    """[n] log-odds of the most probable option of each row; infinite for a single one, NaN without any."""
    ordered = np.sort(logs, axis=1)
    rest = np.logaddexp.reduce(ordered[:, :-1], axis=1, initial=-np.inf)
    with np.errstate(invalid="ignore"):  # of rows without an option
        return np.where(np.isneginf(ordered[:, -1]), np.nan, ordered[:, -1] - rest)


@proxy_ranker("atc_literal", "The same, as printed", "counts the uncertain items", NLL, PROBABILITIES)
def atc_literal(task: RankingTask, proxy: RankingTask, alpha: float) -> Array:
    """Equation 4 of Tu et al. 2024 to the letter: items whose uncertainty is above the threshold are correct.

    A model that is less sure of the task than of the proxy ranks above its position there.
    """
    return above(-task.certainty, -proxy.certainty, proxy.performance)


def above(values: Array, proxy: Array, performance: Array) -> Array:
    """[models, items] whether a value is above its model's threshold; NaN if the value is unknown.

    values: [models, items] of the task. proxy, performance: [models, items] of the proxy. Of n known
    proxy values exactly round(n x mean performance) are above the threshold, except for ties. NaN for a model
    whose performance on the proxy is unknown or not in 0 ... 1.
    """
    exceeds = np.full(values.shape, np.nan)
    for model, own in enumerate(values):
        known = ~np.isnan(proxy[model]) & ~np.isnan(performance[model])
        share = performance[model][known].mean() if known.any() else np.nan
        if not 0 <= share <= 1:
            continue
        ordered = np.sort(proxy[model][known])
        below = len(ordered) - int(np.rint(share * len(ordered)))
        threshold = ordered[below - 1] if below else -np.inf
        exceeds[model] = np.where(np.isnan(own), np.nan, own > threshold)
    return exceeds


@proxy_ranker("accuracy_on_the_line", "Other datasets", "performance there")
def accuracy_on_the_line(task: RankingTask, proxy: RankingTask, alpha: float) -> Array:
    """The mean performance on the proxy, for every item (Miller et al. 2021; AoL of Tu et al. 2024)."""
    mean = np.nanmean(proxy.performance, axis=1, keepdims=True)
    return np.where(np.isnan(task.performance), np.nan, mean)
