"""The authors' scoring once more, one row after the other, sharing no code with vouch/metrics.

For six letters or so, one answer a row and every letter present. Used as the twin in the tests and as
the peer in benchmarks/score.py.
"""

import math
from collections.abc import Callable

import numpy as np

Row = tuple[np.ndarray, int]

PAIRS = "01 23 45 67  03 12 47 56  01 23 45 67  07 16 25 34  02 13 46 57  01 23 45 67"


def network_argsort(values: np.ndarray) -> list[int]:
    """Ascending order of up to eight values as numpy's argsort gives it on CPUs with wide vectors."""
    padded = [(float(value), place) for place, value in enumerate(values)]
    padded += [(math.inf, place) for place in range(len(values), 8)]
    for i, j in (map(int, pair) for pair in PAIRS.split()):
        if padded[i][0] > padded[j][0]:
            padded[i], padded[j] = padded[j], padded[i]
    return [place for _, place in padded[: len(values)]]


def score_rows(
    logits: np.ndarray,
    labels: list[int],
    alpha: float = 0.1,
    share: float = 0.5,
    seed: int = 42,
    bins: int = 15,
    argsort: Callable[[np.ndarray], np.ndarray] = np.argsort,
) -> dict[tuple[str, str], float]:
    """(score, metric) -> value for logits [n, k] and the index of each row's answer.

    One pass for each question that is asked of the rows, as the released code is laid out.
    """
    count, letters = logits.shape
    order = [int(row) for row in np.random.RandomState(seed).permutation(count)]
    tests = count - math.floor(share * count)
    rows = list(zip(logits, labels, strict=True))
    test, calibration = [rows[i] for i in order[:tests]], [rows[i] for i in order[tests:]]

    tops = [int(row.argmax()) for row, _ in test]
    accuracy = sum(top == label for top, (_, label) in zip(tops, test, strict=True)) / tests
    values = {
        ("", "accuracy"): accuracy,
        ("", "dont_know_rate"): sum(top == letters - 2 for top in tops) / tests,
        ("", "none_rate"): sum(top == letters - 1 for top in tops) / tests,
    }
    for name, kept in (
        ("lac", lac_sets(calibration, test, alpha)),
        ("aps", aps_sets(calibration, test, alpha, argsort)),
    ):
        size = sum(len(letters) for letters in kept) / tests
        covered = sum(label in letters for letters, (_, label) in zip(kept, test, strict=True))
        values[name, "coverage"] = covered / tests
        values[name, "set_size"] = size
        values[name, "uacc"] = accuracy * math.sqrt(letters) / size
    for metric in ("coverage", "set_size", "uacc"):
        values["mean", metric] = (values["lac", metric] + values["aps", metric]) / 2
    values["", "ece"], values["", "mce"] = calibration_errors(rows, bins)
    return values


def softmax(row: np.ndarray) -> np.ndarray:
    """Probabilities of one row, in its dtype."""
    weights = np.exp(row - row.max())
    probs: np.ndarray = weights / weights.sum()
    return probs


def threshold(scores: list[np.floating], alpha: float) -> float:
    """The authors' quantile; +inf where it is not defined."""
    count = len(scores)
    rank = math.ceil((count + 1) * (1 - alpha))
    return np.quantile(np.array(scores), rank / count, method="higher") if rank <= count else math.inf


def lac_sets(calibration: list[Row], test: list[Row], alpha: float) -> list[list[int]]:
    """Letters whose probability is at least 1 - threshold."""
    q = threshold([1 - softmax(row)[label] for row, label in calibration], alpha)
    sets = []
    for row, _ in test:
        p = softmax(row)
        kept = [letter for letter, each in enumerate(p) if each >= 1 - q]
        sets.append(kept or [int(p.argmax())])
    return sets


def aps_sets(
    calibration: list[Row], test: list[Row], alpha: float, argsort: Callable[[np.ndarray], np.ndarray]
) -> list[list[int]]:
    """Letters in descending order while the running sum is at most the threshold."""
    scores = []
    for row, label in calibration:
        p = softmax(row)
        order = argsort(p)[::-1]
        scores.append(p[order].cumsum()[list(order).index(label)])
    q = threshold(scores, alpha)
    sets = []
    for row, _ in test:
        p = softmax(row)
        order = argsort(p)[::-1]
        kept = []
        for letter, mass in zip(order, p[order].cumsum(), strict=True):
            if mass > q:
                break
            kept.append(int(letter))
        sets.append(kept or [int(order[0])])
    return sets


def calibration_errors(rows: list[Row], bins: int) -> tuple[float, float]:
    """ECE and MCE over all rows, a confidence of 1 in a bin of its own."""
    counts, confidences, rights = [0] * (bins + 1), [0.0] * (bins + 1), [0] * (bins + 1)
    for row, label in rows:
        confidence = float(np.float32(softmax(row).max()))
        slot = int(confidence * bins)
        counts[slot] += 1
        confidences[slot] += confidence
        rights[slot] += int(row.argmax()) == label
    gaps = [abs(r - c) / n if n else 0.0 for n, c, r in zip(counts, confidences, rights, strict=True)]
    return sum(gap * n for gap, n in zip(gaps, counts, strict=True)) / len(rows), max(gaps)
