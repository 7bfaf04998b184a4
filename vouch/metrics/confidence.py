"""Metrics of confidence: calibration errors, selective prediction, temperature, letter bias.

A table says what a formula takes. To add a metric, write its formula under `@TABLE(name, label, ...)`:

PER_ROW    Probabilities [n]: one number per row, the metric is the mean; None if it does not apply
OF_BINS    Bins of equal width; OF_MASS: Bins of equally many rows
OF_ORDER   Order, the rows by descending confidence; NaN if undefined
OF_LETTERS Letters, shares by option letter
OF_SCALED  Scaled, [splits]
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any

import numpy as np

from vouch.metrics.calibration import (
    Bins,
    Probabilities,
    Scaled,
    equal_slots,
    log_softmax,
    mass_slots,
    scale,
    tally,
)
from vouch.metrics.conformal.figures import ScoredRows
from vouch.metrics.conformal.sets import Splits
from vouch.metrics.intervals import centred, group_sums, resampled_parts
from vouch.metrics.metric import SHARE, Figure, Formulas, named, split_figure
from vouch.metrics.responses import Array, Bools, Floats, Ints, count, entropy
from vouch.tables import DONT_KNOW, NONE_OF_ABOVE

if TYPE_CHECKING:
    from vouch.metrics.config import ScoreConfig


LEAST = np.finfo(np.float64).tiny
PERCENT = (50, 80, 90)
"""Shares of the prompts that are answered, for selective_accuracy."""


@dataclass(frozen=True)
class Order:
    """Rows in blocks of equal confidence, the surest first, [..., b]: how many, and their sum of correctness.

    Rows of equal confidence share their correctness, so no metric depends on their order.
    """

    count: Array
    correct: Array

    @cached_property
    def wrong(self) -> Array:
        """[..., b] the errors of each block."""
        return np.asarray(self.count - self.correct)

    @cached_property
    def reached(self) -> Array:
        """[..., b] how many rows there are up to each block, itself included."""
        return np.cumsum(self.count, axis=-1)

    @cached_property
    def errors(self) -> Array:
        """[..., b] how many errors there are up to each block, itself included."""
        return np.cumsum(self.wrong, axis=-1)


@dataclass(frozen=True)
class Letters:
    """Per letter, [..., k]: the share of the predictions on it, and of the correct answers; both sum to 1."""

    chosen: Array
    correct: Array


PER_ROW = Formulas[Callable[[Probabilities], Any]]()
OF_BINS = Formulas[Callable[[Bins], Any]]()
OF_MASS = Formulas[Callable[[Bins], Any]]()
OF_ORDER = Formulas[Callable[[Order], Any]]()
OF_LETTERS = Formulas[Callable[[Letters], Any]]()
OF_SCALED = Formulas[Callable[[Scaled], Any]]()


PER_ROW(
    "accuracy",
    "Accuracy",
    "share of correct answers",
    better="higher",
    unit=SHARE,
    ranked=True,
    authors="test",
    detail="the most probable option is the answer",
)(lambda probabilities: probabilities.correct)
PER_ROW(
    "dont_know_rate",
    '"I don\'t know"',
    'share of the answers on the option "I don\'t know" of the template',
    unit=SHARE,
    authors="test",
    detail="[added options](cleaning.md#what-a-prompt-can-show) says when it is correct",
)(lambda probabilities: on_role(probabilities, DONT_KNOW))
PER_ROW(
    "none_rate",
    "None of the above",
    'share of the answers on the option "None of the above" of the template',
    unit=SHARE,
    authors="test",
)(lambda probabilities: on_role(probabilities, NONE_OF_ABOVE))
PER_ROW(
    "entropy", "Entropy", "entropy of the probabilities over the options", unit="nats", source="Shannon 1948"
)(lambda probabilities: entropy(probabilities.ranked))
PER_ROW(
    "tie_rate",
    "Ties",
    "share of the prompts where several letters have the largest logit",
    better="lower",
    unit=SHARE,
    authors="all",
    detail="half precision makes them common",
)(lambda probabilities: count(probabilities.tops) > 1)


@PER_ROW(
    "brier",
    "Brier",
    "squared distance between probabilities and answer, 0 to 2",
    better="lower",
    unit="squared distance",
    source="Brier 1950",
    detail="sum over the options of (p - y)^2",
)
def brier(probabilities: Probabilities) -> Floats:
    """[n] sum over the options of (p - y)^2, in 0 ... 2; several answers share y = 1 equally."""
    truth = probabilities.answers / probabilities.answers.sum(axis=1, keepdims=True)
    return np.asarray(np.sort((probabilities.p - truth) ** 2, axis=1).sum(axis=1))


@PER_ROW(
    "entropy_normalised",
    "Entropy / log K",
    "entropy as a share of the largest that the number of options allows",
    unit=SHARE,
)
def entropy_normalised(probabilities: Probabilities) -> Floats:
    """[n] entropy / log K, in 0 ... 1; 0 for a single option."""
    most = np.log(np.maximum(probabilities.options.astype(np.float64), 2))
    return np.asarray(np.minimum(entropy(probabilities.ranked) / most, 1))


@PER_ROW(
    "nll",
    "NLL",
    "negative log-likelihood of the answer, nats",
    better="lower",
    unit="nats",
    source="Good 1952",
    detail="at most 708, of the least float64",
)
def nll(probabilities: Probabilities) -> Floats:
    """[n] -log of the answers' probability; if it is 0, 708 nats, the value for the least float64."""
    logs = np.where(probabilities.answers, log_softmax(probabilities.logits), -np.inf)
    right = np.logaddexp.reduce(np.sort(logs, axis=1), axis=1)
    return np.asarray(np.where(np.isneginf(right), -np.log(LEAST), np.maximum(0.0 - right, 0.0)))


