"""Uncertainty estimates: what the picture adds to an answer, and whether samples mean the same."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vouch.library.arrays import (
    answers_of,
    groups_of,
    logits_of,
    numeric,
    rows_fit,
    rows_of_texts,
    seed_of,
    shown,
    unmasked,
    within,
)
from vouch.library.figure import Estimate, Result
from vouch.library.sets import _correct
from vouch.metrics.calibration.certainty import ALPHA, clustered_entropy, vision_amplified_entropy
from vouch.metrics.calibration.certainty import image_information as of_logs
from vouch.metrics.calibration.probabilities import log_softmax, sureness
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
    alpha = within(alpha, "alpha", 0, 100)
    start = seed_of(seed)
    found = of_logs(log_softmax(sides[0]), log_softmax(sides[1]), alpha)
    numbers = groups_of(groups, len(sides[0]))
    aurocs: dict[str, Estimate] = {}
    if answers is not None:
        right = _correct(sides[0], answers_of(answers, sides[0]))
        estimates = {CONFIDENCE: sureness(sides[0]), "corrected": found.corrected, "vauq": -found.uncertainty}
        for each in uncertainty_figures(estimates, right, numbers, start):
            if each.metric == "uncertainty_gain" or each.score == CONFIDENCE:
                aurocs[each.score] = Estimate(each.value, each.low, each.high)
    gain, information = (
        Estimate(float(values.mean()), *signed_interval(values, numbers))
        for values in (found.gain, found.information)
    )
    plain, corrected, vauq = (aurocs.get(name) for name in (CONFIDENCE, "corrected", "vauq"))
    means = (len(sides[0]), gain, information, plain, corrected, vauq)
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
    every = rows_of_texts(samples, "samples")
    alpha = within(alpha, "alpha", 0, 100)
    if same is not None and not callable(same):
        raise ValueError(f"same is {shown(same)}; give a function of two texts")
    if noisy is not None:
        if loglikelihoods is not None:
            raise ValueError("noisy: give it without loglikelihoods, or these alone")
        others = rows_of_texts(noisy, "noisy", len(every), "samples")
        pairs = zip(every, others, strict=True)
        return np.array([_amplified(texts, disturbed, same, alpha) for texts, disturbed in pairs])
    weights = _weights(loglikelihoods, every) if loglikelihoods is not None else [None] * len(every)
    found = np.full(len(every), np.nan)
    for row, texts in enumerate(every):
        clusters = _clusters(texts, same)
        found[row] = clustered_entropy(np.zeros_like(clusters), clusters, 1, weights[row])[0]
    return found


def _amplified(
    texts: Sequence[str], disturbed: Sequence[str], same: Callable[[str, str], bool] | None, alpha: float
) -> float:
    clusters = _clusters([*texts, *disturbed], same)
    rows, own = np.zeros(len(clusters), dtype=np.int64), len(texts)
    clean, noisy = (rows[:own], clusters[:own]), (rows[own:], clusters[own:])
    return float(vision_amplified_entropy(clean, noisy, 1, alpha)[0])


def _weights(loglikelihoods: Any, samples: Sequence[Sequence[str]]) -> Sequence[Floats]:
    """By question the likelihoods of its samples, but for a factor."""
    unmasked(loglikelihoods, "loglikelihoods")
    rows = loglikelihoods.tolist() if isinstance(loglikelihoods, np.ndarray) else loglikelihoods
    if not isinstance(rows, list | tuple):
        raise ValueError(f"loglikelihoods is {shown(loglikelihoods)}; give numbers for each question")
    rows_fit(rows, "loglikelihoods", len(samples), "samples")
    found = []
    for row, (given, texts) in enumerate(zip(rows, samples, strict=True)):
        where = f"loglikelihoods: row {row}"
        logs = numeric(given, where, 1).astype(np.float64) if len(texts) else np.zeros(0)
        if len(logs) != len(texts):
            raise ValueError(f"{where} has {logs.size}, samples {len(texts)}")
        if not np.isfinite(logs).all():
            raise ValueError(f"{where} has NaN or infinity; give finite numbers")
        found.append(np.exp(logs - logs.max(initial=-np.inf)))
    return found


def _same(same: Callable[[str, str], bool], text: str, first: str) -> bool:
    try:
        return bool(same(text, first) and same(first, text))
    except TypeError as error:
        raise ValueError(f"same: {error}; give a function of two texts") from error


def _clusters(texts: Sequence[str], same: Callable[[str, str], bool] | None) -> NDArray[np.int64]:
    firsts: list[str] = []
    numbers = []
    for text in texts if same else map(normalised, texts):
        alike = (
            number
            for number, first in enumerate(firsts)
            if text == first or (same and _same(same, text, first))
        )
        number = next(alike, len(firsts))
        if number == len(firsts):
            firsts.append(text)
        numbers.append(number)
    return np.array(numbers, dtype=np.int64)
