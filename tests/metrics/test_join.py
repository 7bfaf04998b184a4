"""Answers, prompts and items become arrays, or an error names the prompt; letter mass, yes and no, likelihoods."""

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.metrics import precision_recall_fscore_support

from tests.metrics.simulated import CONFIG, replace_row, simulate, tables
from tests.metrics.text.test_texts import OPTIONS, choice, scored
from vouch.metrics.join import YES_NO, Block, join, likelihood_blocks, yes_no
from vouch.metrics.metric import metrics
from vouch.metrics.responses import Responses, uniform
from vouch.metrics.tables import score_block
from vouch.pipeline.errors import UserError
from vouch.tables.answered import LIKELIHOOD
from vouch.tables.asked import PROMPTS

WHERE = "data/responses/d/m.letters.parquet"


def refused(letters: pa.Table, prompts: pa.Table, items: pa.Table, released: bool = False) -> str:
    with pytest.raises(UserError) as caught:
        join(letters, prompts, items, WHERE, released)
    message = str(caught.value)
    assert message.startswith(WHERE)
    return message


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_arrays_survive_the_way_through_the_tables(dtype: Any) -> None:
    base = simulate(0, 25, dtype=dtype, copies=2)
    options = np.where(np.arange(25) % 4 == 0, 5, 6)
    roles = base.roles.copy()
    roles[options == 5, 5] = -3
    expected = replace(base, options=options, roles=roles, defective=np.arange(25) % 6 == 0)
    (block,) = join(*tables(expected), WHERE)
    expected = replace(expected, noise=uniform([str(row) for row in range(25)]))
    for field in fields(expected):
        found, given = getattr(block.responses, field.name), getattr(expected, field.name)
        assert found.dtype == given.dtype
        assert (found == given).all(), field.name
    assert block.responses.logits.flags.f_contiguous
    assert block.prompts[:2] == ["0/original", "1/original"]
    assert block.groups[:3] == ["g000000", "g000000", "g000001"]


def test_rows_follow_the_items_whatever_order_the_files_have() -> None:
    letters, prompts, items = tables(simulate(1, 30))
    (straight,) = join(letters, prompts, items, WHERE)
    backwards = np.arange(30)[::-1]
    (turned,) = join(letters.take(backwards), prompts.take(backwards), items, WHERE)
    assert turned.prompts == straight.prompts
    assert (turned.responses.logits == straight.responses.logits).all()


def test_rows_with_fewer_letters_are_padded() -> None:
    base = simulate(2, 4)
    short = np.array([6, 4, 5, 6])
    (block,) = join(*tables(replace(base, letters=short, options=short)), WHERE)
    assert np.isneginf(block.responses.logits).sum(axis=1).tolist() == [0, 2, 1, 0]
    assert (block.responses.roles[1] == [0, 1, 2, 3, -3, -3]).all()


def test_each_variation_is_a_block_of_its_own() -> None:
    letters, prompts, items = tables(simulate(3, 5))
    more, asked, _ = tables(simulate(4, 5), "blurred")
    blocks = join(pa.concat_tables([letters, more]), pa.concat_tables([prompts, asked]), items, WHERE)
    assert [(block.variation, len(block.responses)) for block in blocks] == [("original", 5), ("blurred", 5)]


def test_what_nobody_asked_is_not_scored() -> None:
    letters, prompts, items = tables(simulate(3, 5), outputs=())
    assert join(letters.slice(0, 0), prompts, items, WHERE) == []
    (block,) = join(letters.slice(0, 3), prompts, items, WHERE)
    assert block.items == ["0", "1", "2"]


def test_released_letters_may_lack_whole_variations_only() -> None:
    letters, prompts, items = tables(simulate(3, 5))
    _, asked, _ = tables(simulate(4, 5), "blurred")
    both = pa.concat_tables([prompts, asked])
    assert [block.variation for block in join(letters, both, items, WHERE, released=True)] == ["original"]
    assert "prompt 3/original (and 1 more) was asked" in refused(letters.slice(0, 3), both, items, True)
    assert join(letters.slice(0, 0), both, items, WHERE, released=True) == []
    assert "prompt 0/blurred (and 4 more) was asked" in refused(letters, both, items)


