"""Joining answers with their prompts and items; what does not fit together is refused here."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from vouch.metrics.lists import cells, has_any, lengths
from vouch.metrics.responses import NO_ROLE, Bools, Floats, Ints, Responses, uniform
from vouch.metrics.yes_no import YesNo, yes_no
from vouch.pipeline.errors import UserError
from vouch.tables.defects import DROPPED
from vouch.tables.prompts import LETTERS

AGAIN = "run `dvc repro` to make it anew, or correct the released file"


@dataclass(frozen=True)
class Asked:
    """All m prompts of one variation in the order of the items, answered or not; arrays [m].

    groups and defective as in Responses. mass: probability on the letters, see LETTERS; NaN where unknown,
    None where no letters were asked. yes_no: None unless all have these two options.
    """

    answered: Bools
    groups: Ints
    defective: Bools
    categories: np.ndarray
    mass: Floats | None = None
    yes_no: YesNo | None = None


@dataclass(frozen=True)
class Aligned:
    """Answers, prompts and items of one variation, row by row in the order of the items [m].

    groups: names; numbers, defective: as groups and defective of Asked.
    """

    answers: pa.Table
    prompts: pa.Table
    items: pa.Table
    groups: np.ndarray
    numbers: Ints
    defective: Bools

    def asked(self, answered: Bools) -> Asked:
        """The prompts, of which some are answered [m]."""
        categories = np.array(self.items["category"].to_pylist())
        mass = None
        if "letter_mass" in self.answers.column_names:
            mass = self.answers["letter_mass"].cast(pa.float64()).to_numpy()
        return Asked(answered, self.numbers, self.defective, categories, mass, yes_no(self.prompts))


@dataclass(frozen=True)
class Block:
    """The answered rows of one variation in the order of the items: arrays, and their names.

    reduced: by the name of a metric, the same responses with other logits, whose accuracy it is.
    """

    variation: str
    asked: Asked
    responses: Responses
    prompts: list[str]
    items: list[str]
    groups: list[str]
    effects: list[str]
    output: str = LETTERS
    reduced: Mapping[str, Responses] = field(default_factory=dict)


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
    return [
        matrix_block(variation, LETTERS, found, where)
        for variation, found in aligned(letters, prompts, items, where, LETTERS, released)
    ]


def aligned(
    answers: pa.Table, prompts: pa.Table, items: pa.Table, where: str, output: str, released: bool
) -> Iterator[tuple[str, Aligned]]:
    """The variations that have answers, and these; answers: one row a prompt. Refuses as `join` does."""
    rows = _rows_of_prompts(answers, prompts, where, output, released)
    for variation in prompts["variation"].unique().to_pylist():
        chosen = np.asarray(pc.equal(prompts["variation"], variation)) & (rows >= 0)
        asked = prompts.filter(pa.array(chosen))
        if asked.num_rows:
            yield variation, _align(answers.take(rows[chosen]), asked, items, where)


def _rows_of_prompts(answers: pa.Table, prompts: pa.Table, where: str, output: str, released: bool) -> Ints:
    """For each prompt the row of its answer, -1 where it has none."""
    answered = answers["prompt"].combine_chunks()
    unknown = pc.invert(pc.is_in(answered, prompts["id"].combine_chunks()))
    refuse(unknown, answered, lambda _: f"is no prompt of this dataset; {AGAIN}", where)
    names, counts = answered.value_counts().flatten()
    refuse(pc.greater(counts, 1), names, lambda _: f"stands twice; {AGAIN}", where)
    rows: Ints = pc.fill_null(pc.index_in(prompts["id"], answered), -1).to_numpy().astype(np.int64)
    expected = has_any(prompts["outputs"], (output,))
    if released:
        variations = prompts["variation"]
        expected &= np.asarray(pc.is_in(variations, variations.filter(pa.array(rows >= 0)).unique()))
    missing = (rows < 0) & expected
    refuse(missing, prompts["id"], lambda _: f"was asked but has no row; {AGAIN}", where)
    return rows


def _align(answers: pa.Table, prompts: pa.Table, items: pa.Table, where: str) -> Aligned:
    of_item = pc.index_in(prompts["item"], items["id"].combine_chunks())
    known = np.asarray(pc.is_valid(of_item))
    refuse(~known, prompts["id"], lambda _: "belongs to no item; run `dvc repro`", where)
    order = np.argsort(of_item.to_numpy(), kind="stable")
    items = items.take(of_item.take(order))
    groups = np.array(items["group"].to_pylist())
    numbers = np.unique(groups, return_inverse=True)[1]
    defective = has_any(items["flags"], DROPPED)
    return Aligned(answers.take(order), prompts.take(order), items, groups, numbers, defective)


def matrix_block(variation: str, output: str, found: Aligned, where: str) -> Block:
    """The block of answers that give each option a number, in the columns of LETTERS."""
    answered = _answered(found.answers, found.prompts, where)
    kept = found.prompts.filter(pa.array(answered))
    logits = found.answers["logits"].filter(pa.array(answered))
    kinds = np.unique(found.items["category"].to_pylist(), return_inverse=True)[1]
    of_items = (found.numbers, kinds, found.defective)
    return Block(
        variation,
        found.asked(answered),
        _responses(logits, kept, tuple(each[answered] for each in of_items), where),
        kept["id"].to_pylist(),
        kept["item"].to_pylist(),
        found.groups[answered].tolist(),
        kept["effect"].to_pylist(),
        output,
    )


def _answered(letters: pa.Table, prompts: pa.Table, where: str) -> Bools:
    """Which rows hold an answer; refuses what is neither an answer nor a problem."""
    names, logits = prompts["id"], letters["logits"]
    given = np.asarray(pc.is_null(letters["problem"]))
    count, options = lengths(logits), lengths(prompts["options"])
    refuse(
        given & ((count < options) | (count == 0)),
        names,
        lambda row: f"has {count[row]} logits for {options[row]} options; {AGAIN}",
        where,
    )
    row, column, flat = cells(logits)
    censored = np.asarray(pc.is_valid(letters["upper"]))
    left_out = np.isneginf(flat) & censored[row]
    broken = np.bincount(row, ~np.isfinite(flat) & ~left_out, len(names)) > 0
    refuse(given & broken, names, lambda _: f"has a logit that is NaN, infinite or null; {AGAIN}", where)
    return given & (np.bincount(row, ~left_out & (column < options[row]), len(names)) > 0)


def _responses(
    logits: pa.ChunkedArray, prompts: pa.Table, of_items: tuple[np.ndarray, ...], where: str
) -> Responses:
    """of_items: groups, categories and defective of the rows."""
    names = prompts["id"]
    count, options = lengths(logits), lengths(prompts["options"])
    shape = (len(names), int(count.max(initial=0)))
    values = np.full(shape, -np.inf, dtype=logits.type.value_type.to_pandas_dtype(), order="F")
    row, column, flat = cells(logits)
    values[row, column] = flat
    roles = np.full(shape, NO_ROLE, dtype=np.int32, order="F")
    row, column, flat = cells(prompts["order"])
    roles[row, column] = flat
    answers = np.zeros(shape, dtype=bool, order="F")
    row, _, flat = cells(prompts["answers"])
    right = (flat >= 0) & (flat < options[row])
    fine = (np.bincount(row, minlength=len(names)) > 0) & (np.bincount(row, ~right, len(names)) == 0)
    refuse(~fine, names, lambda _: "has no answer among its options; correct the dataset's answers", where)
    answers[row, flat] = True
    groups, categories, defective = of_items
    noise = uniform(prompts["item"].to_pylist())
    return Responses(values, answers, roles, count, options, groups, categories, noise, defective)


def refuse(
    bad: np.ndarray | pa.ChunkedArray, names: pa.ChunkedArray, problem: Callable[[int], str], where: str
) -> None:
    """Raises UserError for the first of the rows that are bad [n]."""
    rows = np.flatnonzero(np.asarray(bad))
    if len(rows):
        more = f" (and {len(rows) - 1} more)" if len(rows) > 1 else ""
        raise UserError(f"{where}: prompt {names[int(rows[0])].as_py()}{more} {problem(int(rows[0]))}")
