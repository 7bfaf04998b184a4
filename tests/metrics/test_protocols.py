"""The faithful protocol against row-by-row code of the same rules, and its quirks.

The clean protocol against its definition, row by row, and its properties.
"""

import json
import math
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.metrics.reference_loop import network_argsort, score_rows
from tests.metrics.simulated import CONFIG, SHARED, by_name, config, labels_of, simulate, values
from vouch.metrics.calibration import authors_probabilities, clean_probabilities
from vouch.metrics.conformal.sets import group_splits
from vouch.metrics.protocols import AUTHORS, authors_split, authors_threshold, clean, faithful
from vouch.metrics.responses import Responses, descending
from vouch.tables import DONT_KNOW, NONE_OF_ABOVE


def network(p: np.ndarray) -> np.ndarray:
    return np.array(network_argsort(p))


def stable(p: np.ndarray) -> np.ndarray:
    return np.argsort(p, kind="stable")


def assert_twin(responses: Responses, argsort: Any = network, **changes: Any) -> None:
    settings = config(**changes)
    ours = values(faithful(responses, settings).figures)
    theirs = score_rows(
        responses.logits,
        labels_of(responses),
        settings.alpha,
        settings.calibration,
        settings.seed,
        settings.bins,
        argsort,
    )
    assert {name: ours[name] for name in theirs} == pytest.approx(theirs, abs=1e-6)
    counted = [name for name in theirs if name[1] not in ("ece", "mce")]
    assert {name: ours[name] for name in counted} == pytest.approx(
        {name: theirs[name] for name in counted}, abs=1e-14
    )


def test_an_added_option_that_says_the_answer_is_right_to_clean_alone() -> None:
    """The authors count the item's own option, whatever the template's says."""
    responses = simulate(0, 60, letters=4, step=1e-4)
    roles = np.tile(np.array([0, 1, NONE_OF_ABOVE, DONT_KNOW], dtype=np.int32), (60, 1))
    own = replace(responses, roles=roles, answers=roles == 0)
    said = replace(own, answers=(roles == 0) | (roles == NONE_OF_ABOVE))
    assert faithful(said, CONFIG).figures == faithful(own, CONFIG).figures
    found = [values(clean(one, CONFIG).figures)[("", "accuracy")] for one in (own, said)]
    chosen = own.logits.argmax(axis=1)
    assert found == [pytest.approx((chosen == 0).mean()), pytest.approx(np.isin(chosen, (0, 2)).mean())]


@pytest.mark.parametrize("letters", [3, 4, 5, 6, 7])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_twin_with_many_ties(letters: int, dtype: Any) -> None:
    # Rows of eight letters or more are summed in another order by numpy, so they are no twins to the bit.
    assert_twin(simulate(letters, 1501, letters, step=0.5, dtype=dtype))


@pytest.mark.parametrize("share", [0.1, 0.3, 0.9])
@pytest.mark.parametrize("alpha", [0.05, 0.2, 0.5])
def test_twin_with_other_settings(share: float, alpha: float) -> None:
    assert_twin(simulate(7, 400, step=0.25), calibration=share, alpha=alpha, seed=3, bins=7)


@pytest.mark.parametrize("count", [1, 2, 3, 9, 17, 18, 19, 20, 21])
def test_twin_with_few_rows(count: int) -> None:
    assert_twin(simulate(count, count))


def test_above_eight_letters_ties_fall_as_in_a_stable_sort() -> None:
    p = np.asfortranarray(np.random.RandomState(0).randint(0, 4, (200, 11)) / 44)
    marks = np.asfortranarray(np.random.RandomState(1).rand(200, 11) < 0.3)
    ranked, carried = descending(p, marks)
    for row in range(200):
        order = stable(p[row])[::-1]
        assert (ranked[row] == p[row, order]).all()
        assert (carried[row] == marks[row, order]).all()
    assert_twin(simulate(1, 300, 11, step=1.0, dtype=np.float64), argsort=stable)