@PER_ROW(
    "top2_gap",
    "Top-two gap",
    "the largest probability minus the second largest",
    unit=SHARE,
    source="Azad et al. 2025, equation 6",
    detail="names no option, so it is no score of sets",
)
def top2_gap(probabilities: Probabilities) -> Floats:
    """[n] the largest probability minus the second largest, in 0 ... 1.

    It names no option, so it is a measure of certainty and not a nonconformity score, as `margin` is.
    """
    ranked = np.maximum(probabilities.ranked, 0)
    second = ranked[:, 1] if ranked.shape[1] > 1 else 0.0
    return np.asarray(ranked[:, 0] - second)


def on_role(probabilities: Probabilities, role: int) -> Floats | Bools | None:
    """[n] share of the prediction on options with that role; None if no prompt has one."""
    letters = probabilities.roles == role
    return probabilities.share(letters) if letters.any() else None


@OF_BINS(
    "ece",
    "ECE",
    "expected calibration error",
    better="lower",
    unit=SHARE,
    ranked=True,
    authors="all",
    source="Naeini et al. 2015",
    detail="mean gap to accuracy over bins of equal width",
)
@OF_MASS(
    "ece_mass",
    "ECE, equal mass",
    "ECE over bins that hold equally many questions",
    better="lower",
    unit=SHARE,
    source="Nguyen and O'Connor 2015",
    detail="equal confidences share one",
)
def ece(bins: Bins) -> Array:
    """[...] mean gap of the bins, weighted by their rows."""
    return np.asarray((bins.gap * bins.weight).sum(axis=-1))


@OF_BINS(
    "mce",
    "MCE",
    "maximum calibration error: the largest gap of a bin between confidence and accuracy",
    better="lower",
    unit=SHARE,
    ranked=True,
    authors="all",
    source="Naeini et al. 2015",
)
@OF_MASS(
    "mce_mass",
    "MCE, equal mass",
    "MCE over bins that hold equally many questions",
    better="lower",
    unit=SHARE,
)
def mce(bins: Bins) -> Array:
    """[...] the largest gap."""
    return np.asarray(bins.gap.max(axis=-1))


