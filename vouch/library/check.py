"""Checks arguments and converts them to the form that vouch.metrics takes.

An argument that does not fit raises ValueError: one line that names it and, if one row is at fault, the row.
"""

from collections.abc import Callable, Mapping, Sequence, Sized
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vouch.metrics.conformal.sets import Splits, group_splits

MOST = 26
MOST_DRAWS = 100_000
MOST_FEATURE = 1e100
EXACT = 2**53
"""Above this, float64 cannot represent every whole number."""
FILL = {"logits": "-inf", "new_logits": "-inf", "without": "-inf", "answers": "False", "sets": "False"}
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class NoArray(ValueError):
    """Raised by an object's `__array__`: what to give instead of it, in one line."""


def shown(value: Any) -> str:
    """A value as error messages show it, on one line."""
    try:
        text = " ".join(repr(value).split())
    except ValueError:
        text = f"{type(value).__name__} of too many digits"
    return text if len(text) <= 60 else f"{text[:57]}..."


def refuse(wrong: Any, name: str, what: str | Callable[[int], str]) -> None:
    """Refuses the first wrong row [n]. what: the rest of the message, or its function of the row."""
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(f"{name}: row {row} {what(row) if callable(what) else what}")


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT or pandas' NA, which cannot be compared."""
    return value is None or type(value).__name__ == "NAType" or (not _many(value) and bool(value != value))


def _many(value: Any) -> bool:
    return isinstance(value, Sized) and not isinstance(value, str | bytes)


def plain(values: Any, name: str, *dimensions: int) -> NDArray[Any]:
    """A numpy array of one of these dimensions, also from torch tensors with gradients or on a GPU."""
    unmasked(values, name)
    if values is None or isinstance(values, str | bytes | Mapping | set | frozenset):
        raise ValueError(f"{name} is {shown(values)}; give a list or an array")
    try:
        if hasattr(values, "detach"):
            values = values.detach().cpu()
            values = values.float() if str(values.dtype) == "torch.bfloat16" else values
        array = np.asarray(values)
    except NoArray as error:
        raise ValueError(f"{name}: {error}") from None
    except (ValueError, TypeError, OverflowError, AttributeError) as error:
        if "inhomogeneous" not in str(error):
            raise ValueError(
                f"{name}: no array of {type(values).__name__}; give a list or an array"
            ) from None
        fill = FILL.get(name, "NaN" if " of " in name else "")
        remedy = f"fill with {fill} at the end" if fill else "give as many in each"
        raise ValueError(f"{name}: rows differ in length; {remedy}") from None
    if array.ndim not in dimensions:
        needed = " or ".join(map(str, dimensions))
        raise ValueError(f"{name}: shape {array.shape}, but {needed} dimension(s) are needed")
    if not len(array):
        raise ValueError(f"{name} is empty")
    return array


def unmasked(values: Any, name: str) -> None:
    """Refuses masked numbers of numpy.ma, because arrays without the mask would use the hidden values."""
    rows = values if isinstance(values, list | tuple) or np.ma.is_masked(values) else ()
    for row, each in enumerate(rows):
        cells = each if isinstance(each, list | tuple) else ()
        if np.ma.is_masked(each) or any(cell is np.ma.masked for cell in cells):
            raise ValueError(f"{name}: row {row} is masked; leave the row out or fill it")


def numeric(
    values: Any,
    name: str,
    *dimensions: int,
    remedy: str = "give numbers",
    missing: bool = False,
    exact: bool = False,
) -> NDArray[Any]:
    """Like `plain`, for numbers or truth values, not texts or dates. missing: whether pandas' NA becomes NaN.

    exact: whether to refuse whole numbers that float64 would round, since they could become equal.
    """
    array = plain(values, name, *dimensions)
    if exact and array.dtype.kind in "iuO":
        whole_numbers = array.astype(object)
        beyond = np.frompyfunc(lambda one: isinstance(one, int) and abs(one) > EXACT, 1, 1)(whole_numbers)
        if beyond.any():
            cell = tuple(np.argwhere(beyond)[0].tolist())
            value = shown(whole_numbers[cell])
            raise ValueError(f"{name}: row {cell[0]} has {value}, which would be rounded; scale them")
    if array.dtype.kind in "biuf":
        return array
    if missing:
        array = np.frompyfunc(lambda each: np.nan if is_missing(each) else each, 1, 1)(array)
    dates = array.dtype.kind in "mM"
    for row, each in enumerate(array if dates else array.tolist()):
        if dates or not all(map(_is_number, [each] if array.ndim == 1 else each)):
            raise ValueError(f"{name}: row {row} is {shown(each)}; {remedy}")
    return array.astype(np.float64)


def _is_number(value: Any) -> bool:
    try:
        return isinstance(value, Real | np.bool_) and bool(float(value) or True)
    except OverflowError:
        return False


def features(values: Any, name: str) -> Floats:
    """[n, d] float64 without NaN, infinity or numbers that overflow when squared."""
    array = numeric(values, name, 2).astype(np.float64)
    if not array.shape[1]:
        raise ValueError(f"{name}: shape {array.shape}; give at least one column")
    refuse(~np.isfinite(array).all(axis=1), name, "has NaN or infinity; leave the row out or fill it")
    large = (np.abs(array) > MOST_FEATURE).any(axis=1)
    refuse(large, name, f"has a number above {MOST_FEATURE:g}; scale them")
    return array