@given(st.lists(st.lists(st.integers(0, 3), min_size=5, max_size=5), min_size=1, max_size=6))
def test_network_matches_its_scalar_twin(rows: list[list[int]]) -> None:
    p = np.asfortranarray(np.array(rows, dtype=np.float32))
    for letter in range(5):
        marks = np.zeros(p.shape, dtype=bool)
        marks[:, letter] = True
        _, carried = descending(p, marks)
        expected = [[k == letter for k in network_argsort(row)[::-1]] for row in p]
        assert carried.tolist() == expected


def test_the_formulas_of_the_page() -> None:
    """Those of docs/protocols.md, as they stand there."""
    responses = simulate(1, 501, step=1e-6)
    page = (Path(__file__).parents[2] / "docs/protocols.md").read_text("utf-8")
    (code,) = [part.partition("```")[0] for part in page.split("```python\n")[1:] if "def faithful(" in part]
    names: dict[str, Any] = {"np": np}
    exec(code, names)  # the page is ours
    printed = names["faithful"](responses.logits, responses.answers.argmax(axis=1))
    found = values(faithful(responses, CONFIG).figures)
    ours = {name: found[name.partition(" ")[2], name.partition(" ")[0]] for name in printed}
    assert ours == pytest.approx(printed, abs=2e-6)


def test_nothing_from_nothing() -> None:
    protocol = faithful(simulate(0, 0), CONFIG)
    assert (protocol.figures, protocol.columns) == ([], {})


def test_too_few_calibration_rows_give_full_sets() -> None:
    found = values(faithful(simulate(0, 16), CONFIG).figures)
    assert found["", "infinite_threshold_rate"] == 1
    assert (found["lac", "set_size"], found["aps", "set_size"]) == (6, 6)
    assert (found["lac", "coverage"], found["aps", "coverage"]) == (1, 1)
    assert values(faithful(simulate(0, 18), CONFIG).figures)["", "infinite_threshold_rate"] == 0


def test_a_tie_at_the_top_goes_to_the_lowest_letter() -> None:
    logits = np.asfortranarray(np.array([[2.0, 1.0, 2.0, 2.0]], dtype=np.float32))
    base = simulate(0, 1, 4)
    for answer, right in ((0, 1.0), (2, 0.0), (3, 0.0)):
        answers = np.zeros((1, 4), dtype=bool)
        answers[0, answer] = True
        found = values(faithful(replace(base, logits=logits, answers=answers), CONFIG).figures)
        assert found["", "accuracy"] == right
        assert found["", "tie_rate"] == 1


@pytest.mark.parametrize(
    ("score", "p", "answer", "found"),
    [
        # The first letter of an empty set is kept, and no more than it.
        ("aps", [0.6, 0.3, 0.1], 1, {0.5: (1, False), 0.61: (1, False), 0.91: (2, True), np.inf: (3, True)}),
        # An empty set gets the most probable letter.
        ("lac", [0.4, 0.3, 0.3], 0, {0.1: (1, True)}),
        ("lac", [0.2, 0.3, 0.5], 0, {0.1: (1, False)}),
        # Margins are 0.2, -0.2 and 0.3; the literal one is 0.2 for every letter.
        (
            "margin",
            [0.3, 0.5, 0.2],
            0,
            {-0.3: (1, False), -0.2: (1, False), 0.21: (2, True), 0.31: (3, True)},
        ),
        ("margin", [0.4, 0.4, 0.2], 0, {-0.1: (1, True), 0.0: (2, True)}),
        ("margin_literal", [0.3, 0.5, 0.2], 0, {0.19: (1, False), 0.21: (3, True)}),
        # A letter on the threshold is in the set.
        ("lac", [0.5, 0.25, 0.25], 2, {0.74: (1, False), 0.75: (3, True), 0.76: (3, True)}),
        ("aps", [0.125, 0.5, 0.375], 2, {0.874: (1, False), 0.875: (2, True), 1.0: (3, True)}),
    ],
)
def test_sets_by_hand(score: str, p: list[float], answer: int, found: dict[float, tuple[int, bool]]) -> None:
    rows = replace(simulate(0, 1, 3), logits=np.log([p]), answers=np.arange(3)[None] == answer)
    probabilities = replace(authors_probabilities(rows), p=np.array([p]))
    for threshold, (size, covered) in found.items():
        sets = AUTHORS[score].sets(probabilities, np.float64(threshold))
        assert (sets.size.tolist(), sets.covered.tolist()) == ([size], [covered])