@OF_ORDER(
    "aurc",
    "AURC",
    "mean error of the surest questions, over all shares: less is better",
    better="lower",
    unit=SHARE,
    source="Geifman, Uziel and El-Yaniv 2019",
)
def aurc(order: Order) -> Array:
    """[...] mean over k = 1 ... n of the error among the k surest rows.

    A block of m rows with mean error r after c rows with e errors adds sum_{j = 1 ... m} (e + j r) / (c + j)
    = m r + (e - c r) (H(c + m) - H(c)), with harmonic numbers H.
    """
    wrong, after = order.wrong, order.reached.astype(np.int64)
    rate = wrong / np.maximum(order.count, 1)
    harmonic = np.r_[0.0, np.cumsum(1 / np.arange(1, int(after.max()) + 1))]
    grown = harmonic[after]
    grown[..., 1:] -= grown[..., :-1].copy()
    curve = wrong + (order.errors - wrong - (order.reached - order.count) * rate) * grown
    return np.asarray(curve.sum(axis=-1) / after[..., -1])


@OF_ORDER(
    "auroc",
    "AUROC",
    "probability that a correct answer is more confident than a wrong one",
    better="higher",
    unit=SHARE,
    source="Mann and Whitney 1947",
)
def auroc(order: Order) -> Array:
    """[...] P(correct row surer than wrong one), ties count half; NaN if all are correct or all wrong."""
    right, wrong = order.correct, order.wrong
    total = wrong.sum(axis=-1, keepdims=True)
    surer = (right * (total - order.errors + wrong / 2)).sum(axis=-1)
    pairs = right.sum(axis=-1) * total[..., 0]
    return np.where(pairs > 0, surer / np.where(pairs > 0, pairs, 1), np.nan)


