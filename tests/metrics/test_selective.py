"""Promises about answers that a model gives alone, and about sets of sampled answers, where the truth is known."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import binom

from vouch.metrics.conformal.selective import (
    PLANNED,
    SampledSetSizes,
    abstention,
    answer_threshold,
    curve,
    numbered,
    one_of_each,
    sampled_sets,
    selective_figures,
    tail,
    upper_bound,
)
from vouch.metrics.conformal.sets import group_splits

WRONG, SURE = 0.1, 0.9


def world(random: np.random.Generator, questions: int) -> tuple[np.ndarray, np.ndarray]:
    """Confidence u and right answers: wrong with 0.4 (1 - u), so that 0.2 (1 - t) of those above t are wrong."""
    confidence = random.random(questions)
    return confidence, (random.random(questions) >= 0.4 * (1 - confidence)).astype(float)


def test_tails_and_bounds_are_those_of_the_binomial_law() -> None:
    answers, errors = np.array([10.0, 45, 90, 7, 0]), np.array([0.0, 0, 4, 7, 0])
    assert tail(answers, errors, 0.05) == pytest.approx([*binom.cdf([0, 0, 4], [10, 45, 90], 0.05), 1, 1])
    bounds = upper_bound(answers, errors, SURE)
    assert binom.cdf(errors[:3], answers[:3], bounds[:3]) == pytest.approx(1 - SURE)
    assert (bounds[3:] == 1).all()


@pytest.mark.parametrize("questions", [200, 1000])
def test_more_errors_than_promised_come_as_rarely_as_promised_and_do_come(questions: int) -> None:
    broken, shares = [], []
    for seed in range(1500):
        confidence, right = world(np.random.default_rng(seed), questions)
        found = answer_threshold(confidence, right, np.arange(questions), WRONG, SURE, seed)
        broken.append(bool(found.answered) and 0.2 * (1 - found.threshold) > WRONG)
        shares.append(found.answered)
    rate = np.mean(broken)
    # 1 - SURE is the most; nothing trivial keeps it: a third of it comes.
    assert (1 - SURE) / 4 < rate < 1 - SURE
    assert 0 < np.mean(shares) < 0.5  # half could be answered if the truth were known


def test_with_one_level_of_confidence_the_violations_have_their_exact_law() -> None:
    questions, rate, runs = 160, 0.11, 4000
    proof = questions - int(PLANNED * questions)
    most = binom.ppf(1 - SURE, proof, WRONG) - (
        binom.cdf(binom.ppf(1 - SURE, proof, WRONG), proof, WRONG) > 0.1
    )
    exact = float(binom.cdf(most, proof, rate))
    random = np.random.default_rng(1)
    passed = [
        bool(
            answer_threshold(np.full(questions, 0.7), right, np.arange(questions), WRONG, SURE, seed).answered
        )
        for seed, right in enumerate((random.random((runs, questions)) >= rate).astype(float))
    ]
    assert exact < 1 - SURE
    assert np.mean(passed) == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / runs))


def test_copies_of_a_question_count_once() -> None:
    broken = {True: 0, False: 0}
    for seed in range(300):
        random = np.random.default_rng(seed)
        of_group = random.random(80) >= 0.12
        right, groups = np.repeat(of_group, 10).astype(float), np.repeat(np.arange(80), 10)
        for grouped in broken:
            found = answer_threshold(
                np.full(800, 0.5), right, groups if grouped else np.arange(800), WRONG, SURE, seed
            )
            broken[grouped] += bool(found.answered)
    assert broken[True] / 300 < 1 - SURE
    assert broken[False] / 300 > 1 - SURE  # and so groups are needed
    rows = one_of_each(np.zeros(800), right, groups, 0)
    assert sorted(groups[rows]) == list(range(80))


def test_the_order_of_the_rows_and_too_few_questions_say_nothing() -> None:
    confidence, right = world(np.random.default_rng(0), 600)
    groups = np.arange(600) // 2
    order = np.random.default_rng(1).permutation(600)
    first = answer_threshold(confidence, right, groups, WRONG)
    again = answer_threshold(confidence[order], right[order], groups[order], WRONG)
    assert (first.threshold, first.answered) == (again.threshold, again.answered)
    for few in (1, 3, 12):
        figures = selective_figures(np.ones(few), np.ones(few), np.arange(few), 0)
        assert {each.value for each in figures if each.metric.startswith("answered_alone")} <= {0}


def test_every_point_of_the_curve_holds_at_once() -> None:
    broken = 0
    for seed in range(600):
        confidence, right = world(np.random.default_rng(seed), 500)
        found = curve(confidence, right, np.arange(500), SURE, seed)
        broken += bool((found.bound < 0.2 * (1 - found.thresholds)).any())
        assert (np.diff(found.answered) >= 0).all() and (found.bound > found.wrong).all()
    assert broken / 600 < 1 - SURE


def test_abstention_answers_wrongly_as_often_as_promised_on_average() -> None:
    questions, loss = 100, []
    for seed in range(3000):
        confidence, right = world(np.random.default_rng(seed), questions)
        threshold, _ = abstention(confidence, right, np.arange(questions), WRONG, seed)
        loss.append(0.2 * (1 - min(threshold, 1)) ** 2)  # P(answered and wrong) by the law above
    error = 4 * np.std(loss) / np.sqrt(len(loss))
    # Angelopoulos et al. 2024: between wrong - 2 / (n + 1) and wrong
    assert WRONG - 2 / (questions + 1) - error < np.mean(loss) < WRONG + error


def test_abstention_equals_the_formula_step_by_step() -> None:
    confidence, right = np.array([0.9, 0.8, 0.8, 0.6, 0.4]), np.array([1.0, 1, 0.5, 0, 1])
    best = np.inf
    for threshold in sorted(set(confidence), reverse=True):
        lost = (1 - right)[confidence >= threshold].sum()
        if (lost + 1) / 6 <= 0.25:
            best = threshold
    assert abstention(confidence, right, np.arange(5), 0.25) == (best, 0.6)
    assert best == 0.8


def sampled(
    seed: int, questions: int, chances: Callable[[np.random.Generator], np.ndarray]
) -> SampledSetSizes | None:
    """Sets of 12 samples: a question's right answer has its own chance, the others share the rest."""
    random = np.random.default_rng(seed)
    chance = chances(random)
    right = random.random((questions, 12)) < chance[:, None]
    said = np.where(right, "right", random.choice(["b", "c", "d"], (questions, 12)))
    drawn = numbered(said.tolist(), right.tolist())
    return sampled_sets(drawn, group_splits(np.arange(questions), 0.5, seed, 2), 0.1, 0.1)


