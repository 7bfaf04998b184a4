"""Uncertainty estimates: what the picture adds to an answer, and whether samples mean the same."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vouch.library.arrays import answers_of, groups_of, logits_of, unmasked, within
from vouch.library.figure import Estimate, Result
from vouch.library.sets import _correct
from vouch.metrics.calibration.certainty import ALPHA, clustered_entropy, vision_amplified_entropy
from vouch.metrics.calibration.certainty import image_information as of_probabilities
from vouch.metrics.calibration.probabilities import softmax
from vouch.metrics.calibration.uncertainty import CONFIDENCE, uncertainty_figures
from vouch.metrics.intervals import signed_interval
from vouch.metrics.text.wording import plain as normalised

Floats = NDArray[np.floating]


@dataclass(frozen=True, repr=False)
class ImageInformation(Result):
    """gain: mean fall of the answers' log-likelihood without the picture. information: mean rise of the
    entropy (Park et al. 2026). Both in nats. The answer is the option that is likeliest with the picture, so
    gain is biased upwards where logits are noisy: it does not show that the picture is used. auroc: of plain
    confidence; auroc_corrected and auroc_vauq: theirs minus that, paired. None without answers. gains,
    informations, uncertainty, corrected: [n].
    """

    rows: int
    gain: Estimate
    information: Estimate
    auroc: Estimate | None
    auroc_corrected: Estimate | None
    auroc_vauq: Estimate | None
    gains: Floats = field(compare=False)
    informations: Floats = field(compare=False)
    uncertainty: Floats = field(compare=False)
    corrected: Floats = field(compare=False)


def image_information(
    logits: Any,
    without: Any,
    answers: Any = None,
    *,
    alpha: float = ALPHA,
    groups: ArrayLike | None = None,
    seed: int = 0,
) -> ImageInformation:
    """What a model knows by the picture.

    logits, without: [n, k] of the same questions with the picture, and without it or with
    another one; options in the same order. answers: as for `prediction_sets`. uncertainty is
    H - alpha information, corrected the answer's share of softmax((1 + alpha) log p - alpha log q).

    >>> found = image_information([[2.0, 0.0], [0.0, 2.0]], [[0.0, 0.0], [0.0, 0.0]])
    >>> round(found.gain.value, 3)
    0.566
    """
    sides = [logits_of(logits), logits_of(without, "without")]
    if sides[0].shape != sides[1].shape:
        raise ValueError(f"without: shape {sides[1].shape}, logits {sides[0].shape}; they must fit")
    others = (np.isfinite(sides[0]) != np.isfinite(sides[1])).any(axis=1)
    if others.any():
        raise ValueError(f"without: row {int(others.argmax())} has not the options of logits")
    within(alpha, "alpha", 0, 100)
    p, q = map(softmax, sides)
    found, numbers = of_probabilities(p, q, alpha), groups_of(groups, len(p))
    aurocs: dict[str, Estimate] = {}
    if answers is not None:
        right = _correct(sides[0], answers_of(answers, sides[0]))
        estimates = {CONFIDENCE: p.max(axis=1), "corrected": found.corrected, "vauq": -found.uncertainty}
        for each in uncertainty_figures(estimates, right, numbers, seed):
            if each.metric == "uncertainty_gain" or each.score == CONFIDENCE:
                aurocs[each.score] = Estimate(each.value, each.low, each.high)
    gain, information = (
        Estimate(float(values.mean()), *signed_interval(values, numbers))
        for values in (found.gain, found.information)
    )
    plain, corrected, vauq = (aurocs.get(name) for name in (CONFIDENCE, "corrected", "vauq"))
    means = (len(p), gain, information, plain, corrected, vauq)
    return ImageInformation(*means, found.gain, found.information, found.uncertainty, found.corrected)


def semantic_entropy(
    samples: Sequence[Sequence[str]],
    *,
    loglikelihoods: Sequence[Sequence[float]] | None = None,
    noisy: Sequence[Sequence[str]] | None = None,
    same: Callable[[str, str], bool] | None = None,
    alpha: float = 1.0,
) -> Floats:
    """[n] entropy over clusters of the answers sampled for each question, nats; NaN with fewer than two.

    Clusters are texts that are equal after normalisation, or of which same(a, b) and same(b, a) hold for the
    first of the cluster (bidirectional entailment in Farquhar et al. 2024). Each sample counts alike; with
    loglikelihoods of the same shape by its likelihood. noisy: samples for a disturbed picture; then the
    entropy is that of softmax(p + alpha (p - q)), VASE (Liao et al. 2025).

    >>> semantic_entropy([["red", "Red.", "blue", "red"]]).round(3).tolist()
    [0.562]
    """
    if noisy is not None and (loglikelihoods is not None or len(noisy) != len(samples)):
        raise ValueError("noisy: give it for every question, and no loglikelihoods")
    for name, rows_of_texts in (("samples", samples), ("noisy", noisy or [])):
        lone = [row for row, texts in enumerate(rows_of_texts) if isinstance(texts, str)]
        if lone:
            text = rows_of_texts[lone[0]]
            raise ValueError(f"{name}: row {lone[0]} is the text {text!r}; give a list of texts per question")
    if loglikelihoods is not None and len(loglikelihoods) != len(samples):
        raise ValueError(f"loglikelihoods: {len(loglikelihoods)} rows, samples {len(samples)}; they must fit")
    unmasked(loglikelihoods, "loglikelihoods")
    found = np.full(len(samples), np.nan)
    for row, texts in enumerate(samples):
        others = list(noisy[row]) if noisy is not None else []
        clusters = _clusters([*texts, *others], same)
        if noisy is not None:
            rows, own = np.zeros(len(clusters), dtype=np.int64), len(texts)
            clean, disturbed = (rows[:own], clusters[:own]), (rows[own:], clusters[own:])
            found[row] = vision_amplified_entropy(clean, disturbed, 1, alpha)[0]
        else:
            weights = None
            if loglikelihoods is not None and len(texts) > 1:
                logs = np.asarray(loglikelihoods[row], dtype=np.float64)
                if logs.shape != (len(texts),):
                    raise ValueError(f"loglikelihoods: row {row} has {logs.size}, samples {len(texts)}")
                if not np.isfinite(logs).all():
                    raise ValueError(f"loglikelihoods: row {row} has NaN or infinity; give finite numbers")
                weights = np.exp(logs - logs.max())
            found[row] = clustered_entropy(np.zeros_like(clusters), clusters, 1, weights)[0]
    return found


def _clusters(texts: Sequence[str], same: Callable[[str, str], bool] | None) -> NDArray[np.int64]:
    firsts: list[str] = []
    numbers = []
    for text in texts if same else map(normalised, texts):
        alike = (
            number
            for number, first in enumerate(firsts)
            if text == first or (same and same(text, first) and same(first, text))
        )
        number = next(alike, len(firsts))
        if number == len(firsts):
            firsts.append(text)
        numbers.append(number)
    return np.array(numbers, dtype=np.int64)
