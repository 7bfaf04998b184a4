"""Answers joined with their prompts and items; anything that does not fit together is refused here.

`join` aligns letters, `likelihood_blocks` likelihoods of option texts: the summed log-likelihood takes the
place of the logit, as in ReForm-Eval (Li et al. 2023). It prefers short options, so accuracy by mean per
token and per byte is given too. `YesNo` gives precision, recall and F1 of the answer yes (POPE, Li et al.
2023). `letter_mass` says how much of the first token's probability lies on the option letters: if a model
would begin differently, its letter logits do not show its answer (Wang et al. 2024).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from vouch.metrics.calibration import authors_probabilities, clean_probabilities
from vouch.metrics.metric import CLEAN, SHARE, Figure, declare, mean_figure
from vouch.metrics.responses import NO_ROLE, Bools, Floats, Ints, Responses, uniform
from vouch.metrics.text.wording import plain
from vouch.metrics.unranked import LETTER_MASS, LOW_MASS_RATE
from vouch.pipeline.errors import UserError
from vouch.tables.answered import LOW_MASS
from vouch.tables.asked import DROPPED, LETTERS, LIKELIHOOD, has_any

declare(
    "f1",
    "F1",
    "harmonic mean of precision and recall of the answer yes",
    better="higher",
    unit=SHARE,
    ranked=True,
    source="Li et al. 2023, POPE",
    detail="a text that is neither answer does not count as yes",
)
declare(
    "precision",
    "Precision",
    "share of the answers yes that are correct",
    better="higher",
    unit=SHARE,
    ranked=True,
    source="Li et al. 2023, POPE",
)
declare(
    "recall",
    "Recall",
    "share of the questions with the answer yes that are answered so",
    better="higher",
    unit=SHARE,
    ranked=True,
    source="Li et al. 2023, POPE",
)
declare(
    "yes_rate",
    "Yes",
    "share of the questions that are answered yes",
    unit=SHARE,
    source="Li et al. 2023, POPE",
)
YES_NO = ("f1", "precision", "recall", "yes_rate")


def lengths(lists: pa.ChunkedArray) -> Ints:
    """[n] how many elements each list has; 0 for null."""
    return np.asarray(pc.fill_null(pc.list_value_length(lists), 0)).astype(np.int64)


def cells(lists: pa.ChunkedArray) -> tuple[Ints, Ints, np.ndarray]:
    """Row, column and value of every element of a list column; null elements become NaN."""
    sizes = lengths(lists)
    rows = np.repeat(np.arange(len(sizes)), sizes)
    columns = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return rows, columns, pc.list_flatten(lists).to_numpy()


@dataclass(frozen=True)
class YesNo:
    """For n prompts: the position at which the option yes is shown, and whether yes is correct."""

    yes: Ints
    right: Bools

    def figures(self, protocol: str, predicted: Ints, groups: Ints, rows: Bools) -> list[Figure]:
        """Figures of marked rows [n]. predicted [n]: index of the chosen option, -1 if none was chosen."""
        answered_yes, right, groups = (predicted == self.yes)[rows], self.right[rows], groups[rows]
        listed = [mean_figure("yes_rate", answered_yes, groups, protocol)]
        parts = {"precision": (answered_yes,), "recall": (right,), "f1": (answered_yes, right)}
        for metric, among in parts.items():
            # F1 is the share of hits among the answers yes and the correct answers yes taken together
            hits = np.concatenate([(answered_yes & right)[each] for each in among])
            if len(hits):
                of = np.concatenate([groups[each] for each in among])
                listed.append(replace(mean_figure(metric, hits, of, protocol), items=len(answered_yes)))
        return listed


def yes_no(prompts: pa.Table) -> YesNo | None:
    """None unless each prompt has yes and no as its own options. Needs options, order and answers."""
    row, index_shown, index = cells(prompts["order"])
    own = index >= 0  # others are those that the template added
    if not len(prompts) or (np.bincount(row[own], minlength=len(prompts)) != 2).any():
        return None
    texts, number = np.unique(cells(prompts["options"])[2].astype(str), return_inverse=True)
    wording = np.array([plain(text) for text in texts])[number]
    yes = own & (wording == "yes")
    once = np.bincount(row[yes], minlength=len(prompts)) == 1
    if not once.all() or not np.isin(wording[own], ("yes", "no")).all():
        return None
    of, _, answers = cells(prompts["answers"])
    return YesNo(index_shown[yes], np.bincount(of, answers == index_shown[yes][of], len(prompts)) > 0)


AGAIN = "run `dvc repro` to make it anew, or correct the released file"


@dataclass(frozen=True)
class VariationPrompts:
    """All m prompts of one variation in the order of the items, answered or not; arrays [m].

    groups and defective as in Responses. mass: probability on the letters, see LETTERS; NaN if unknown,
    None if no letters were asked. yes_no: None unless all have these two options.
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

    groups: names; numbers, defective: as groups and defective of VariationPrompts.
    """

    answers: pa.Table
    prompts: pa.Table
    items: pa.Table
    groups: np.ndarray
    numbers: Ints
    defective: Bools

    def asked(self, answered: Bools) -> VariationPrompts:
        """The prompts; answered [m]: which of them have an answer."""
        categories = np.array(self.items["category"].to_pylist())
        mass = None
        if "letter_mass" in self.answers.column_names:
            mass = self.answers["letter_mass"].cast(pa.float64()).to_numpy()
        return VariationPrompts(
            answered, self.numbers, self.defective, categories, mass, yes_no(self.prompts)
        )


@dataclass(frozen=True)
class Block:
    """Arrays of the answered rows of one variation, in the order of the items, and their names.

    reduced: metric -> the same responses with logits divided by length; the metric is their accuracy.
    """

    variation: str
    asked: VariationPrompts
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
    A row with a problem, or whose server left out every letter, is an unanswered prompt.
    Raises UserError for an unknown, repeated or missing prompt, a prompt whose item has no correct answer,
    fewer logits than options and logits that are not finite, except -inf for letters that were left out:
    that is their lower end. A prompt is missing if it was asked but has no letters; `released` letters may
    lack whole variations or everything, because nobody asked their models those.
    """
    return [
        matrix_block(variation, LETTERS, rows, where)
        for variation, rows in aligned(letters, prompts, items, where, LETTERS, released)
    ]