def mask(values: Any, name: str) -> Bools:
    """[n, k] bool, from truth values or from 0 and 1."""
    given = numeric(values, name, 2, remedy="give True or False")
    if not given.shape[1]:
        raise ValueError(f"{name}: shape {given.shape}; give True or False for each option")
    wrong = ~((given == 0) | (given == 1)).all(axis=1)
    refuse(wrong, name, lambda row: f"is {shown(given[row].tolist())}; give True or False for each option")
    return given.astype(bool)


def choices(values: Any, name: str, options: Any, of: str = "") -> Ints:
    """[n] indices of options, as many rows as the argument `of` has. options: their number, one or [n]."""
    sizes, remedy = np.asarray(options), f"give indices 0 to {int(np.max(options)) - 1}"
    given = numeric(values, name, 1, remedy=remedy)
    mixed = isinstance(values, list | tuple) or getattr(getattr(values, "dtype", None), "kind", "") == "O"
    for row, one in enumerate(values if mixed else given[:1]):
        if isinstance(one, bool | np.bool_):
            raise ValueError(f"{name}: row {row} is {one}; {name} are indices, not whether correct: {remedy}")
    if sizes.ndim:
        same_rows(given, name, len(sizes), of)
    wrong = ~((given >= 0) & (given < sizes) & (given == np.floor(given)))
    most = np.broadcast_to(sizes, given.shape)
    refuse(wrong, name, lambda row: f"is {given[row]}; give indices 0 to {int(most[row]) - 1}")
    return given.astype(np.int64)


def logits(values: Any, name: str = "logits") -> Floats:
    """[n, k] float64, a row per question; -inf for options that the question does not have, never NaN."""
    given = numeric(values, name, 2, exact=True).astype(np.float64)
    if not 1 <= given.shape[1] <= MOST:
        raise ValueError(f"{name}: {given.shape[1]} options, but 1 to {MOST} are allowed")
    present = np.isfinite(given)
    bad = np.isnan(given).any(axis=1) | np.isposinf(given).any(axis=1) | ~present.any(axis=1)
    refuse(bad, name, "has NaN, +inf or no finite number")
    far = (np.abs(np.where(present, given, 0)) > MOST_FEATURE).any(axis=1)
    refuse(far, name, f"has a number beyond {MOST_FEATURE:g}; scale them")
    gaps = present[:, 1:] & ~present[:, :-1]
    refuse(gaps.any(axis=1), name, "has -inf before a number; put it last")
    return given


def answers(values: Any, logits: Floats, name: str = "answers", of: str = "logits") -> Bools:
    """[n, k] which options are correct, from indices [n] or a mask [n, k]. of: the argument of the logits."""
    given = plain(values, name, 1, 2)
    if given.ndim == 1:
        indices = choices(values, name, logits.shape[1])
        correct: Bools = indices[:, None] == np.arange(logits.shape[1])
    else:
        correct = mask(given, name)
    if correct.shape != logits.shape:
        raise ValueError(f"{name}: shape {correct.shape}, {of} {logits.shape}; they must fit")
    lost = ~(correct & np.isfinite(logits)).any(axis=1)
    refuse(lost, name, "has no correct option among those with a logit")
    return correct


def shares(values: Any, name: str, rows: int | None = None, of: str = "") -> Floats:
    """[n] numbers in 0 ... 1, such as whether an answer is correct. rows: number in the argument `of`."""
    given = numeric(values, name, 1, remedy="give 1 or 0, or a number between").astype(np.float64)
    refuse(~((given >= 0) & (given <= 1)), name, lambda row: f"is {given[row]}, not in 0 to 1")
    if rows is not None:
        same_rows(given, name, rows, of)
    return given


def same_rows(given: Sized, name: str, rows: int, of: str = "") -> None:
    """Refuses a number of rows that differs from that of the argument `of`."""
    if len(given) != rows:
        there = f"{of} has {rows}" if of else f"there are {rows} elsewhere"
        raise ValueError(f"{name}: {len(given)} rows, but {there}")


def _labels(values: Any, name: str, rows: int) -> list[tuple[str, Any]]:
    """[n] pairs of kind and value from texts, numbers or dates: 1 and "1" differ, no number is rounded."""
    if isinstance(values, list | tuple):  # numpy would convert values of different kinds to one kind
        unmasked(values, name)
        given: Any = values
    else:
        array = plain(values, name, 1)
        given = array if array.dtype.kind in "mM" else array.tolist()
    labels = []
    for row, value in enumerate(given):
        if _many(value):
            raise ValueError(f"{name}: row {row} is {shown(value)}; give one text or number")
        if is_missing(value):
            raise ValueError(f"{name}: row {row} has no {name[:-1]} (NaN or None); give it one of its own")
        kind = "number" if isinstance(value, Real) and not isinstance(value, bool) else type(value).__name__
        labels.append((kind, value))
    same_rows(labels, name, rows)
    return labels