def test_several_answers_count_as_the_best_of_them() -> None:
    logits = np.log(np.array([[0.5, 0.3, 0.2]]))
    responses = replace(simulate(0, 1, 3), logits=logits, answers=np.array([[False, True, True]]))
    probabilities = authors_probabilities(responses)
    assert AUTHORS["lac"].answers(probabilities)[0] == pytest.approx(0.7)
    assert AUTHORS["aps"].answers(probabilities)[0] == pytest.approx(0.8)
    assert AUTHORS["aps"].sets(probabilities, np.float64(0.85)).covered[0]
    assert AUTHORS["margin"].answers(probabilities)[0] == pytest.approx(0.2)
    assert AUTHORS["margin_literal"].answers(probabilities)[0] == pytest.approx(0.2)
    more = replace(responses, answers=np.array([[True, False, True]]))
    assert values(faithful(more, CONFIG).figures)["", "accuracy"] == 1


def test_letters_beyond_the_prompt_count_with_the_authors() -> None:
    # Two native options and the two added ones were shown, six letters released, F has the largest logit.
    base = simulate(0, 1)
    roles = np.array([[0, 1, -1, -2, -3, -3]], dtype=np.int32)
    logits = np.array([[0, 1, 2, 3, 4, 5]], dtype=np.float32)
    shown = replace(base, roles=roles, logits=logits, options=np.array([4]))
    found = values(faithful(shown, CONFIG).figures)
    assert (found["", "none_rate"], found["", "dont_know_rate"]) == (1, 0)
    second = replace(shown, logits=logits[:, [0, 1, 2, 3, 5, 4]])
    assert values(faithful(second, CONFIG).figures)["", "dont_know_rate"] == 1


def test_absent_letters_are_in_no_set() -> None:
    logits = np.array([[0.0, 0.0, -np.inf], [0.0, -200.0, 1.0]], dtype=np.float32)
    answers = np.array([[True, False, False], [False, True, False]])
    responses = replace(simulate(0, 2, 3), logits=logits, answers=answers, letters=np.array([2, 3]))
    probabilities = authors_probabilities(responses)
    for score in AUTHORS.values():
        assert score.sets(probabilities, np.float32(np.inf)).size.tolist() == [2, 3]
        assert score.sets(probabilities, np.float32(np.inf)).covered.all()


def test_siblings_of_the_calibration_half_are_counted() -> None:
    alone = values(faithful(simulate(0, 40), CONFIG).figures)
    assert alone["", "sibling_share"] == 0
    together = values(faithful(simulate(0, 40, copies=40), CONFIG).figures)
    assert together["", "sibling_share"] == 1


def test_columns_speak_of_test_rows_only() -> None:
    protocol = faithful(simulate(0, 101), CONFIG)
    testing = protocol.columns["half"].values == "test"
    assert testing.sum() == 51
    for name in ("size_lac", "size_aps", "covered_lac", "covered_aps"):
        assert (protocol.columns[name].known == testing).all()
    found = values(protocol.figures)
    assert protocol.columns["size_aps"].values[testing].mean() == pytest.approx(found["aps", "set_size"])
    assert protocol.columns["covered_lac"].values[testing].mean() == pytest.approx(found["lac", "coverage"])


FOLDER = SHARED.parent / "outputs/conformalllm"
SEEDS = 30
needs_answers = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="needs the answers that the authors of ConformalLLM released"
)


@cache
def released() -> dict[str, list[Responses]]:
    """By subject, the answers to each prompt."""
    found = {}
    with np.load(FOLDER / "llama13b_mmlu16_10prompts.npz", allow_pickle=False) as data:
        for name in data.files:
            subject, _, kind = name.rpartition("_")
            if kind == "scores":
                found[subject] = [responses(p, data[f"{subject}_targets"]) for p in data[name]]
    return found


