"""Calibration error, temperature, image information, semantic entropy, and reading answers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from string import ascii_uppercase
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vouch.library import check
from vouch.library.check import MOST_DRAWS
from vouch.library.estimates import Estimate, Result, over_splits
from vouch.library.sets import graded, responses
from vouch.metrics.calibration import (
    Bins,
    equal_slots,
    fit,
    log_softmax,
    logs,
    mass_slots,
    resampled_bins,
    scale,
    softmax,
    sureness,
    tally,
)
from vouch.metrics.confidence import ece, mce
from vouch.metrics.intervals import centred, signed_interval
from vouch.metrics.responses import Array, rank
from vouch.metrics.text.reader.options import NONE, OPTION, Choices
from vouch.metrics.text.reader.reader import read
from vouch.metrics.text.wording import plain as normalised
from vouch.metrics.uncertainty import (
    ALPHA,
    CONFIDENCE,
    clustered_entropy,
    uncertainty_figures,
    vision_amplified_entropy,
)
from vouch.metrics.uncertainty import image_information as of_logs


@dataclass(frozen=True, repr=False)
class CalibrationError(Result):
    """ece: mean |accuracy - confidence| over the bins, weighted by rows. mce: the largest of them. gap: mean
    confidence minus accuracy, above 0 for an overconfident model. counts, confidence, accuracy: [bins], the
    last two NaN in empty bins.
    """

    rows: int
    ece: Estimate
    mce: Estimate
    gap: float
    counts: NDArray[np.int64] = field(compare=False)
    confidence: Array = field(compare=False)
    accuracy: Array = field(compare=False)


def calibration_error(
    probabilities: Any,
    correct: Any,
    *,
    bins: int = 15,
    equal_mass: bool = False,
    groups: ArrayLike | None = None,
    seed: int = 0,
) -> CalibrationError:
    """Expected calibration error (Naeini et al. 2015; Guo et al. 2017).

    probabilities: [n] the confidence of each answer, or [n, k]; the largest in a row counts. correct:
    [n] 1 or 0, or a share. The bins have equal widths or, with equal_mass, equal numbers of rows. Intervals:
    bootstrap over groups [n] about its median, since resampling moves the error upwards.

    Raises ValueError that names the argument, and the row if one is at fault.

    >>> round(calibration_error([0.9, 0.9, 0.6, 0.6], [1, 1, 1, 0], bins=10).ece.value, 3)
    0.1
    """
    given = check.numeric(probabilities, "probabilities", 1, 2)
    if given.ndim == 2:
        wrong = ~((given >= 0) & (given <= 1)).all(axis=1) | (given.shape[1] == 0)
        check.refuse(wrong, "probabilities", "has numbers outside 0 to 1, or none")
        sums = given.sum(axis=1, dtype=float)
        over = sums > 1 + 1e-2  # bfloat16 is rounded as coarsely as that
        check.refuse(over, "probabilities", lambda row: f"sums to {sums[row]:.4g}, more than 1")
        given = given.max(axis=1)
    confidence = check.shares(given, "probabilities")
    right = check.shares(correct, "correct", len(confidence), "probabilities")
    bins, start = check.whole(bins, "bins", MOST_DRAWS), check.seed(seed)
    by_mass = check.flag(equal_mass, "equal_mass")
    slots = mass_slots(confidence, bins) if by_mass else equal_slots(confidence, bins)
    tallied = tally(slots, bins, confidence, right)
    draws = resampled_bins(slots, bins, confidence, right, check.groups(groups, len(right)), start)
    with np.errstate(invalid="ignore"):
        means = tallied.confidence / tallied.count, tallied.correct / tallied.count
    return CalibrationError(
        len(right),
        _estimate(ece, tallied, draws),
        _estimate(mce, tallied, draws),
        float(confidence.mean() - right.mean()),
        tallied.count.astype(np.int64),
        *means,
    )


def _estimate(formula: Any, found: Bins, draws: Bins) -> Estimate:
    value = float(formula(found))
    return Estimate(value, *centred(value, formula(draws)))


@dataclass(frozen=True, repr=False)
class Temperature(Result):
    """value: T, fitted on all rows; NaN if every T is as good: each row has equal logits or one option.
    ece_before, ece_after, nll_after (nats): on the test halves of the splits, with T fitted on the other
    halves.
    """

    value: float
    ece_before: Estimate
    ece_after: Estimate
    nll_after: Estimate

    def scale(self, logits: Any) -> Array:
        """softmax(logits / T) [n, k]. Raises ValueError if T is NaN."""
        given = check.logits(logits)
        if np.isnan(self.value):
            raise ValueError("logits: no temperature was found for them, since all were equal")
        return np.asarray(softmax(given / self.value))


def temperature(
    logits: Any,
    answers: Any,
    *,
    groups: ArrayLike | None = None,
    bins: int = 15,
    calibration: float = 0.5,
    splits: int = 100,
    seed: int = 0,
) -> Temperature:
    """Temperature scaling (Guo, Pleiss, Sun and Weinberger 2017); arguments as for `prediction_sets`.

    T divides the logits and minimises the negative log-likelihood. It is between 0.05 and 20, and one of
    these bounds if all answers are correct or all are wrong.

    Raises ValueError that names the argument, and the row if one is at fault.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> answers = rng.integers(0, 4, 2000)
    >>> logits = rng.normal(size=(2000, 4)) + (answers[:, None] == np.arange(4))
    >>> round(temperature(3 * logits, answers).value)  # three times too sure
    3
    """
    values = check.logits(logits)
    right = check.answers(answers, values)
    drawn = check.halves(check.groups(groups, len(values)), calibration, splits, seed)
    ranked = rank(responses(values, right, np.arange(len(values)), 0))
    value = float(fit(*logs(ranked), np.ones((1, len(values)), dtype=bool))[0])
    scaled = scale(ranked, graded(values, right), drawn, check.whole(bins, "bins", MOST_DRAWS))
    after = (ece(scaled.before), ece(scaled.bins), scaled.nll)
    return Temperature(value, *map(over_splits, after))


Floats = NDArray[np.floating]


@dataclass(frozen=True, repr=False)
class ImageInformation(Result):
    """gain: how much the log-likelihood of the answers falls without the image, on average. information: how
    much the entropy rises (Park et al. 2026). Both in nats. The answer is the likeliest one with the image:
    noisy logits bias gain upwards, so gain does not show that the image is used. auroc: of plain
    confidence; auroc_corrected, auroc_vauq: those of corrected and uncertainty minus auroc, paired. None
    without answers. gains, informations, uncertainty, corrected: [n].
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
    """How much information a model takes from the image, in nats.

    logits: [n, k] with the image. without: [n, k] of the same questions without it or with another one;
    options in the same order. answers: as for `prediction_sets`. With p and q the softmax of the two, and H
    the entropy of p, uncertainty is H - alpha information (VAUQ, Park et al. 2026), and corrected is the
    answer's share of softmax((1 + alpha) log p - alpha log q) (VCD, Leng et al. 2024).

    Raises ValueError that names the argument, and the row if one is at fault.

    >>> found = image_information([[2.0, 0.0], [0.0, 2.0]], [[0.0, 0.0], [0.0, 0.0]])
    >>> round(found.gain.value, 3)
    0.566
    """
    sides = [check.logits(logits), check.logits(without, "without")]
    if sides[0].shape != sides[1].shape:
        raise ValueError(f"without: shape {sides[1].shape}, logits {sides[0].shape}; they must fit")
    others = (np.isfinite(sides[0]) != np.isfinite(sides[1])).any(axis=1)
    check.refuse(others, "without", "has not the options of logits")
    alpha = check.within(alpha, "alpha", 0, 100)
    start = check.seed(seed)
    image = of_logs(log_softmax(sides[0]), log_softmax(sides[1]), alpha)
    numbers = check.groups(groups, len(sides[0]))
    aurocs: dict[str, Estimate] = {}
    if answers is not None:
        right = graded(sides[0], check.answers(answers, sides[0]))
        estimates = {CONFIDENCE: sureness(sides[0]), "corrected": image.corrected, "vauq": -image.uncertainty}
        for each in uncertainty_figures(estimates, right, numbers, start):
            if each.metric == "uncertainty_gain" or each.score == CONFIDENCE:
                aurocs[each.score] = Estimate(each.value, each.low, each.high)
    gain, information = (
        Estimate(float(values.mean()), *signed_interval(values, numbers))
        for values in (image.gain, image.information)
    )
    plain, corrected, vauq = (aurocs.get(name) for name in (CONFIDENCE, "corrected", "vauq"))
    means = (len(sides[0]), gain, information, plain, corrected, vauq)
    return ImageInformation(*means, image.gain, image.information, image.uncertainty, image.corrected)


