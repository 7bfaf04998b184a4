"""Confidence against accuracy in bins of equal width, as in the expected calibration error."""

import numpy as np
import pandas as pd

Z = 1.959963984540054  # 97.5 % point of the normal distribution


def bins(confidence: np.ndarray, correct: np.ndarray, number: int) -> pd.DataFrame:
    """One row per bin that holds an answer: bin, confidence (mean), accuracy, low, high, answers.

    confidence: in [0, 1]; correct: share of the prediction that is right, for ties share it; both of shape
    (answers,). low, high: Wilson's 95 % interval.
    """
    index = np.minimum((confidence * number).astype(int), number - 1)
    answers = np.bincount(index, minlength=number)
    held = np.flatnonzero(answers)
    n = answers[held].astype(float)
    share = np.bincount(index, weights=correct, minlength=number)[held] / n
    mean = np.bincount(index, weights=confidence, minlength=number)[held] / n
    centre = (share + Z**2 / (2 * n)) / (1 + Z**2 / n)
    half = Z * np.sqrt(share * (1 - share) / n + Z**2 / (4 * n**2)) / (1 + Z**2 / n)
    return pd.DataFrame(
        {
            "bin": held,
            "confidence": mean,
            "accuracy": share,
            "low": np.maximum(centre - half, 0.0),
            "high": np.minimum(centre + half, 1.0),
            "answers": answers[held],
        }
    )