def responses(p: np.ndarray, answer: np.ndarray) -> Responses:
    count, letters = p.shape
    answers = np.eye(letters, dtype=bool)[answer]
    return Responses(
        logits=np.asfortranarray(np.log(p)),
        answers=np.asfortranarray(answers),
        roles=np.asfortranarray(np.tile(np.arange(letters, dtype=np.int32), (count, 1))),
        letters=np.full(count, letters),
        options=np.full(count, letters),
        groups=np.arange(count),
        categories=np.zeros(count, dtype=np.int64),
        noise=np.zeros(count),
        defective=np.zeros(count, dtype=bool),
    )


@needs_answers
def test_every_accuracy_comes_out() -> None:
    """16 subjects, ten prompts; printed with three digits."""
    printed = json.loads((FOLDER / "published_accuracy_per_prompt.json").read_text("utf-8"))
    ours = {
        subject: [round(float(authors_probabilities(each).correct.mean()), 3) for each in prompts]
        for subject, prompts in released().items()
    }
    assert ours == printed and sum(map(len, ours.values())) == 160


@needs_answers
def test_sets_are_as_large_as_printed() -> None:
    """LAC at alpha 0.1, mean over the prompts; their splits are not known, ours are 30 seeds."""
    printed = json.loads((FOLDER / "published_notebook_lac.json").read_text("utf-8"))
    for subject, prompts in released().items():
        sizes, covered = [], []
        for each in prompts:
            probabilities = authors_probabilities(each)
            scores = AUTHORS["lac"].answers(probabilities)
            for seed in range(SEEDS):
                test, calibration = authors_split(len(each), 0.5, seed)
                sets = AUTHORS["lac"].sets(
                    probabilities, authors_threshold(scores[calibration], printed["alpha"])
                )
                sizes.append(sets.size[test].mean())
                covered.append(sets.covered[test].mean())
        name = subject.replace("_", " ")
        assert np.mean(sizes) == pytest.approx(printed["set_size"][name], abs=0.1), name
        assert 100 * np.mean(covered) == pytest.approx(printed["coverage_pct"][name], abs=3), name


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


OF_LETTERS = ("letter_bias", "chosen_share", "correct_share")


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


def test_margins_and_calibration_shares_in_the_single_split() -> None:
    """Against a loop over the rows; without `scores` and `shares` no other figure appears."""
    responses, alpha = simulate(3, 403, step=0.25, dtype=np.float64), 0.1
    plain = faithful(responses, CONFIG).figures
    asked = config(scores=["lac", "aps", "margin", "margin_literal", "raps"], shares=[0.1, 0.5])
    figures = faithful(responses, asked).figures
    found = values(figures)
    assert len(found) == len(figures) and not any(name == "raps" for name, _ in found)
    assert values(plain).items() <= found.items() and not any("margin" in each.score for each in plain)
    probabilities = authors_probabilities(responses).p
    label = labels_of(responses)
    for share in (0.5, 0.1):
        test, calibration = authors_split(403, share, asked.seed)
        suffix = "_calibrated_on_10" if share == 0.1 else ""
        for score in ("margin", "margin_literal"):
            rows = []
            for p in probabilities:
                first, second = sorted(p)[::-1][:2]
                top = int(p.argmax())
                of = [(second if k == top else first) - own for k, own in enumerate(p)]
                rows.append(of if score == "margin" else [first - second] * len(p))
            level = math.ceil((len(calibration) + 1) * (1 - alpha)) / len(calibration)
            limit = np.quantile([rows[n][label[n]] for n in calibration], level, method="higher")
            sets = [
                [k for k, s in enumerate(rows[n]) if s <= limit] or [int(probabilities[n].argmax())]
                for n in test
            ]
            assert found[score, f"set_size{suffix}"] == pytest.approx(np.mean([len(each) for each in sets]))
            covered = [label[n] in each for n, each in zip(test, sets, strict=True)]
            assert found[score, f"coverage{suffix}"] == pytest.approx(np.mean(covered))
    assert found["mean", "coverage_calibrated_on_50"] == found["mean", "coverage"]