def aligned(
    answers: pa.Table, prompts: pa.Table, items: pa.Table, where: str, output: str, released: bool
) -> Iterator[tuple[str, Aligned]]:
    """Variations that have answers, and these answers. answers: one row per prompt. Raises as `join` does."""
    rows = _rows_of_prompts(answers, prompts, where, output, released)
    for variation in prompts["variation"].unique().to_pylist():
        chosen = np.asarray(pc.equal(prompts["variation"], variation)) & (rows >= 0)
        asked = prompts.filter(pa.array(chosen))
        if asked.num_rows:
            yield variation, _align(answers.take(rows[chosen]), asked, items, where)


def _rows_of_prompts(answers: pa.Table, prompts: pa.Table, where: str, output: str, released: bool) -> Ints:
    """For each prompt, the row of its answer, or -1 if it has none."""
    answered = answers["prompt"].combine_chunks()
    unknown = pc.invert(pc.is_in(answered, prompts["id"].combine_chunks()))
    refuse(unknown, answered, lambda _: f"is no prompt of this dataset; {AGAIN}", where)
    names, counts = answered.value_counts().flatten()
    refuse(pc.greater(counts, 1), names, lambda _: f"is a duplicate; {AGAIN}", where)
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


def in_other_spelling(letters: pa.Table, where: str) -> pa.Table:
    """The letters with `other_logits` in place of `logits`. Refuses an answer that has none."""
    answered, other = pc.is_valid(letters["logits"]), letters["other_logits"]
    refuse(
        np.asarray(pc.and_(answered, pc.is_null(other))),
        letters["prompt"],
        lambda _: "has no letters in the other spelling; leave the model out of score.other_spelling",
        where,
    )
    place = letters.column_names.index("logits")
    return letters.set_column(place, "logits", other).drop_columns("other_logits")


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
    """Which rows hold an answer; refuses rows that hold neither an answer nor a problem."""
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


REDUCTIONS = {"accuracy_per_token": "tokens", "accuracy_per_byte": "bytes"}
"""Metric -> column of LIKELIHOOD that divides the sum."""
for name, divisor in REDUCTIONS.items():
    per = f"per {divisor.removesuffix('s')}"
    meaning = f"accuracy by mean log-likelihood {per} of an option"
    declare(name, per, meaning, better="higher", unit=SHARE, ranked=True)


