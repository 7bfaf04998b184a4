"""Likelihoods of options are scored as letters are, and by mean per token and byte."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.metrics.simulated import CONFIG, simulate, tables
from vouch.metrics.join import Block, join, likelihood_blocks
from vouch.metrics.responses import Responses
from vouch.metrics.tables import score_block
from vouch.pipeline.errors import UserError
from vouch.tables.answered import LIKELIHOOD


def rows_of(responses: Responses, lengths: np.ndarray | None = None) -> list[dict[str, Any]]:
    """LIKELIHOOD whose sums are minus the logits of simulated letters."""
    return [
        {
            "prompt": f"{row}/original",
            "option": option,
            "nll": -float(value),
            "tokens": None if lengths is None else int(lengths[row, option]),
            "bytes": None if lengths is None else 3 * int(lengths[row, option]),
        }
        for row, values in enumerate(responses.logits)
        for option, value in enumerate(values)
    ]


def block_of(rows: list[dict[str, Any]], responses: Responses, released: bool = False) -> Block:
    _, prompts, items = tables(responses, outputs=("likelihood",))
    table = pa.Table.from_pylist(rows, LIKELIHOOD.schema)
    (block,) = likelihood_blocks(table, prompts, items, "here", released)
    return block


def values(rows: list[dict[str, Any]], protocol: str) -> dict[tuple[str, str], tuple[float, float | None]]:
    return {(r["score"], r["metric"]): (r["value"], r["low"]) for r in rows if r["protocol"] == protocol}


def test_sums_go_through_the_machinery_of_letters() -> None:
    responses = simulate(0, 80, 5, dtype=np.float64, copies=2)
    (letters,) = join(*tables(responses), "here")
    block = block_of(rows_of(responses)[::-1], responses)
    (rows, outcomes), (same, beside) = (score_block("m", "d", each, CONFIG) for each in (block, letters))
    assert {row["output"] for row in rows} == {"likelihood"} == set(outcomes["output"].to_pylist())
    assert values(rows, "clean") == values(same, "clean")
    assert outcomes.drop_columns("output").equals(beside.drop_columns("output"))
    faithful = values(rows, "faithful")
    assert faithful.pop(("", "accuracy")) == (outcomes["correct"].to_numpy().mean(), None)  # of every row
    plain = values(same, "faithful")
    rates = ("dont_know_rate", "none_rate", "accuracy")
    assert all(plain[key] == value for key, value in faithful.items() if key[1] not in rates)


def test_mean_per_token_and_byte() -> None:
    responses = simulate(1, 60, 4, step=1e-6, dtype=np.float64)
    responses.defective[:7] = True
    logits = responses.logits - 20
    shifted = Responses(**(vars(responses) | {"logits": logits}))
    lengths = np.random.RandomState(0).randint(1, 9, logits.shape)
    rows, _ = score_block("m", "d", block_of(rows_of(shifted, lengths), shifted), CONFIG)
    right = responses.answers[np.arange(60), (logits / lengths).argmax(axis=1)]
    plain = responses.answers[np.arange(60), logits.argmax(axis=1)]
    assert right.mean() != plain.mean()
    for metric in ("accuracy_per_token", "accuracy_per_byte"):
        assert values(rows, "faithful")["", metric] == (right.mean(), None)
        value, low = values(rows, "clean")["", metric]
        assert value == pytest.approx(right[7:].mean()) and low is not None and low < value
    assert values(rows, "clean")["", "accuracy"][0] == pytest.approx(plain[7:].mean())


def test_unknown_lengths_leave_the_means_out() -> None:
    responses = simulate(1, 20, 4)
    rows, _ = score_block("m", "d", block_of(rows_of(responses), responses), CONFIG)
    assert not {row["metric"] for row in rows} & {"accuracy_per_token", "accuracy_per_byte"}


def test_a_problem_is_an_unanswered_prompt_and_an_impossible_option_is_none() -> None:
    responses = simulate(2, 20, 4)
    rows = rows_of(responses)
    for row in rows[:4]:
        row |= {"nll": None, "problem": "too long"}
    rows[4]["nll"] = float("inf")
    block = block_of(rows, responses)
    assert np.flatnonzero(~block.asked.answered).tolist() == [0]
    assert block.responses.logits[0, 0] == -np.inf
    _, outcomes = score_block("m", "d", block, CONFIG)
    assert outcomes.num_rows == 19 and np.isfinite(outcomes["confidence"].to_numpy()).all()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda rows: rows[:-1], "19/original has 3 logits for 4 options"),
        (lambda rows: rows[:2] + rows[3:], "0/original has not one row for each option"),
        (lambda rows: [*rows, rows[5]], "1/original has not one row for each option"),
        (lambda rows: [{**rows[0], "nll": float("nan")}, *rows[1:]], "0/original has a logit that is NaN"),
        (lambda rows: [{**rows[0], "nll": None}, *rows[1:]], "0/original has a logit that is NaN"),
        (lambda rows: rows[4:], "0/original was asked but has no row"),
        (lambda rows: [*rows, {"prompt": "x", "option": 0, "nll": 1.0}], "x is no prompt of this dataset"),
    ],
)
def test_what_does_not_fit_is_refused(change: Any, problem: str) -> None:
    responses = simulate(2, 20, 4)
    with pytest.raises(UserError, match=f"here: prompt {problem}"):
        block_of(change(rows_of(responses)), responses)


def test_released_likelihoods_may_be_missing() -> None:
    _, prompts, items = tables(simulate(2, 20, 4), outputs=("likelihood",))
    assert likelihood_blocks(LIKELIHOOD.schema.empty_table(), prompts, items, "here", True) == []