def semantic_entropy(
    samples: Sequence[Sequence[str]],
    *,
    loglikelihoods: Sequence[Sequence[float]] | None = None,
    noisy: Sequence[Sequence[str]] | None = None,
    same: Callable[[str, str], bool] | None = None,
    alpha: float = 1.0,
) -> Floats:
    """[n] entropy over clusters of a question's sampled answers, in nats; NaN for fewer than two answers.

    A cluster holds texts that are equal after normalisation, or for which same(a, b) and same(b, a) hold with
    its first text (bidirectional entailment in Farquhar et al. 2024). All samples weigh the same or, with
    loglikelihoods of the same shape, by likelihood. noisy: samples for a disturbed image; the result is
    then the entropy of softmax(p + alpha (p - q)), VASE (Liao et al. 2025).

    Raises ValueError that names the argument, and the row if one is at fault.

    >>> semantic_entropy([["red", "Red.", "blue", "red"]]).round(3).tolist()
    [0.562]
    """
    every = check.text_rows(samples, "samples")
    alpha = check.within(alpha, "alpha", 0, 100)
    if same is not None and not callable(same):
        raise ValueError(f"same is {check.shown(same)}; give a function of two texts")
    if noisy is not None:
        if loglikelihoods is not None:
            raise ValueError("noisy: give it without loglikelihoods, or these alone")
        others = check.text_rows(noisy, "noisy", len(every), "samples")
        pairs = zip(every, others, strict=True)
        return np.array([_amplified(texts, disturbed, same, alpha) for texts, disturbed in pairs])
    weights = _weights(loglikelihoods, every) if loglikelihoods is not None else [None] * len(every)
    entropies = np.full(len(every), np.nan)
    for row, texts in enumerate(every):
        clusters = _clusters(texts, same)
        entropies[row] = clustered_entropy(np.zeros_like(clusters), clusters, 1, weights[row])[0]
    return entropies


