"""Checks of the arguments, and their form for vouch.metrics.

What does not fit raises ValueError: one line that names the argument and, where there is one, the row.
"""

from collections.abc import Mapping, Sequence, Sized
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vouch.metrics.conformal.sets import Splits, group_splits

MOST = 26
MOST_DRAWS = 100_000
MOST_FEATURE = 1e100
EXACT = 2**53
"""Above it float64 does not hold every whole number."""
FILL = {"logits": "-inf", "new_logits": "-inf", "without": "-inf", "answers": "False", "sets": "False"}
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def shown(value: Any) -> str:
    """A value as an error shows it, on one line."""
    try:
        text = " ".join(repr(value).split())
    except ValueError:
        text = f"{type(value).__name__} of too many digits"
    return text if len(text) <= 60 else f"{text[:57]}..."


def _missing(value: Any) -> bool:
    """None, NaN, NaT, and NA of pandas, which cannot be compared."""
    return value is None or type(value).__name__ == "NAType" or (not _many(value) and bool(value != value))


def _many(value: Any) -> bool:
    return isinstance(value, Sized) and not isinstance(value, str | bytes)


def plain(values: Any, name: str, *dimensions: int) -> NDArray[Any]:
    """A numpy array of one of these dimensions; torch tensors, on a GPU and with gradients, too."""
    unmasked(values, name)
    if values is None or isinstance(values, str | bytes | Mapping | set | frozenset):
        raise ValueError(f"{name} is {shown(values)}; give a list or an array")
    try:
        if hasattr(values, "detach"):
            values = values.detach().cpu()
            values = values.float() if str(values.dtype) == "torch.bfloat16" else values
        array = np.asarray(values)
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
    """Refuses masked numbers of numpy.ma, which an array without a mask would show."""
    rows = values if isinstance(values, list | tuple) or np.ma.is_masked(values) else ()
    for row, each in enumerate(rows):
        if np.ma.is_masked(each) or (
            isinstance(each, list | tuple) and any(one is np.ma.masked for one in each)
        ):
            raise ValueError(f"{name}: row {row} is masked; leave the row out or fill it")


def numeric(
    values: Any,
    name: str,
    *dimensions: int,
    remedy: str = "give numbers",
    missing: bool = False,
    exact: bool = False,
) -> NDArray[Any]:
    """The same of numbers or truth values, not of texts or dates. missing: whether NA of pandas is NaN.

    exact: whether whole numbers that float64 would round are refused, since they would tie.
    """
    array = plain(values, name, *dimensions)
    if exact and array.dtype.kind in "iuO":
        _exact(array, name)
    if array.dtype.kind in "biuf":
        return array
    if missing:
        array = np.frompyfunc(lambda each: np.nan if _missing(each) else each, 1, 1)(array)
    dates = array.dtype.kind in "mM"
    for row, each in enumerate(array if dates else array.tolist()):
        if dates or not all(map(_is_number, [each] if array.ndim == 1 else each)):
            raise ValueError(f"{name}: row {row} is {shown(each)}; {remedy}")
    return array.astype(np.float64)


def _exact(found: NDArray[Any], name: str) -> None:
    if found.dtype == object:
        beyond = np.frompyfunc(lambda one: isinstance(one, int) and abs(one) > EXACT, 1, 1)(found).astype(
            bool
        )
    else:
        beyond = (found > EXACT) | (found < -EXACT)
    if beyond.any():
        cell = tuple(np.argwhere(beyond)[0].tolist())
        value = shown(int(found[cell]))
        raise ValueError(f"{name}: row {cell[0]} has {value}, which would be rounded; scale them")


def _is_number(value: Any) -> bool:
    try:
        return isinstance(value, Real | np.bool_) and bool(float(value) or True)
    except OverflowError:
        return False


def finite(values: Any, name: str) -> Floats:
    """[n, d] float64 without NaN or infinity, or what overflows when it is squared."""
    array = numeric(values, name, 2).astype(np.float64)
    if not array.shape[1]:
        raise ValueError(f"{name}: shape {array.shape}; give at least one column")
    bad = ~np.isfinite(array).all(axis=1)
    if bad.any():
        raise ValueError(f"{name}: row {int(bad.argmax())} has NaN or infinity; leave the row out or fill it")
    large = (np.abs(array) > MOST_FEATURE).any(axis=1)
    if large.any():
        raise ValueError(f"{name}: row {int(large.argmax())} has a number above {MOST_FEATURE:g}; scale them")
    return array


def mask_of(values: Any, name: str) -> NDArray[np.bool_]:
    """[n, k] bool, from truth values or 0 and 1."""
    mask = numeric(values, name, 2, remedy="give True or False")
    if not mask.shape[1]:
        raise ValueError(f"{name}: shape {mask.shape}; give True or False for each option")
    wrong = ~((mask == 0) | (mask == 1)).all(axis=1)
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(
            f"{name}: row {row} is {shown(mask[row].tolist())}; give True or False for each option"
        )
    return mask.astype(bool)


