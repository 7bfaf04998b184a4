"""Entropy of the answers to the tests of a question (Li et al. 2023 ReForm-Eval): 0 where all agree."""

import numpy as np

from vouch.metrics.robustness.metrics import Array


def per_question(questions: np.ndarray, answers: np.ndarray) -> Array:
    """[q] nats, at most log of the number of tests. Equal answers are one, whatever they say."""
    codes = np.unique(answers, return_inverse=True)[1]
    pairs, times = np.unique(np.stack([questions, codes]), axis=1, return_counts=True)
    tests = np.bincount(questions)
    share = times / tests[pairs[0]]
    return np.asarray(np.bincount(pairs[0], -share * np.log(share), len(tests)) + 0.0, dtype=np.float64)