NUMBER = "prompt 3/original has a logit that is NaN, infinite or null"
NO_ANSWER = "prompt 5/original has no answer among its options"


@pytest.mark.parametrize(
    ("table", "row", "changes", "problem"),
    [
        *((0, 3, {"logits": [1.0, 2.0, float(x), 0.0, 0.0, 0.0]}, NUMBER) for x in ("nan", "inf", "-inf")),
        (0, 3, {"logits": [1.0, 2.0, None, 0.0, 0.0, 0.0]}, NUMBER),
        (0, 3, {"logits": [1.0, 2.0]}, "has 2 logits for 6 options"),
        *((0, 3, {"logits": logits}, "has 0 logits for 6 options") for logits in ([], None)),
        (0, 2, {"prompt": "99/original"}, "prompt 99/original is no prompt"),
        *((1, 5, {"answers": answers}, NO_ANSWER) for answers in ([], [6], [-1], [0, 17], None)),
    ],
)
def test_what_does_not_fit_is_named(table: int, row: int, changes: dict[str, Any], problem: str) -> None:
    found = list(tables(simulate(0, 6)))
    found[table] = replace_row(found[table], row, changes)
    assert problem in refused(*found)


def test_missing_and_repeated_rows_are_named() -> None:
    letters, prompts, items = tables(simulate(0, 6))
    message = refused(letters.slice(1), prompts, items)
    assert "prompt 0/original was asked but has no row" in message and "dvc repro" in message
    assert "(and 5 more)" in refused(letters.slice(0, 0), prompts, items)
    twice = pa.concat_tables([letters, letters.slice(4, 1)])
    assert "prompt 4/original is a duplicate" in refused(twice, prompts, items)
    assert "prompt 3/original (and 2 more) belongs to no item" in refused(letters, prompts, items.slice(0, 3))


def unanswer(letters: pa.Table, *rows: int) -> pa.Table:
    """The table without an answer in these rows."""
    for row in rows:
        letters = replace_row(letters, row, {"logits": None, "problem": "server: HTTP 500"})
    return letters


def test_prompts_without_an_answer_are_counted_and_left_out() -> None:
    base = replace(simulate(5, 12, copies=2), defective=np.arange(12) % 5 == 0)
    letters, prompts, items = tables(base, categories=("a", "b"))
    (block,) = join(unanswer(letters, 3, 10), prompts, items, WHERE)
    kept = np.delete(np.arange(12), [3, 10])
    assert block.items == [str(row) for row in kept]
    base = replace(base, categories=np.arange(12) % 2, noise=uniform([str(row) for row in range(12)]))
    for field in fields(base):
        assert (getattr(block.responses, field.name) == getattr(base, field.name)[kept]).all(), field.name
    assert np.flatnonzero(~block.asked.answered).tolist() == [3, 10]
    assert (block.asked.groups == base.groups).all() and (block.asked.defective == base.defective).all()
    assert block.asked.categories.tolist() == ["a", "b"] * 6


def test_a_row_may_be_missing_only_with_a_problem() -> None:
    letters, prompts, items = tables(simulate(5, 4))
    unanswered = unanswer(letters, 0, 1, 2, 3)
    (block,) = join(unanswered, prompts, items, WHERE)
    assert not len(block.responses) and not block.asked.answered.any()
    assert "prompt 0/original was asked but has no row" in refused(unanswered.slice(1), prompts, items)


CENSORED = [1.0, float("-inf"), 2.0, float("-inf"), float("-inf"), float("-inf")]