def choices_of(values: Any, name: str, options: Any, of: str = "") -> Ints:
    """[n] indices below the number of options, one for all or [n], as many as the argument `of` has."""
    sizes, remedy = np.asarray(options), f"give indices 0 to {int(np.max(options)) - 1}"
    choices = numeric(values, name, 1, remedy=remedy)
    mixed = isinstance(values, list | tuple) or getattr(getattr(values, "dtype", None), "kind", "") == "O"
    for row, one in enumerate(values if mixed else choices[:1]):
        if not isinstance(one, bool | np.bool_):
            continue
        raise ValueError(f"{name}: row {row} is {one}; {name} are indices, not whether correct: {remedy}")
    if sizes.ndim:
        rows_fit(choices, name, len(sizes), of)
    wrong = ~((choices >= 0) & (choices < sizes) & (choices == np.floor(choices)))
    if wrong.any():
        row = int(wrong.argmax())
        most = int(np.broadcast_to(sizes, choices.shape)[row]) - 1
        raise ValueError(f"{name}: row {row} is {choices[row]}; give indices 0 to {most}")
    return choices.astype(np.int64)


def logits_of(values: Any, name: str = "logits") -> Floats:
    """[n, k] float64, one row a question; -inf where the question has no such option, never NaN."""
    logits = numeric(values, name, 2, exact=True).astype(np.float64)
    if not 1 <= logits.shape[1] <= MOST:
        raise ValueError(f"{name}: {logits.shape[1]} options, but 1 to {MOST} are allowed")
    bad = np.isnan(logits).any(axis=1) | np.isposinf(logits).any(axis=1) | np.isneginf(logits).all(axis=1)
    if bad.any():
        raise ValueError(f"{name}: row {int(bad.argmax())} has NaN, +inf or no finite number")
    far = (np.abs(np.where(np.isfinite(logits), logits, 0)) > MOST_FEATURE).any(axis=1)
    if far.any():
        raise ValueError(f"{name}: row {int(far.argmax())} has a number beyond {MOST_FEATURE:g}; scale them")
    gaps = np.diff(np.isfinite(logits).astype(np.int8), axis=1) > 0
    if gaps.any():
        raise ValueError(
            f"{name}: row {int(gaps.any(axis=1).argmax())} has -inf before a number; put it last"
        )
    return logits


def answers_of(values: Any, logits: Floats, name: str = "answers", of: str = "logits") -> NDArray[np.bool_]:
    """[n, k] which options are correct, from indices [n] or a mask [n, k]. of: the argument of the logits."""
    answers = plain(values, name, 1, 2)
    if answers.ndim == 1:
        answers = choices_of(values, name, logits.shape[1])[:, None] == np.arange(logits.shape[1])
    else:
        answers = mask_of(answers, name)
    if answers.shape != logits.shape:
        raise ValueError(f"{name}: shape {answers.shape}, {of} {logits.shape}; they must fit")
    lost = ~(answers & np.isfinite(logits)).any(axis=1)
    if lost.any():
        raise ValueError(f"{name}: row {int(lost.argmax())} has no correct option among those with a logit")
    return answers


def shares_of(values: Any, name: str, rows: int | None = None, of: str = "") -> Floats:
    """[n] numbers in 0 ... 1, such as whether an answer is correct. rows: how many the argument `of` has."""
    shares = numeric(values, name, 1, remedy="give 1 or 0, or a number between").astype(np.float64)
    wrong = ~((shares >= 0) & (shares <= 1))
    if wrong.any():
        raise ValueError(f"{name}: row {int(wrong.argmax())} is {shares[wrong.argmax()]}, not in 0 to 1")
    if rows is not None:
        rows_fit(shares, name, rows, of)
    return shares


def rows_fit(found: Sized, name: str, rows: int, of: str = "") -> None:
    """Refuses another number of rows than the argument `of` has."""
    if len(found) != rows:
        there = f"{of} has {rows}" if of else f"there are {rows} elsewhere"
        raise ValueError(f"{name}: {len(found)} rows, but {there}")


def labels_of(values: Any, name: str, rows: int) -> list[tuple[str, Any]]:
    """[n] texts, numbers or dates as kind and value: 1 and "1" differ, and no number is rounded."""
    if isinstance(values, list | tuple):  # numpy would make one kind of several
        unmasked(values, name)
        given: Any = values
    else:
        array = plain(values, name, 1)
        given = array if array.dtype.kind in "mM" else array.tolist()
    labels = []
    for row, value in enumerate(given):
        if _many(value):
            raise ValueError(f"{name}: row {row} is {shown(value)}; give one text or number")
        if _missing(value):
            raise ValueError(f"{name}: row {row} has no {name[:-1]} (NaN or None); give it one of its own")
        kind = "number" if isinstance(value, Real) and not isinstance(value, bool) else type(value).__name__
        labels.append((kind, value))
    rows_fit(labels, name, rows)
    return labels