def likelihood_blocks(
    likelihood: pa.Table, prompts: pa.Table, items: pa.Table, where: str, released: bool
) -> list[Block]:
    """One block per variation that has likelihoods, with its reductions. Raises UserError as `join` does."""
    answers = by_prompt(likelihood, where)
    blocks = []
    for variation, rows in aligned(answers, prompts, items, where, LIKELIHOOD, released):
        block = matrix_block(variation, LIKELIHOOD, rows, where)
        blocks.append(replace(block, reduced=_reductions(rows, block)))
    return blocks


def by_prompt(likelihood: pa.Table, where: str) -> pa.Table:
    """One row per prompt: prompt, problem, and lists by option: logits (minus the sums), tokens and bytes.

    upper: given if some option is impossible (-inf among the logits). Raises UserError if the
    options of a prompt are not numbered 0, 1, ..., each once.
    """
    codes = likelihood["prompt"].combine_chunks().dictionary_encode()
    numbers = codes.indices.to_numpy(zero_copy_only=False)
    option = likelihood["option"].to_numpy()
    order = np.lexsort((option, numbers))
    counts = np.bincount(numbers, minlength=len(codes.dictionary))
    starts = np.cumsum(counts) - counts
    wrong = np.flatnonzero(option[order] != np.arange(len(order)) - np.repeat(starts, counts))
    if len(wrong):
        prompt = codes.dictionary[int(numbers[order[wrong[0]]])].as_py()
        raise UserError(f"{where}: prompt {prompt} has not one row for each option; {AGAIN}")
    rows = likelihood.take(order)
    offsets = np.append(starts, len(order)).astype(np.int32)

    def lists(values: pa.Array) -> pa.Array:
        return pa.ListArray.from_arrays(pa.array(offsets), values)

    nll = pc.fill_null(rows["nll"], np.nan).to_numpy()
    impossible = np.bincount(numbers[order], np.isposinf(nll), len(counts)) > 0
    return pa.table(
        {
            "prompt": codes.dictionary,
            "logits": lists(pa.array(0.0 - nll)),
            "upper": pa.array(np.where(impossible, 0.0, np.nan), from_pandas=True),
            "problem": rows["problem"].take(pa.array(starts)),
            **{name: lists(rows[name].combine_chunks()) for name in REDUCTIONS.values()},
        }
    )


def _reductions(found: Aligned, block: Block) -> Mapping[str, Responses]:
    """The block's responses with logits per token and per byte, each only if all its lengths are known."""
    reduced = {}
    for metric, name in REDUCTIONS.items():
        row, column, lengths = cells(found.answers[name].filter(pa.array(block.asked.answered)))
        if not len(row) or np.isnan(lengths.astype(float)).any():
            continue
        logits = block.responses.logits.copy(order="K")
        logits[row, column] /= np.maximum(lengths, 1)
        reduced[metric] = replace(block.responses, logits=logits)
    return reduced


def reduced(protocol: str, block: Block, kept: Bools) -> list[Figure]:
    """Accuracies by mean: faithful, over all kept rows [n]; clean, without defects and with intervals."""
    figures = []
    view = clean_probabilities if protocol == CLEAN else authors_probabilities
    for metric, responses in block.reduced.items():
        rows = responses.take(kept & ~responses.defective if protocol == CLEAN else kept)
        if len(rows):
            figures.append(mean_figure(metric, view(rows).correct, rows.groups, protocol))
    return figures


def letter_mass(protocol: str, asked: VariationPrompts, rows: Bools) -> list[Figure]:
    """Mean letter mass, and share of prompts with a low one, over the rows [m] that have a known mass.

    Empty if none is known, as for released logits. Prompts without an answer count if their mass is
    known: the most likely tokens that a server returns may hold no letter at all.
    """
    if asked.mass is None:
        return []
    rows = rows & ~np.isnan(asked.mass)
    if not rows.any():
        return []
    mass, groups = asked.mass[rows], asked.groups[rows]
    return [
        mean_figure(LETTER_MASS, mass, groups, protocol),
        mean_figure(LOW_MASS_RATE, mass < LOW_MASS, groups, protocol),
    ]