def test_letters_that_a_server_left_out_count_as_impossible() -> None:
    letters, prompts, items = tables(simulate(0, 6))
    upper = [1.0, -3.0, 2.0, -3.0, -3.0, -3.0]
    (block,) = join(replace_row(letters, 3, {"logits": CENSORED, "upper": upper}), prompts, items, WHERE)
    assert block.asked.answered.all()
    assert block.responses.logits[3].tolist() == CENSORED
    assert "prompt 3/original has a logit" in refused(
        replace_row(letters, 3, {"logits": CENSORED}), prompts, items
    )
    for value in (float("nan"), float("inf"), None):
        broken = replace_row(letters, 3, {"logits": [value, *CENSORED[1:]], "upper": upper})
        assert "prompt 3/original has a logit" in refused(broken, prompts, items)


def test_a_row_without_any_letter_of_its_options_is_no_answer() -> None:
    options = np.array([6, 6, 4, 6])
    letters, prompts, items = tables(replace(simulate(0, 4), options=options))
    none = replace_row(letters, 1, {"logits": [float("-inf")] * 6, "upper": [-9.0] * 6})
    behind = replace_row(none, 2, {"logits": [*[float("-inf")] * 4, 1.0, 2.0], "upper": [-9.0] * 6})
    (block,) = join(behind, prompts, items, WHERE)
    assert block.items == ["0", "3"]


def mass_figures(mass: dict[int, Any], **changes: Any) -> dict[tuple[str, str], dict[str, Any]]:
    """Rows of the metrics by protocol and metric. mass: by row, changes: attributes of ten responses."""
    found = simulate(0, 10)
    for name, rows in changes.items():
        getattr(found, name)[rows] = True
    letters, prompts, items = tables(found)
    for row, change in mass.items():
        letters = replace_row(letters, row, change if isinstance(change, dict) else {"letter_mass": change})
    (block,) = join(letters, prompts, items, "letters.parquet")
    rows, _ = score_block("m", "d", block, CONFIG)
    return {(row["protocol"], row["metric"]): row for row in rows}


def test_mean_and_share_are_of_the_rows_whose_mass_is_known() -> None:
    refused = {"logits": None, "problem": "too long"}
    found = mass_figures({0: 0.25, 1: 0.5, 2: 0.75, 3: refused})
    for protocol in ("clean", "faithful"):
        mass, low = found[protocol, "letter_mass"], found[protocol, "low_mass_rate"]
        assert (mass["value"], mass["items"]) == (0.5, 3)
        assert low["value"] == pytest.approx(1 / 3)  # one half is not low
        assert (low["low"] is None) == (protocol == "faithful")
    assert found["clean", "low_mass_rate"]["low"] < 1 / 3 < found["clean", "low_mass_rate"]["high"]


def test_clean_leaves_out_rows_with_defects() -> None:
    found = mass_figures(dict.fromkeys(range(10), 0.1) | {0: 0.9}, defective=[0])
    assert found["clean", "low_mass_rate"]["value"] == 1
    assert found["faithful", "low_mass_rate"]["value"] == 0.9


def test_a_server_that_tells_no_letter_at_all_tells_that_none_is_said() -> None:
    """Such a prompt is unanswered: of its letters nothing is known but that together they are unlikely."""
    nothing = {"logits": [-np.inf] * 6, "upper": [-9.0] * 6, "letter_mass": 0.0, "flags": ["censored"]}
    found = mass_figures(dict.fromkeys(range(10), 0.9) | dict.fromkeys(range(6), nothing))
    assert found["clean", "low_mass_rate"]["value"] == 0.6
    assert found["clean", "accuracy"]["items"] == 4


SAID = ["Yes", "No, it is not.", "(A)", "no", "B", "Yes.", "I see a dog", "(B)"]
IS_YES = [True, True, True, False, False, False, True, False]
"""Three of four that are yes: two hits, one miss, one unread. Of four that are no one is said to be yes."""


def asked(name: str, text: str, yes: bool, **changes: Any) -> dict[str, Any]:
    own = {"options": ["Yes", "No"], "order": [0, 1], "labels": ["A", "B"]}
    return choice(name, text, 1 - yes, **own) | changes


def rows() -> list[dict[str, Any]]:
    found = [asked(f"q{n}", text, yes) for n, (text, yes) in enumerate(zip(SAID, IS_YES, strict=True))]
    # the same shown the other way round
    found[2] |= {"options": ["No", "Yes"], "order": [1, 0], "text": "(B)", "answers": [1]}
    return found