def groups_of(values: ArrayLike | None, rows: int) -> Ints:
    """[n] numbers of the groups; each row by itself where None is given."""
    if values is None:
        return np.arange(rows)
    if not isinstance(values, list | tuple):
        given = plain(values, "groups", 1)
        if given.dtype.kind in "biuU" or (given.dtype.kind == "f" and not np.isnan(given).any()):
            rows_fit(given, "groups", rows)
            return np.asarray(np.unique(given, return_inverse=True)[1], dtype=np.int64)
    labels = labels_of(values, "groups", rows)
    try:
        number = {label: index for index, label in enumerate(sorted(set(labels)))}
    except TypeError:
        raise ValueError(f"groups: {shown(labels[0][1])} cannot be sorted; give texts or numbers") from None
    return np.array([number[label] for label in labels], dtype=np.int64)


def names_of(values: Any, name: str, rows: int) -> list[str]:
    """[n] names, each once."""
    names, first = [str(value) for _, value in labels_of(values, name, rows)], dict[str, int]()
    for row, each in enumerate(names):
        if first.setdefault(each, row) != row:
            raise ValueError(f"{name}: row {row} has the name of row {first[each]}; give each its own")
    return names


def mapping_of(values: Any, name: str, example: str) -> dict[str, Any]:
    """By name."""
    if not isinstance(values, Mapping):
        raise ValueError(f"{name} is {shown(values)}; give what is by name of the model, as {example}")
    wrong = [each for each in values if not isinstance(each, str)]
    if wrong:
        raise ValueError(f"{name}: the name {shown(wrong[0])} is no text")
    return dict(values)


def text_of(value: Any, name: str) -> str:
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


def texts_of(values: Any, name: str, least: int = 0) -> list[str]:
    """A list of texts."""
    texts = _listed(values, name, "a list of texts")
    for row, each in enumerate(texts):
        if not isinstance(each, str):
            raise ValueError(f"{name}: row {row} is {shown(each)}; give a text")
    if len(texts) < least:
        raise ValueError(f"{name}: {len(texts)} texts; give at least {least}")
    return texts


def rows_of_texts(values: Any, name: str, rows: int | None = None, of: str = "") -> list[list[str]]:
    """[n] lists of texts, of other lengths. rows: how many the argument `of` has."""
    listed = _listed(values, name, "a list of texts for each question")
    for row, texts in enumerate(listed):
        if isinstance(texts, str):
            raise ValueError(
                f"{name}: row {row} is the text {shown(texts)}; give a list of texts per question"
            )
    if not listed:
        raise ValueError(f"{name} is empty")
    if rows is not None:
        rows_fit(listed, name, rows, of)
    return [texts_of(texts, f"{name}: row {row}") for row, texts in enumerate(listed)]


def number(value: float, name: str) -> float:
    """A number, not a text or a truth value."""
    if not isinstance(value, Real) or isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} is {shown(value)}; give a number")
    return value


def share(value: float, name: str) -> float:
    """A number between 0 and 1, both left out."""
    if not 0 < number(value, name) < 1:
        raise ValueError(f"{name} is {shown(value)}; it must lie between 0 and 1")
    return float(value)


def within(value: float, name: str, low: float, high: float) -> float:
    """A number between these, both included."""
    if not low <= number(value, name) <= high:
        raise ValueError(f"{name} is {shown(value)}; it must lie between {low:g} and {high:g}")
    return float(value)


def whole(value: float, name: str, high: float, low: int = 1) -> int:
    """A whole number, to twelve digits: 0.1 * 30 is 3."""
    number_given = within(value, name, low, high)
    if abs(number_given - round(number_given)) > 1e-12 * abs(number_given):
        raise ValueError(f"{name} is {shown(value)}; give a whole number")
    return round(number_given)


def seed_of(value: int, name: str = "seed") -> int:
    """A whole number that every generator takes."""
    return whole(value, name, 2**32 - 1, low=0)


def flag(value: bool, name: str) -> bool:
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} is {shown(value)}; give True or False")
    return bool(value)


def halves(groups: Ints, calibration: float, splits: int, seed: int) -> Splits:
    """Random splits of whole groups [n], with rows on both sides."""
    count = whole(splits, "splits", MOST_DRAWS)
    drawn = group_splits(groups, share(calibration, "calibration"), seed_of(seed), count)
    if drawn.sizes.max() == len(groups) or not drawn.sizes.min():
        raise ValueError(
            f"groups: {len(np.unique(groups))}, which cannot be split into two parts; give more (without "
            "groups each row is one)"
        )
    return drawn
