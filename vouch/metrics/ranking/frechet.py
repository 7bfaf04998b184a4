"""Frechet distance between Gaussians (Dowson and Landau 1982; of data sets: Heusel et al. 2017)."""

from dataclasses import dataclass

import numpy as np

from vouch.metrics.ranking.correlation import Numbers


@dataclass(frozen=True)
class Gaussian:
    """mean [d]; root [d, d], the symmetric square root of the covariance; spread, the covariance's trace."""

    mean: Numbers
    root: Numbers
    spread: float


def gaussian(vectors: Numbers, weights: Numbers) -> Gaussian:
    """Of n embeddings [n, d] that count `weights` [n] times, whole numbers of at least two in all.

    The covariance is divided by that sum minus 1. Where it has less than full rank, so has its root, and the
    distance is defined all the same.
    """
    total = weights.sum()
    mean = weights @ vectors / total
    centred = vectors - mean
    covariance = (centred * weights[:, None]).T @ centred / (total - 1)
    values, axes = np.linalg.eigh(covariance)
    root = (axes * np.sqrt(np.maximum(values, 0))) @ axes.T
    return Gaussian(mean, root, float(np.trace(covariance)))


def distance(one: Gaussian, other: Gaussian) -> float:
    """|m1 - m2|^2 + tr(S1 + S2 - 2 (S1^(1/2) S2 S1^(1/2))^(1/2)), at least 0.

    The trace of the last root is the sum of the singular values of S1^(1/2) S2^(1/2), which needs no root of
    a matrix that is not symmetric.
    """
    apart = float(((one.mean - other.mean) ** 2).sum())
    common = float(np.linalg.svd(one.root @ other.root, compute_uv=False).sum())
    return max(0.0, apart + one.spread + other.spread - 2 * common)