@OF_ORDER(
    "selective_accuracy",
    "Selective accuracy",
    "accuracy on the surest share of the questions, the others declined",
    better="higher",
    unit=SHARE,
    source="El-Yaniv and Wiener 2010",
)
def selective_accuracy(order: Order) -> dict[str, Array]:
    """Share answered in percent -> [...] accuracy on the ceil(share n) surest rows."""
    rows, before, accuracies = np.maximum(order.count, 1), order.reached - order.count, {}
    for percent in PERCENT:
        most = -(-percent * order.reached[..., -1:] // 100)
        # Of the block that holds the last of these rows, only the share needed counts.
        share = np.clip((most - before) / rows, 0, 1)
        accuracies[str(percent)] = (share * order.correct).sum(axis=-1) / most[..., 0]
    return accuracies


def by_letter(shares: Array) -> dict[str, Array]:
    """Shares [..., k] by name of the letter."""
    return {ascii_uppercase[k]: shares[..., k] for k in range(shares.shape[-1])}


OF_LETTERS(
    "chosen_share",
    "Chosen",
    "share of the answers that fall on the letter",
    unit=SHARE,
    detail="for texts, by the position of the option that they name, whatever its label",
)(lambda letters: by_letter(letters.chosen))
OF_LETTERS(
    "correct_share",
    "Correct",
    "share of the correct answers that stand at the letter",
    unit=SHARE,
    detail="for texts, by the position of the option",
)(lambda letters: by_letter(letters.correct))
OF_LETTERS(
    "letter_bias",
    "Letter bias",
    "total variation distance between the letters that are chosen and those that are correct",
    better="lower",
    unit=SHARE,
    source="Zheng et al. 2024",
)(lambda letters: np.abs(letters.chosen - letters.correct).sum(axis=-1) / 2)
OF_SCALED(
    "temperature",
    "T",
    "temperature that fits best; above 1 the model is too sure",
    source="Guo et al. 2017",
    detail="fitted to the NLL of the calibration half, in 0.05 to 20; left out where a half has equal logits "
    "or only one option, because every T then fits equally well",
)(lambda scaled: scaled.temperature)
OF_SCALED(
    "nll_scaled",
    "NLL after T",
    "on the test half after temperature scaling",
    better="lower",
    unit="nats",
    source="Guo et al. 2017",
)(lambda scaled: scaled.nll)
OF_SCALED(
    "ece_scaled",
    "ECE after T",
    "on the same test half after temperature scaling",
    better="lower",
    unit=SHARE,
    source="Guo et al. 2017",
)(lambda scaled: ece(scaled.bins))
OF_SCALED(
    "ece_test",
    "ECE, test half",
    "of the test half alone; fewer questions make it larger",
    better="lower",
    unit=SHARE,
    detail="so it is what `ece_scaled` compares with",
)(lambda scaled: ece(scaled.before))
BLOCKS = 200
"""The most blocks of confidence in the bootstrap: rows in the same block count as equally sure."""


def confidence_figures(
    probabilities: Probabilities, rows: ScoredRows, groups: Ints, splits: Splits, config: "ScoreConfig"
) -> list[Figure]:
    """Calibration errors, selective prediction and answer bias with bootstrap intervals over groups around
    the value; the results of temperature scaling with the percentiles over the splits.
    """
    figures = []
    if splits.sizes.min() > 0 and splits.sizes.max() < len(groups):
        scaled = scale(rows.ranked, rows.correct, splits, config.bins)
        values_of = {name: formula(scaled) for name, formula in OF_SCALED.items()}
        figures = [
            split_figure(name, values, len(groups))
            for name, values in values_of.items()
            if not np.isnan(values).any()
        ]
    return figures + _resampled(probabilities, groups, config)


def _resampled(probabilities: Probabilities, groups: Ints, config: "ScoreConfig") -> list[Figure]:
    """Metrics of sums over rows: all sums of a group are drawn together."""
    confidence, correct = probabilities.confidence, probabilities.correct
    bins, letters, surest = config.bins, probabilities.p.shape[1], min(BLOCKS, len(groups))
    wide, mass, blocks = (
        equal_slots(confidence, bins),
        mass_slots(confidence, bins),
        mass_slots(-probabilities.sureness, surest),
    )
    ones, picked = np.ones(len(groups)), np.asarray(probabilities.picked)
    right = probabilities.answers / probabilities.answers.sum(axis=1, keepdims=True)
    sums = group_sums(
        groups,
        [
            *((slots, values, bins) for slots in (wide, mass) for values in (ones, confidence, correct)),
            *((0, shares[:, letter], 1) for shares in (picked, right) for letter in range(letters)),
            *((blocks, values, surest) for values in (ones, correct)),
        ],
    )
    widths = np.cumsum([bins] * 6 + [letters] * 2 + [surest] * 2)
    values = _of_sums(
        tally(wide, bins, confidence, correct),
        tally(mass, bins, confidence, correct),
        Letters(picked.mean(axis=0), right.mean(axis=0)),
        _order(probabilities),
    )
    drawn = []
    for totals in resampled_parts(sums, config.seed):
        parts = np.split(totals, widths[:-1], axis=-1)
        rows = parts[0].sum(axis=-1, keepdims=True)
        by_letter = Letters(parts[6] / rows, parts[7] / rows)
        drawn.append(_of_sums(Bins(*parts[:3]), Bins(*parts[3:6]), by_letter, Order(*parts[8:])))
    figures = []
    for name, value in values.items():
        if not np.isnan(value):
            ends = centred(float(value), np.concatenate([draws[name] for draws in drawn]))
            figures.append(Figure("", name, float(value), len(groups), *ends))
    return figures


def _of_sums(wide: Bins, mass: Bins, letters: Letters, order: Order) -> dict[str, Array]:
    """All metrics of sums over rows, [...] by name."""
    tables: tuple[tuple[Mapping[str, Callable[[Any], Array]], Any], ...] = (
        *((OF_BINS, wide), (OF_MASS, mass)),
        *((OF_LETTERS, letters), (OF_ORDER, order)),
    )
    return {
        name: value
        for table, given in tables
        for metric, formula in table.items()
        for name, value in named(metric, formula(given)).items()
    }


def _order(probabilities: Probabilities) -> Order:
    """Every block of equal confidence."""
    levels, block = np.unique(-probabilities.sureness, return_inverse=True)
    counts, correct = (
        np.bincount(block, values, minlength=len(levels)).astype(np.float64)
        for values in (None, probabilities.correct)
    )
    return Order(counts, correct)
