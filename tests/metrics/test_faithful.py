"""The faithful protocol against row-by-row code of the same rules, and its quirks."""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.metrics.reference_loop import network_argsort, score_rows
from tests.metrics.simulated import CONFIG, SHARED, config, labels_of, simulate, values
from vouch.metrics.calibration import authors_probabilities
from vouch.metrics.protocols import AUTHORS, authors_split, authors_threshold, clean, faithful
from vouch.metrics.responses import Responses, descending
from vouch.tables.names import DONT_KNOW, NONE_OF_ABOVE


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
    """Those of docs/statistics.md, as they stand there."""
    responses = simulate(1, 501, step=1e-6)
    page = (Path(__file__).parents[2] / "docs/statistics.md").read_text("utf-8")
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
        # A letter on the threshold is in the set.
        ("lac", [0.5, 0.25, 0.25], 2, {0.74: (1, False), 0.75: (3, True), 0.76: (3, True)}),
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
