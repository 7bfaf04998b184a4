"""Arrays as callers have them, checked and made those of vouch.metrics."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

MOST = 26
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def plain(values: Any, name: str, dimensions: int) -> NDArray[Any]:
    """A numpy array of so many dimensions; torch tensors, on a GPU and with gradients, too."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        values = values.float() if str(values.dtype) == "torch.bfloat16" else values
    found = np.asarray(values)
    if found.ndim != dimensions:
        raise ValueError(f"{name}: shape {found.shape}, but {dimensions} dimension(s) are needed")
    if not len(found):
        raise ValueError(f"{name} is empty")
    return found


def logits_of(values: Any) -> Floats:
    """[n, k] float64, one row a question; -inf where the question has no such option, never NaN."""
    found = plain(values, "logits", 2).astype(np.float64)
    if not 1 <= found.shape[1] <= MOST:
        raise ValueError(f"logits: {found.shape[1]} options, but 1 to {MOST} are allowed")
    bad = np.isnan(found).any(axis=1) | np.isposinf(found).any(axis=1) | np.isneginf(found).all(axis=1)
    if bad.any():
        raise ValueError(f"logits: row {int(bad.argmax())} has NaN, +inf or no finite number")
    gaps = np.diff(np.isfinite(found).astype(np.int8), axis=1) > 0
    if gaps.any():
        raise ValueError(
            f"logits: row {int(gaps.any(axis=1).argmax())} has -inf before a number; put it last"
        )
    return found


def answers_of(values: Any, logits: Floats) -> NDArray[np.bool_]:
    """[n, k] which options are right, from indices [n] or a mask [n, k]."""
    found = plain(values, "answers", np.ndim(values))
    if found.ndim == 1:
        whole = found.astype(np.int64)
        wrong = (whole != found) | (whole < 0) | (whole >= logits.shape[1])
        if wrong.any():
            row = int(wrong.argmax())
            raise ValueError(f"answers: row {row} is {found[row]}; give indices 0 to {logits.shape[1] - 1}")
        found = whole[:, None] == np.arange(logits.shape[1])
    if found.shape != logits.shape:
        raise ValueError(f"answers: shape {found.shape}, logits {logits.shape}; they must fit")
    found = found.astype(bool)
    lost = ~(found & np.isfinite(logits)).any(axis=1)
    if lost.any():
        raise ValueError(f"answers: row {int(lost.argmax())} has no right option among those with a logit")
    return found


def shares_of(values: Any, name: str, rows: int | None = None) -> Floats:
    """[n] numbers in 0 ... 1, such as whether an answer is right."""
    found = plain(values, name, 1).astype(np.float64)
    wrong = ~((found >= 0) & (found <= 1))
    if wrong.any():
        raise ValueError(f"{name}: row {int(wrong.argmax())} is {found[wrong.argmax()]}, not in 0 to 1")
    if rows is not None and len(found) != rows:
        raise ValueError(f"{name}: {len(found)} rows, but there are {rows} elsewhere")
    return found


def groups_of(values: ArrayLike | None, rows: int) -> Ints:
    """[n] numbers of the groups; each row by itself where None is given."""
    if values is None:
        return np.arange(rows)
    found = np.unique(plain(values, "groups", 1), return_inverse=True)[1]
    if len(found) != rows:
        raise ValueError(f"groups: {len(found)} rows, but there are {rows} elsewhere")
    return np.asarray(found, dtype=np.int64)


def share(value: float, name: str) -> float:
    """A number between 0 and 1, both left out."""
    if not 0 < value < 1:
        raise ValueError(f"{name} is {value}; it must lie between 0 and 1")
    return value