def groups(values: ArrayLike | None, rows: int) -> Ints:
    """[n] the number of each row's group; if None is given, each row is a group of its own."""
    if values is None:
        return np.arange(rows)
    if not isinstance(values, list | tuple):
        given = plain(values, "groups", 1)
        if given.dtype.kind in "biuU" or (given.dtype.kind == "f" and not np.isnan(given).any()):
            same_rows(given, "groups", rows)
            return np.asarray(np.unique(given, return_inverse=True)[1], dtype=np.int64)
    labels = _labels(values, "groups", rows)
    try:
        number = {label: index for index, label in enumerate(sorted(set(labels)))}
    except TypeError:
        raise ValueError(f"groups: {shown(labels[0][1])} cannot be sorted; give texts or numbers") from None
    return np.array([number[label] for label in labels], dtype=np.int64)


def names(values: ArrayLike | None, name: str, rows: int) -> list[str] | None:
    """[n] distinct names, or None if none are given."""
    if values is None:
        return None
    given, first = [str(value) for _, value in _labels(values, name, rows)], dict[str, int]()
    for row, each in enumerate(given):
        if first.setdefault(each, row) != row:
            raise ValueError(f"{name}: row {row} has the name of row {first[each]}; give each its own")
    return given


def mapping(values: Any, name: str, example: str) -> dict[str, Any]:
    """A mapping from models' names to values."""
    if not isinstance(values, Mapping):
        raise ValueError(f"{name} is {shown(values)}; give what is by name of the model, as {example}")
    wrong = [each for each in values if not isinstance(each, str)]
    if wrong:
        raise ValueError(f"{name}: the name {shown(wrong[0])} is no text")
    return dict(values)


def text(value: Any, name: str) -> str:
    """A text."""
    if not isinstance(value, str):
        raise ValueError(f"{name} is {shown(value)}; give a text")
    return value


def _listed(values: Any, name: str, needed: str) -> list[Any]:
    listed = values.tolist() if hasattr(values, "tolist") else values  # arrays, and columns of pandas
    if isinstance(listed, str):
        raise ValueError(f"{name}: the one text {shown(values)}; give {needed}")
    if not isinstance(listed, Sequence) or isinstance(listed, bytes):
        raise ValueError(f"{name} is {shown(values)}; give {needed}")
    return list(listed)


def texts(values: Any, name: str, least: int = 0) -> list[str]:
    """A list of texts."""
    listed = _listed(values, name, "a list of texts")
    for row, each in enumerate(listed):
        if not isinstance(each, str):
            raise ValueError(f"{name}: row {row} is {shown(each)}; give a text")
    if len(listed) < least:
        raise ValueError(f"{name}: {len(listed)} texts; give at least {least}")
    return listed


def text_rows(values: Any, name: str, rows: int | None = None, of: str = "") -> list[list[str]]:
    """[n] lists of texts, of any lengths. rows: the number of rows in the argument `of`."""
    listed = _listed(values, name, "a list of texts for each question")
    for row, each in enumerate(listed):
        if isinstance(each, str):
            raise ValueError(
                f"{name}: row {row} is the text {shown(each)}; give a list of texts per question"
            )
    if not listed:
        raise ValueError(f"{name} is empty")
    if rows is not None:
        same_rows(listed, name, rows, of)
    return [texts(each, f"{name}: row {row}") for row, each in enumerate(listed)]


def within(value: float, name: str, low: float, high: float) -> float:
    """A number from low to high, not a text or a truth value."""
    if not isinstance(value, Real) or isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} is {shown(value)}; give a number")
    if not low <= value <= high:
        raise ValueError(f"{name} is {shown(value)}; it must lie between {low:g} and {high:g}")
    return float(value)


def share(value: float, name: str) -> float:
    """A number above 0 and below 1."""
    if within(value, name, 0, 1) in (0, 1):
        raise ValueError(f"{name} is {shown(value)}; it must lie between 0 and 1")
    return float(value)


def whole(value: float, name: str, high: float, low: int = 1) -> int:
    """A value as a whole number, if it equals one when rounded to twelve digits: 0.1 * 30 becomes 3."""
    given = within(value, name, low, high)
    if abs(given - round(given)) > 1e-12 * abs(given):
        raise ValueError(f"{name} is {shown(value)}; give a whole number")
    return round(given)


def seed(value: int) -> int:
    """A whole number that every random generator accepts."""
    return whole(value, "seed", 2**32 - 1, low=0)


def flag(value: bool, name: str) -> bool:
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} is {shown(value)}; give True or False")
    return bool(value)


def halves(groups: Ints, calibration: float, splits: int, start: int) -> Splits:
    """Random splits that keep groups [n] together, with rows on both sides."""
    count = whole(splits, "splits", MOST_DRAWS)
    drawn = group_splits(groups, share(calibration, "calibration"), seed(start), count)
    if drawn.sizes.max() == len(groups) or not drawn.sizes.min():
        raise ValueError(
            f"groups: {len(np.unique(groups))}, which cannot be split into two parts; give more (without "
            "groups each row is one)"
        )
    return drawn
