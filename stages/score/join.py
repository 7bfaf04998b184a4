"""Joining letters with their prompts and items; what does not fit together is refused here."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stages.contracts.prompts import LETTERS
from stages.runtime.errors import UserError
from stages.score.responses import NO_ROLE, Bools, Ints, Responses

DEFECTIVE = ("missing_option", "duplicate_options", "empty_option")
"""Flags of items whose prompts do not show what the question meant; the clean reading drops them."""
AGAIN = "run `dvc repro` to make it anew, or correct the released file"


@dataclass(frozen=True)
class Asked:
    """All m prompts of one variation in the order of the items, answered or not; arrays [m].

    groups and defective as in Responses.
    """

    answered: Bools
    groups: Ints
    defective: Bools
    categories: np.ndarray


@dataclass(frozen=True)
class Block:
    """The answered rows of one variation in the order of the items: arrays, and their names."""

    variation: str
    asked: Asked
    responses: Responses
    prompts: list[str]
    items: list[str]
    groups: list[str]
    ask: str = LETTERS


def join(
    letters: pa.Table, prompts: pa.Table, items: pa.Table, where: str, released: bool = False
) -> list[Block]:
    """One block per variation that has letters; prompts without letters are not scored.

    letters, prompts, items: tables of one model and dataset; `where` names the letters' file in errors.
    A row with a problem, or with nothing but letters that its server left out, is an unanswered prompt.
    Raises UserError for an unknown, repeated or missing prompt, a prompt whose item has no right answer,
    fewer logits than options and logits that are not finite, but for -inf where letters were left out:
    that is their lower end. Missing is a prompt that was asked but has no letters; `released` letters may
    lack whole variations or everything, because nobody asked their models those.
    """
    rows = _rows_of_letters(letters, prompts, where, released)
    blocks = []
    for variation in prompts["variation"].unique().to_pylist():
        chosen = np.asarray(pc.equal(prompts["variation"], variation)) & (rows >= 0)
        asked = prompts.filter(pa.array(chosen))
        if asked.num_rows:
            blocks.append(_block(variation, letters.take(rows[chosen]), asked, items, where))
    return blocks


def _rows_of_letters(letters: pa.Table, prompts: pa.Table, where: str, released: bool) -> Ints:
    """For each prompt the row of its letters, -1 where it has none."""
    answered = letters["prompt"].combine_chunks()
    unknown = pc.invert(pc.is_in(answered, prompts["id"].combine_chunks()))
    _refuse(unknown, answered, lambda _: f"is no prompt of this dataset; {AGAIN}", where)
    names, counts = answered.value_counts().flatten()
    _refuse(pc.greater(counts, 1), names, lambda _: f"stands twice; {AGAIN}", where)
    rows: Ints = pc.fill_null(pc.index_in(prompts["id"], answered), -1).to_numpy().astype(np.int64)
    expected = _has_any(prompts["asks"], (LETTERS,))
    if released:
        variations = prompts["variation"]
        expected &= np.asarray(pc.is_in(variations, variations.filter(pa.array(rows >= 0)).unique()))
    missing = (rows < 0) & expected
    _refuse(missing, prompts["id"], lambda _: f"was asked but has no row; {AGAIN}", where)
    return rows


def _block(variation: str, letters: pa.Table, prompts: pa.Table, items: pa.Table, where: str) -> Block:
    of_item = pc.index_in(prompts["item"], items["id"].combine_chunks())
    known = np.asarray(pc.is_valid(of_item))
    _refuse(~known, prompts["id"], lambda _: "belongs to no item; run `dvc repro`", where)
    order = np.argsort(of_item.to_numpy(), kind="stable")
    letters, prompts = letters.take(order), prompts.take(order)
    items = items.take(of_item.take(order))
    groups, categories = (np.array(items[name].to_pylist()) for name in ("group", "category"))
    _, numbers = np.unique(groups, return_inverse=True)
    defective = _has_any(items["flags"], DEFECTIVE)
    answered = _answered(letters, prompts, where)
    kept = prompts.filter(pa.array(answered))
    logits = letters["logits"].filter(pa.array(answered))
    return Block(
        variation,
        Asked(answered, numbers, defective, categories),
        _responses(logits, kept, numbers[answered], defective[answered], where),
        kept["id"].to_pylist(),
        kept["item"].to_pylist(),
        groups[answered].tolist(),
    )


def _answered(letters: pa.Table, prompts: pa.Table, where: str) -> Bools:
    """Which rows hold an answer; refuses what is neither an answer nor a problem."""
    names, logits = prompts["id"], letters["logits"]
    told = np.asarray(pc.is_null(letters["problem"]))
    count, options = _lengths(logits), _lengths(prompts["options"])
    _refuse(
        told & ((count < options) | (count == 0)),
        names,
        lambda row: f"has {count[row]} logits for {options[row]} options; {AGAIN}",
        where,
    )
    row, column, flat = _cells(logits)
    censored = np.asarray(pc.is_valid(letters["upper"]))
    left_out = np.isneginf(flat) & censored[row]
    broken = np.bincount(row, ~np.isfinite(flat) & ~left_out, len(names)) > 0
    _refuse(told & broken, names, _not_finite, where)
    return told & (np.bincount(row, ~left_out & (column < options[row]), len(names)) > 0)


def _responses(
    logits: pa.ChunkedArray, prompts: pa.Table, groups: Ints, defective: Bools, where: str
) -> Responses:
    names = prompts["id"]
    count, options = _lengths(logits), _lengths(prompts["options"])
    shape = (len(names), int(count.max(initial=0)))
    values = np.full(shape, -np.inf, dtype=logits.type.value_type.to_pandas_dtype(), order="F")
    row, column, flat = _cells(logits)
    values[row, column] = flat
    roles = np.full(shape, NO_ROLE, dtype=np.int32, order="F")
    row, column, flat = _cells(prompts["order"])
    roles[row, column] = flat
    answers = np.zeros(shape, dtype=bool, order="F")
    row, _, flat = _cells(prompts["answers"])
    right = (flat >= 0) & (flat < options[row])
    fine = (np.bincount(row, minlength=len(names)) > 0) & (np.bincount(row, ~right, len(names)) == 0)
    _refuse(~fine, names, lambda _: "has no answer among its options; correct the dataset's answers", where)
    answers[row, flat] = True
    return Responses(values, answers, roles, count, options, groups, defective)


def _not_finite(_: int) -> str:
    return f"has a logit that is NaN, infinite or null; {AGAIN}"


def _lengths(lists: pa.ChunkedArray) -> Ints:
    return np.asarray(pc.fill_null(pc.list_value_length(lists), 0)).astype(np.int64)


def _cells(lists: pa.ChunkedArray) -> tuple[Ints, Ints, np.ndarray]:
    """Row, column and value of every element of a list column; null elements become NaN."""
    lengths = _lengths(lists)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    columns = np.arange(len(rows)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return rows, columns, pc.list_flatten(lists).to_numpy()


def _has_any(lists: pa.ChunkedArray, wanted: Sequence[str]) -> Bools:
    """[n] whether a row's list of names holds one of those wanted."""
    rows, _, names = _cells(lists)
    return np.asarray(np.bincount(rows, np.isin(names.astype(str), wanted), len(lists)) > 0)


def _refuse(
    bad: np.ndarray | pa.ChunkedArray, names: pa.ChunkedArray, problem: Callable[[int], str], where: str
) -> None:
    rows = np.flatnonzero(np.asarray(bad))
    if len(rows):
        more = f" (and {len(rows) - 1} more)" if len(rows) > 1 else ""
        raise UserError(f"{where}: prompt {names[int(rows[0])].as_py()}{more} {problem(int(rows[0]))}")