def _amplified(
    texts: Sequence[str], disturbed: Sequence[str], same: Callable[[str, str], bool] | None, alpha: float
) -> float:
    clusters = _clusters([*texts, *disturbed], same)
    rows, own = np.zeros(len(clusters), dtype=np.int64), len(texts)
    clean, noisy = (rows[:own], clusters[:own]), (rows[own:], clusters[own:])
    return float(vision_amplified_entropy(clean, noisy, 1, alpha)[0])


def _weights(loglikelihoods: Any, samples: Sequence[Sequence[str]]) -> Sequence[Floats]:
    """For each question, the likelihoods of its samples, up to a common factor."""
    check.unmasked(loglikelihoods, "loglikelihoods")
    rows = loglikelihoods.tolist() if isinstance(loglikelihoods, np.ndarray) else loglikelihoods
    if not isinstance(rows, list | tuple):
        raise ValueError(f"loglikelihoods is {check.shown(loglikelihoods)}; give numbers for each question")
    check.same_rows(rows, "loglikelihoods", len(samples), "samples")
    weights = []
    for row, (given, texts) in enumerate(zip(rows, samples, strict=True)):
        where = f"loglikelihoods: row {row}"
        logs = check.numeric(given, where, 1).astype(np.float64) if len(texts) else np.zeros(0)
        if len(logs) != len(texts):
            raise ValueError(f"{where} has {logs.size}, samples {len(texts)}")
        if not np.isfinite(logs).all():
            raise ValueError(f"{where} has NaN or infinity; give finite numbers")
        if logs.max(initial=0) > 1e-3:
            raise ValueError(f"{where} has {logs.max():g}; the logarithm of a likelihood is at most 0")
        weights.append(np.exp(logs - logs.max(initial=-np.inf)))
    return weights


def _same(same: Callable[[str, str], bool], text: str, first: str) -> bool:
    try:
        return all(check.flag(same(*pair), "what same gives") for pair in ((text, first), (first, text)))
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


@dataclass(frozen=True, repr=False)
class ReadAnswer(Result):
    """option: index of the one option that the text names, None for none or several. verdict: `option`,
    `several`, `declined` or `unread`. rule: the kind of evidence that decided; said: the words of the text.
    """

    option: int | None
    verdict: str
    rule: str
    said: str


def read_answer(
    text: str, options: Sequence[str], labels: Sequence[str] | None = None, question: str = ""
) -> ReadAnswer:
    """Reads which option a generated text chooses.

    options: their texts as shown, empty if the question has none. labels: the marks before them; A, B, ... by
    default. question: needed to read texts that say yes or no by repeating words of the question.

    Raises ValueError that names the argument.

    >>> read_answer("I think the answer is (B).", ["a cat", "a dog"])
    ReadAnswer(option=1, verdict='option', rule='statement', said='I think the answer is (B)')
    """
    texts = check.texts(options, "options", least=1)
    shown = check.texts(labels, "labels") if labels is not None else list(ascii_uppercase[: len(texts)])
    if len(shown) != len(texts):
        raise ValueError(f"labels: {len(shown)} of them for {len(texts)} options; give as many of each")
    twice = [label for index, label in enumerate(shown) if label.strip() and label in shown[:index]]
    if twice:
        raise ValueError(f"labels: {twice[0]!r} is a duplicate; give each option its own")
    reply, asked = check.text(text, "text"), check.text(question, "question")
    reading = read(reply, Choices(tuple(shown), tuple(texts), asked))
    option = reading.places[0] if reading.verdict == OPTION else None
    return ReadAnswer(
        option, "unread" if reading.verdict == NONE else reading.verdict, reading.kind, reading.span
    )
