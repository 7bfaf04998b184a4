"""The clean protocol against its definition, row by row, and its properties."""

import math
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.metrics.simulated import CONFIG, by_name, config, simulate, values
from vouch.metrics.calibration import clean_probabilities
from vouch.metrics.conformal.sets import group_splits
from vouch.metrics.protocols import clean
from vouch.metrics.responses import Responses


def by_definition(responses: Responses, alpha: float, splits: int) -> dict[tuple[str, str], list[float]]:
    """Coverage, set size and UAcc of every split, from the definitions, without any sorting of options."""
    calibrating = group_splits(responses.groups, 0.5, 42, splits).calibrating()
    found: dict[tuple[str, str], list[float]] = {}
    rows = []
    for row in range(len(responses)):
        options = range(int(responses.options[row]))
        weights = [math.exp(float(responses.logits[row, k])) for k in options]
        p = [weight / sum(weights) for weight in weights]
        scores = {
            "lac": [1 - p[k] for k in options],
            "aps": [sum(p[j] for j in options if weights[j] >= weights[k]) for k in options],
        }
        answers = {k for k in options if responses.answers[row, k]}
        tops = {k for k in options if weights[k] == max(weights)}
        rows.append((scores, answers, tops))
    for split in calibrating:
        for name in ("lac", "aps"):
            known = sorted(min(rows[i][0][name][k] for k in rows[i][1]) for i in np.flatnonzero(split))
            rank = math.ceil(round((len(known) + 1) * (1 - alpha), 9))
            q = known[rank - 1] + 1e-12 if rank <= len(known) else math.inf
            sizes, covered, right = [], [], []
            for i in np.flatnonzero(~split):
                scores, answers, tops = rows[i]
                kept = {k for k, value in enumerate(scores[name]) if value <= q} or tops
                sizes.append(len(kept))
                covered.append(bool(kept & answers))
                right.append(len(tops & answers) / len(tops))
            options = np.mean(responses.options[~split])
            found.setdefault((name, "set_size"), []).append(float(np.mean(sizes)))
            found.setdefault((name, "coverage"), []).append(float(np.mean(covered)))
            uacc = float(np.mean(right) * np.sqrt(options) / np.mean(sizes))
            found.setdefault((name, "uacc"), []).append(uacc)
    return found


@pytest.mark.parametrize("alpha", [0.1, 0.4])
@pytest.mark.parametrize("copies", [1, 3])
def test_every_split_follows_the_definition(alpha: float, copies: int) -> None:
    responses = simulate(copies, 150, step=0.5, copies=copies)
    several = responses.answers.copy()
    several[::7, 0] = True
    responses = replace(responses, answers=several)
    figures = by_name(clean(responses, config(alpha=alpha)).figures)
    for name, of_split in by_definition(responses, alpha, CONFIG.splits).items():
        assert figures[name].value == pytest.approx(np.mean(of_split), abs=1e-12)
        assert (figures[name].low, figures[name].high) == pytest.approx(
            tuple(np.percentile(of_split, (2.5, 97.5))), abs=1e-12
        )


def test_only_the_options_of_the_prompt_count() -> None:
    base = simulate(3, 200, step=0.5)
    options = np.where(np.arange(200) % 3 == 0, 5, 6)
    rows = replace(base, options=options)
    figures = values(clean(rows, CONFIG).figures)
    definition = by_definition(rows, CONFIG.alpha, CONFIG.splits)
    assert {name: figures[name] for name in definition} == pytest.approx(
        {name: np.mean(of_split) for name, of_split in definition.items()}, abs=1e-12
    )
    blind = rows.logits.copy()
    blind[options == 5, 5] = 50
    assert clean(replace(rows, logits=blind), CONFIG).figures == clean(rows, CONFIG).figures


def test_defective_rows_are_left_out() -> None:
    base = simulate(4, 120)
    defective = np.arange(120) % 10 == 0
    protocol = clean(replace(base, defective=defective), CONFIG)
    rest = clean(base.take(~defective), CONFIG)
    assert protocol.figures[1:] == rest.figures[1:]
    assert values(protocol.figures)["", "rows_dropped"] == 12
    for column in protocol.columns.values():
        assert not column.known[defective].any()
    assert protocol.columns["clean_correct"].known[~defective].all()


def test_nothing_left_says_so() -> None:
    base = simulate(4, 12)
    protocol = clean(replace(base, defective=np.ones(12, dtype=bool)), CONFIG)
    assert values(protocol.figures) == {("", "rows_dropped"): 12}
    assert values(clean(simulate(0, 0), CONFIG).figures) == {("", "rows_dropped"): 0}


def test_too_few_rows_are_flagged_and_get_full_sets() -> None:
    figures = by_name(clean(simulate(0, 10), CONFIG).figures)
    assert figures["", "infinite_threshold_rate"].value == 1
    assert figures["lac", "set_size"].value == figures["aps", "set_size"].value == 6
    alone = by_name(clean(simulate(0, 10, copies=10), CONFIG).figures)
    assert (alone["", "accuracy"].low, alone["", "accuracy"].high) == (None, None)


def test_tied_tops_share_the_prediction() -> None:
    logits = np.array([[1.0, 1.0, 0.0], [2.0, 2.0, 2.0]])
    answers = np.array([[False, True, False], [True, False, True]])
    probabilities = clean_probabilities(replace(simulate(0, 2, 3), logits=logits, answers=answers))
    assert probabilities.correct.tolist() == pytest.approx([1 / 2, 2 / 3])


def permuted(responses: Responses, seed: int) -> Responses:
    order = np.random.RandomState(seed).rand(*responses.logits.shape).argsort(axis=1)
    letters = {
        name: np.take_along_axis(getattr(responses, name), order, 1)
        for name in ("logits", "answers", "roles")
    }
    return replace(responses, **letters)


OF_LETTERS = ("letter_bias", "chosen_share", "right_share")


@settings(max_examples=25)
@given(st.integers(0, 2**16), st.integers(-40, 40))
def test_neither_order_nor_shift_of_the_options_changes_a_bit(seed: int, shift: int) -> None:
    responses = simulate(seed, 90, step=0.5, copies=2)
    moved = permuted(replace(responses, logits=responses.logits + np.float32(shift)), seed)
    before, after = (
        [figure for figure in clean(rows, CONFIG).figures if not figure.metric.startswith(OF_LETTERS)]
        for rows in (responses, moved)
    )
    assert after == before


@settings(max_examples=25)
@given(st.integers(0, 2**16))
def test_the_order_of_the_rows_does_not_matter(seed: int) -> None:
    responses = simulate(seed, 90, copies=3)
    shuffled = responses.take(np.random.RandomState(seed).permutation(90))
    before, after = (by_name(clean(rows, CONFIG).figures) for rows in (responses, shuffled))
    for name, figure in before.items():
        for field in fields(figure)[2:]:
            assert getattr(after[name], field.name) == pytest.approx(getattr(figure, field.name), abs=1e-9)
