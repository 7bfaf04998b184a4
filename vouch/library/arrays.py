"""Arrays as callers have them, checked and made those of vouch.metrics."""

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vouch.metrics.conformal.splits import Splits, group_splits

MOST = 26
MOST_DRAWS = 100_000
FILL = {"logits": "-inf", "new_logits": "-inf", "without": "-inf", "answers": "False", "sets": "False"}
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def plain(values: Any, name: str, *dimensions: int) -> NDArray[Any]:
    """A numpy array of one of these dimensions; torch tensors, on a GPU and with gradients, too."""
    unmasked(values, name)
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        values = values.float() if str(values.dtype) == "torch.bfloat16" else values
    try:
        found = np.asarray(values)
    except ValueError:
        fill = FILL.get(name, "NaN")
        raise ValueError(f"{name}: rows differ in length; fill with {fill} at the end") from None
    if found.ndim not in dimensions:
        needed = " or ".join(map(str, dimensions))
        raise ValueError(f"{name}: shape {found.shape}, but {needed} dimension(s) are needed")
    if not len(found):
        raise ValueError(f"{name} is empty")
    return found


def unmasked(values: Any, name: str) -> None:
    """Refuses masked numbers of numpy.ma, which an array without a mask would show."""
    rows = values if isinstance(values, list | tuple) or np.ma.is_masked(values) else ()
    for row, each in enumerate(rows):
        if np.ma.is_masked(each):
            raise ValueError(f"{name}: row {row} is masked; leave the row out or fill it")


def numeric(values: Any, name: str, *dimensions: int, remedy: str = "give numbers") -> NDArray[Any]:
    """The same of numbers or truth values, not of texts."""
    found = plain(values, name, *dimensions)
    if found.dtype.kind in "biuf":
        return found
    for row, each in enumerate(found.tolist()):
        if not all(isinstance(value, int | float) for value in np.ravel(np.array(each, dtype=object))):
            raise ValueError(f"{name}: row {row} is {each!r}; {remedy}")
    return found.astype(np.float64)


def finite(values: Any, name: str) -> Floats:
    """[n, d] float64 without NaN or infinity."""
    found = numeric(values, name, 2).astype(np.float64)
    bad = ~np.isfinite(found).all(axis=1)
    if bad.any():
        raise ValueError(f"{name}: row {int(bad.argmax())} has NaN or infinity; leave the row out or fill it")
    return found


def mask_of(values: Any, name: str) -> NDArray[np.bool_]:
    """[n, k] bool, from truth values or 0 and 1."""
    found = numeric(values, name, 2, remedy="give True or False")
    wrong = ~((found == 0) | (found == 1)).all(axis=1)
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(f"{name}: row {row} is {found[row].tolist()}; give True or False for each option")
    return found.astype(bool)


def choices_of(values: Any, name: str, options: Any) -> Ints:
    """[n] indices below the number of options, one for all or [n]."""
    sizes, remedy = np.asarray(options), f"give indices 0 to {int(np.max(options)) - 1}"
    found = numeric(values, name, 1, remedy=remedy)
    if found.dtype == bool:
        raise ValueError(f"{name}: row 0 is {found[0]}; {name} are indices, not whether right: {remedy}")
    if sizes.ndim and len(found) != len(sizes):
        raise ValueError(f"{name}: {len(found)} rows, but there are {len(sizes)} elsewhere")
    wrong = ~((found >= 0) & (found < sizes) & (found == np.floor(found)))
    if wrong.any():
        row = int(wrong.argmax())
        most = int(np.broadcast_to(sizes, found.shape)[row]) - 1
        raise ValueError(f"{name}: row {row} is {found[row]}; give indices 0 to {most}")
    return found.astype(np.int64)


def logits_of(values: Any, name: str = "logits") -> Floats:
    """[n, k] float64, one row a question; -inf where the question has no such option, never NaN."""
    found = numeric(values, name, 2).astype(np.float64)
    if not 1 <= found.shape[1] <= MOST:
        raise ValueError(f"{name}: {found.shape[1]} options, but 1 to {MOST} are allowed")
    bad = np.isnan(found).any(axis=1) | np.isposinf(found).any(axis=1) | np.isneginf(found).all(axis=1)
    if bad.any():
        raise ValueError(f"{name}: row {int(bad.argmax())} has NaN, +inf or no finite number")
    gaps = np.diff(np.isfinite(found).astype(np.int8), axis=1) > 0
    if gaps.any():
        raise ValueError(
            f"{name}: row {int(gaps.any(axis=1).argmax())} has -inf before a number; put it last"
        )
    return found


def answers_of(values: Any, logits: Floats) -> NDArray[np.bool_]:
    """[n, k] which options are right, from indices [n] or a mask [n, k]."""
    found = plain(values, "answers", 1, 2)
    if found.ndim == 1:
        found = choices_of(found, "answers", logits.shape[1])[:, None] == np.arange(logits.shape[1])
    else:
        found = mask_of(found, "answers")
    if found.shape != logits.shape:
        raise ValueError(f"answers: shape {found.shape}, logits {logits.shape}; they must fit")
    lost = ~(found & np.isfinite(logits)).any(axis=1)
    if lost.any():
        raise ValueError(f"answers: row {int(lost.argmax())} has no right option among those with a logit")
    return found


def shares_of(values: Any, name: str, rows: int | None = None) -> Floats:
    """[n] numbers in 0 ... 1, such as whether an answer is right."""
    found = numeric(values, name, 1, remedy="give 1 or 0, or a number between").astype(np.float64)
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
    given = plain(values, "groups", 1)
    missing = np.array([each is None or each != each for each in given.tolist()])
    if missing.any():
        raise ValueError(
            f"groups: row {int(missing.argmax())} has no group (NaN or None); give it one of its own"
        )
    found = np.unique(given, return_inverse=True)[1]
    if len(found) != rows:
        raise ValueError(f"groups: {len(found)} rows, but there are {rows} elsewhere")
    return np.asarray(found, dtype=np.int64)


def number(value: float, name: str) -> float:
    """A number, not a text or a truth value."""
    if not isinstance(value, Real) or isinstance(value, bool):
        raise ValueError(f"{name} is {value!r:.40}; give a number")
    return value


def share(value: float, name: str) -> float:
    """A number between 0 and 1, both left out."""
    if not 0 < number(value, name) < 1:
        raise ValueError(f"{name} is {value}; it must lie between 0 and 1")
    return value


def within(value: float, name: str, low: float, high: float) -> float:
    """A number between these, both included."""
    if not low <= number(value, name) <= high:
        raise ValueError(f"{name} is {value!s:.40}; it must lie between {low:g} and {high:g}")
    return value


def whole(value: float, name: str, high: float) -> int:
    """A whole number from 1 on."""
    if within(value, name, 1, high) != int(value):
        raise ValueError(f"{name} is {value}; give a whole number")
    return int(value)


def halves(groups: Ints, calibration: float, splits: int, seed: int) -> Splits:
    """Random splits of whole groups [n], with rows on both sides."""
    count = whole(splits, "splits", MOST_DRAWS)
    drawn = group_splits(groups, share(calibration, "calibration"), seed, count)
    if drawn.sizes.max() == len(groups) or not drawn.sizes.min():
        raise ValueError(f"{len(np.unique(groups))} group(s) cannot be split into two parts")
    return drawn