def test_of_texts() -> None:
    found, outcomes = scored(rows())
    said = [row["chosen"] == 0 for row in outcomes]
    assert said == [True, False, True, False, False, True, False, False]
    precision, recall, f1, _ = precision_recall_fscore_support(IS_YES, said, average="binary")
    for protocol in ("clean", "faithful"):
        values = [found[protocol, "", name]["value"] for name in YES_NO]
        assert values == pytest.approx([f1, precision, recall, 3 / 8])
        assert {found[protocol, "", name]["items"] for name in YES_NO} == {8}
    f1 = found["clean", "", "f1"]
    assert 0 <= f1["low"] < f1["value"] < f1["high"] <= 1 and found["faithful", "", "f1"]["low"] is None
    assert all(metrics()[name].source for name in YES_NO) and metrics()["f1"].ranked


def test_defective_items_count_in_the_faithful_protocol_only() -> None:
    found, _ = scored([*rows(), asked("q8", "yes", False, flags=["duplicate_options"])])
    assert [found[name, "", "yes_rate"]["value"] for name in ("clean", "faithful")] == [3 / 8, 4 / 9]


def test_of_letters() -> None:
    responses = simulate(3, 60)
    letters, prompts, items = tables(responses)
    shown = {"options": ["yes", "no", "None"], "order": [0, 1, -2], "answers": [0]}
    changed = [row | shown | {"answers": [n % 2]} for n, row in enumerate(prompts.to_pylist())]
    prompts = pa.Table.from_pylist(changed, prompts.schema)
    (block,) = join(letters, prompts, items, "here")
    found, outcomes = score_block("m", "d", block, CONFIG)
    right = [prompt["answers"] == [0] for prompt in changed]
    said = [row["predicted"] == 0 for row in outcomes.to_pylist()]
    expected = precision_recall_fscore_support(right, said, average="binary")[2]
    values = {(row["protocol"], row["metric"]): row["value"] for row in found if row["category"] == "all"}
    assert 0 < values["faithful", "f1"] == pytest.approx(expected)


def prompt(options: list[str], order: list[int]) -> dict[str, Any]:
    return {"options": options, "order": order, "answers": [0]}


@pytest.mark.parametrize(
    ("given", "places"),
    [
        ([prompt(["Yes.", "no"], [0, 1]), prompt(["No", "YES"], [1, 0])], [0, 1]),
        ([prompt(["None", "no", "yes", "I don't know"], [-2, 0, 1, -1])], [2]),
        ([prompt(["yes", "no"], [0, 1]), prompt(OPTIONS, [0, 1, 2])], None),
        ([prompt(["yes", "maybe"], [0, 1])], None),
        ([prompt(["yes", "yes"], [0, 1])], None),
        ([prompt(["yes", "no", "both"], [0, 1, 2])], None),
        ([prompt([], [])], None),
        ([], None),
    ],
)
def test_which_prompts_ask_for_yes_or_no(given: list[dict[str, Any]], places: list[int] | None) -> None:
    found = yes_no(pa.Table.from_pylist(given, PROMPTS.schema))
    assert (None if found is None else found.yes.tolist()) == places


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


def test_the_answer_is_the_option_of_the_largest_likelihood_whatever_its_length() -> None:
    """Equation 1 of ReForm-Eval: of the smallest sum, not of the smallest mean."""
    responses = simulate(0, 40, 4, dtype=np.float64)
    lengths = np.random.RandomState(0).randint(1, 9, responses.logits.shape)
    block = block_of(rows_of(responses, lengths), responses)
    _, outcomes = score_block("m", "d", block, CONFIG)
    sums = -responses.logits
    chosen = sums.argmin(axis=1)
    assert (chosen != (sums / lengths).argmin(axis=1)).any()
    assert outcomes["predicted"].to_pylist() == chosen.tolist()
    assert outcomes["correct"].to_pylist() == responses.answers[np.arange(40), chosen].tolist()


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
