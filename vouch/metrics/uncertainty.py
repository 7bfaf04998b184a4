"""Uncertainty estimates, and how well each tells correct answers from wrong ones.

`image_information` measures what an image adds to an answer. Park et al. 2026 (VAUQ, arXiv 2602.21054) call
the fall in predictive entropy that an image causes the Image-Information Score, IS = H(Y | without) - H(Y |
with), and use H - alpha IS with alpha = 0.5 as uncertainty. They mask the region that the model attends to;
here the whole image is blank, blurred, exchanged or left out, and Y is an option instead of a token.

`clustered_entropy` counts the meanings of sampled answers. `festa` compares the answers to changed prompts
with those of an ideal model (Bhattacharya et al. 2025). `uncertainty_figures` compares estimates on the same
answers; every bootstrap with the same seed draws the same groups, so differences of draws are paired.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import scipy

from vouch.metrics.calibration import mass_slots
from vouch.metrics.confidence import BLOCKS, LEAST, Order, auroc
from vouch.metrics.intervals import about, centred, group_sums, resampled
from vouch.metrics.metric import SHARE, Figure, declare
from vouch.metrics.responses import Floats, Ints
from vouch.metrics.robustness import instability

ALPHA = 0.5
DIGITS = 12
"""Decimals of cluster entropies: rounding keeps equal ones equal whatever the order of summation."""


class AnswerInformation(NamedTuple):
    """For each answer [n]: gain, the fall of its log-likelihood without the image, nats; information, IS;
    uncertainty, H - alpha IS; corrected, its probability after softmax((1 + alpha) log p - alpha log q)."""

    gain: Floats
    information: Floats
    uncertainty: Floats
    corrected: Floats


def image_information(log_p: Floats, log_q: Floats, alpha: float = ALPHA) -> AnswerInformation:
    """log_p, log_q: [n, k] of the options with and without the image, -inf for missing options.

    The answer is the first option with the largest p. `corrected` divides the words' effect out of p, as
    contrastive decoding does (Leng et al. 2024, arXiv 2311.16922).
    """
    logs, blind = (np.where(np.isneginf(each), np.log(LEAST), each) for each in (log_p, log_q))
    p, q = np.exp(log_p), np.exp(log_q)
    rows, chosen = np.arange(len(p)), log_p.argmax(axis=1)
    entropy, without = (-(each * of).sum(axis=1) for each, of in ((p, logs), (q, blind)))
    contrast = np.where(np.isfinite(log_p), (1 + alpha) * logs - alpha * blind, -np.inf)
    corrected = scipy.special.softmax(contrast, axis=1)[rows, chosen]
    information = without - entropy
    gain = logs[rows, chosen] - blind[rows, chosen]
    return AnswerInformation(gain, information, entropy - alpha * information, corrected)


def clustered_entropy(rows: Ints, answers: np.ndarray, count: int, weights: Floats | None = None) -> Floats:
    """[count] entropy of the clusters of equal answers [n] of each row [n], nats; NaN with fewer than two.

    weights [n]: of the answers, 1 if none are given.
    """
    times = np.bincount(rows, minlength=count)
    entropies = np.full(count, np.nan)
    several = times[rows] > 1
    if several.any():
        present, number = np.unique(rows[several], return_inverse=True)
        own = None if weights is None else weights[several]
        entropies[present] = np.round(instability(number, answers[several], own), DIGITS) + 0.0
    return entropies


def vision_amplified_entropy(
    clean: tuple[Ints, np.ndarray], noisy: tuple[Ints, np.ndarray], count: int, alpha: float = 1.0
) -> Floats:
    """[count] entropy of softmax(p + alpha (p - q)) over the clusters of a row, nats; NaN with fewer than two
    answers on either side. p, q: their shares among the clean and the noisy answers, each given as rows and
    answers [n]."""
    rows = np.concatenate([clean[0], noisy[0]])
    codes = np.unique(np.concatenate([clean[1], noisy[1]]), return_inverse=True)[1]
    side = np.repeat([0, 1], [len(clean[0]), len(noisy[0])])
    pairs, pair = np.unique(np.stack([rows, codes]), axis=1, return_inverse=True)
    times = [np.bincount(rows[side == one], minlength=count) for one in (0, 1)]
    p, q = (
        np.bincount(pair.ravel()[side == one], minlength=pairs.shape[1]) / np.maximum(times[one][pairs[0]], 1)
        for one in (0, 1)
    )
    weights = np.exp(p + alpha * (p - q))
    share = weights / np.bincount(pairs[0], weights, count)[pairs[0]]
    entropies = np.bincount(pairs[0], -share * np.log(share), count)
    return np.where((times[0] > 1) & (times[1] > 1), np.round(entropies, DIGITS), np.nan)


LEAST_EQUIVALENT, LEAST_COMPLEMENTARY = 2, 1
"""Prompts that an item needs for FESTA: those that keep the answer, those that change it."""
_SMALLEST = 1e-10  # share, as in the authors' code (iiscleap/mllm-uncertainty-estimation)


def festa(kept: Floats, changed: Floats) -> Floats:
    """[n] U_FES + U_FCS of FESTA in nats, 0 (surest) ... 46; NaN if a share is (Bhattacharya et al. 2025).

    kept [n]: share of the functionally equivalent prompts of an item with the answer to the original prompt.
    changed [n]: share of its functionally complementary prompts with another answer. An ideal model has a
    share of 1, so each divergence KL(ideal || model) is -log of the share; a share of 0 counts as 1e-10.
    """
    u_fes, u_fcs = (np.log1p(_SMALLEST) - np.log(share + _SMALLEST) for share in (kept, changed))
    return np.asarray(np.round(u_fes + u_fcs, DIGITS) + 0.0)


declare(
    "uncertainty_auroc",
    "AUROC",
    "by an uncertainty estimate, on the answers of which all estimates are known; FESTA by itself",
    better="higher",
    unit=SHARE,
    source="Mann and Whitney 1947",
)
declare(
    "uncertainty_gain",
    "AUROC, change",
    "an uncertainty estimate minus the plain confidence on the same answers",
    better="higher",
)
declare(
    "uncertainty_unknown",
    "Unknown",
    "answers for which an uncertainty estimate is unknown, because too few prompts were asked",
    unit="answers",
)
CONFIDENCE, FESTA = "confidence", "festa"
"""CONFIDENCE is the estimate that others are compared with."""


class UncertaintyEstimate(NamedTuple):
    """label: heads a column. help: explains the estimate.

    partial: it is known for some answers only, so it is compared with confidence on these, and the other
    estimates on all answers.
    """

    label: str
    help: str
    partial: bool = False


ESTIMATES = {
    CONFIDENCE: UncertaintyEstimate(
        "Confidence", "probability of the chosen option; for a text, exp(−NLL) of its tokens"
    ),
    "entropy": UncertaintyEstimate("Entropy", "of the options; for a text, the mean over its tokens"),
    "corrected": UncertaintyEstimate(
        "Without words", "confidence after dividing out the probabilities given the text alone"
    ),
    "vauq": UncertaintyEstimate("VAUQ", "entropy minus half the image information"),
    "variations": UncertaintyEstimate(
        "Variations", "semantic entropy of the answers to reworded and disturbed prompts"
    ),
    FESTA: UncertaintyEstimate(
        "FESTA",
        "divergence from an ideal model: the same answer to prompts of equal meaning "
        f"({LEAST_EQUIVALENT} or more), another one to prompts that flip it ({LEAST_COMPLEMENTARY} or more)",
        partial=True,
    ),
    "agreement": UncertaintyEstimate("Agreement", "share of the samples that give the same answer"),
    "semantic_entropy": UncertaintyEstimate("Semantic entropy", "of the answers of the samples"),
    "vase": UncertaintyEstimate("VASE", "semantic entropy after subtracting the samples for a blurred image"),
    "p_true": UncertaintyEstimate("P(true)", "probability that the model gives to its own answer being true"),
    "verbalised": UncertaintyEstimate("Stated", "confidence that the text states"),
}
"""Uncertainty estimates by name, in the order in which tables show them; estimates of samples end in
`_tTEMPERATURE`. vouch/metrics/compared.py computes them."""


def uncertainty_figures(
    estimates: Mapping[str, Floats], correct: Floats, groups: Ints, seed: int
) -> list[Figure]:
    """uncertainty_auroc of every estimate, and uncertainty_gain, its lead over CONFIDENCE; by score.

    estimates: [n] larger is surer, NaN if unknown; only rows on which all are known count, so that all use
    the same rows. A partial estimate is left out of that: it has figures of its own rows, and
    uncertainty_unknown, the number of the other ones. correct: [n] 0 ... 1. Empty if there is nothing to
    compare, or all are correct.
    """
    partial = [name for name in estimates if name in ESTIMATES and ESTIMATES[name].partial]
    common = {name: values for name, values in estimates.items() if name not in partial}
    figures = _figures(common, correct, groups, seed)
    for name in partial if figures else ():
        pair = {CONFIDENCE: estimates[CONFIDENCE], name: estimates[name]}
        figures += [one for one in _figures(pair, correct, groups, seed) if one.score == name]
        counted = ~np.isnan([correct, estimates[CONFIDENCE]]).any(axis=0)
        unknown = np.isnan(estimates[name][counted])
        if unknown.any():
            figures.append(Figure(name, "uncertainty_unknown", float(unknown.sum()), len(unknown)))
    return figures


def _figures(estimates: Mapping[str, Floats], correct: Floats, groups: Ints, seed: int) -> list[Figure]:
    """The same of estimates that are compared on the same rows."""
    known = ~np.isnan([correct, *estimates.values()]).any(axis=0)
    if CONFIDENCE not in estimates or len(estimates) < 2 or not known.any():
        return []
    right, numbers = correct[known], groups[known]
    aurocs = {name: _auroc(values[known], right, numbers, seed) for name, values in estimates.items()}
    base, of_base = aurocs[CONFIDENCE]
    if np.isnan(base):
        return []
    figures = []
    for name, (value, draws) in aurocs.items():
        figures.append(Figure(name, "uncertainty_auroc", value, len(right), *centred(value, draws)))
        if name != CONFIDENCE:
            gap = value - base
            figures.append(Figure(name, "uncertainty_gain", gap, len(right), *about(gap, draws - of_base)))
    return figures


def _auroc(estimate: Floats, right: Floats, groups: Ints, seed: int) -> tuple[float, Floats]:
    """The exact AUROC, and bootstrap draws of it in which rows of one of BLOCKS blocks are equally sure."""
    levels, exact = np.unique(-estimate, return_inverse=True)
    counts = (np.bincount(exact, weights, len(levels)).astype(float) for weights in (None, right))
    few = exact if len(levels) <= BLOCKS else mass_slots(-estimate, BLOCKS)
    width = int(few.max()) + 1
    sums = group_sums(groups, [(few, np.ones(len(right)), width), (few, right, width)])
    return float(auroc(Order(*counts))), auroc(Order(*np.split(resampled(sums, seed), 2, axis=-1)))