def test_sets_of_sampled_answers_cover_and_are_not_everything() -> None:
    found = [sampled(seed, 300, lambda random: 0.25 + 0.75 * random.random(300)) for seed in range(200)]
    sets = [each for each in found if each is not None]
    assert len(sets) == len(found)
    coverage = np.mean([each.coverage for each in sets])
    assert 1 - 0.2 - 0.01 < coverage < 0.95  # numbers of samples are whole: more than 1 - misses - leaves
    assert 1 < np.mean([each.samples for each in sets]) < 12
    assert np.mean([each.size for each in sets]) < 3


def test_no_set_where_the_samples_never_hold_the_answer_of_too_many() -> None:
    assert sampled(0, 300, lambda random: (random.random(300) < 0.8) * 0.9) is None


def test_a_set_of_sampled_answers_by_hand() -> None:
    drawn = numbered([["a", "b", "a", "a"], ["c", "c", "d", "d"]], [[False, True, False, False]] * 2)
    assert drawn.same.tolist() == [[0, 1, 0, 0], [0, 0, 1, 1]]
    assert drawn.first_right().tolist() == [2, 2]
    shares, right = drawn.shares(3)
    assert shares[0, :2] == pytest.approx([2 / 3, 1 / 3])
    assert right[0].tolist() == [False, True, False, False]
