"""Quantiles, splits, bins, metrics and intervals by hand and against numpy and torch.

Sets and metrics against MAPIE, torchmetrics, scikit-learn and scipy.
"""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from mapie.classification import SplitConformalClassifier
from mapie.conformity_scores import APSConformityScore, LACConformityScore, RAPSConformityScore
from scipy import optimize, special, stats
from sklearn import metrics as sk

from tests.metrics.given import Given
from tests.metrics.simulated import ROOT, config, simulate, values
from vouch.metrics.calibration import equal_slots, fit, torchmetrics_slots
from vouch.metrics.confidence import (
    Order,
    aurc,
    auroc,
    selective_accuracy,
)
from vouch.metrics.conformal.figures import OF_SETS, Calibrations, ScoredRows, SetCounts, rows_of
from vouch.metrics.conformal.scores import Settings, score_values
from vouch.metrics.conformal.sets import (
    SetMembership,
    Splits,
    exact_rank,
    fewest_groups,
    group_splits,
    set_membership,
)
from vouch.metrics.intervals import (
    RESAMPLES,
    centred,
    group_sums,
    mean_interval,
    percentiles,
    resampled,
)
from vouch.metrics.metric import find, metrics, named
from vouch.metrics.protocols import clean
from vouch.metrics.responses import Ranked, Responses


def test_the_exact_rank_has_no_rounding_error() -> None:
    assert [exact_rank(n, 0.1) for n in (0, 8, 9, 19, 99, 100)] == [1, 9, 9, 18, 90, 91]
    assert exact_rank(99, 0.05) == 95
    assert [exact_rank(n, 1 - 0.9) for n in (0, 8, 9, 19, 99, 100)] == [1, 9, 9, 18, 90, 91]
    assert exact_rank(9, 0.3 - 0.2) == exact_rank(9, 0.1 + 1e-16) == exact_rank(9, 0.1) == 9
    assert [exact_rank(n, 1 / 3) for n in (2, 5, 29)] == [2, 4, 20]
    assert [exact_rank(6, 1 - 2 / 7), exact_rank(9, 1 - 1e-13)] == [2, 1]
    assert [exact_rank(10**9 - 1, alpha) for alpha in (0.1 + 1e-9, 1e-13)] == [899_999_999, 10**9]
    # In floating point (1 - 0.9) * 10 is 0.9999999999999998 and 100 * (1 - 0.93) is 6.999999999999995.
    assert exact_rank(99, 0.93) == 7
    assert exact_rank(9, 0.9) == 1


@pytest.mark.parametrize(
    ("alpha", "calibration", "fewest"),
    [(0.1, 0.5, 18), (0.05, 0.5, 38), (0.1, 0.3, 30), (1 / 3, 0.5, 4), (0.3, 0.9, 4)],
)
def test_with_the_fewest_groups_just_enough_calibrate(alpha: float, calibration: float, fewest: int) -> None:
    assert fewest_groups(alpha, calibration) == fewest
    for groups, enough in ((fewest, True), (fewest - 1, False)):
        (split,) = group_splits(np.arange(groups), calibration, 0, 1)
        assert (exact_rank(int(split.sum()), alpha) <= split.sum()) == enough


def test_group_splits_keep_groups_whole() -> None:
    groups = np.random.RandomState(0).randint(0, 30, 200)
    calibrating = group_splits(groups, 0.4, 1, 50).calibrating()
    assert calibrating.shape == (50, 200)
    for split in calibrating:
        assert not set(groups[split]) & set(groups[~split])
        assert len(set(groups[split])) == int(0.4 * len(set(groups)))
    assert len({split.tobytes() for split in calibrating}) == 50
    assert (calibrating == group_splits(groups, 0.4, 1, 50).calibrating()).all()
    assert (calibrating != group_splits(groups, 0.4, 2, 50).calibrating()).any()


@pytest.mark.parametrize("bins", [1, 2, 7, 10, 15, 30])
def test_bins_are_those_of_torch(bins: int) -> None:
    torch = pytest.importorskip("torch")
    edges = torch.linspace(0, 1, bins + 1)
    exact = edges.numpy()
    near = [np.nextafter(exact, np.float32(0)), exact, np.nextafter(exact, np.float32(1))]
    confidence = np.concatenate([*near, np.random.RandomState(0).rand(5000).astype(np.float32)])
    expected = torch.bucketize(torch.from_numpy(confidence), edges, right=True) - 1
    assert torchmetrics_slots(confidence, bins).tolist() == expected.tolist()


def test_set_metrics_by_hand() -> None:
    # one filled set of one letter that holds the answer, one of three letters that does not, two of two that do
    counted = np.bincount([4 * 1 + 2 + 1, 4 * 3, 4 * 2 + 2, 4 * 2 + 2])
    sets = SetCounts(counted, np.array(0.5), np.array(4.0))
    found = {}
    for metric, formula in OF_SETS.items():
        found |= named(metric, formula(sets))
    assert found == {
        "coverage": 0.75,
        "unfilled_coverage": 0.5,
        "empty_rate": 0.25,
        "set_size": 2,
        "uacc": pytest.approx(0.5 * 2 / 2),
        "singleton_rate": 0.25,
        "set_size_share_1": 0.25,
        "set_size_share_2": 0.5,
        "set_size_share_3": 0.25,
        "worst_size_coverage": 0,
    }


def test_every_metric_is_declared_once() -> None:
    assert {name for name, metric in metrics().items() if not (metric.label and metric.help)} == set()
    assert {name for name, metric in metrics().items() if metric.ranked and not metric.better} == set()
    assert find("selective_accuracy_80") is metrics()["selective_accuracy"]
    assert find("coverage_calibrated_on_10") is metrics()["coverage_calibrated_on"]
    first = "from vouch.metrics.metric import find; print(find('accuracy_turn_2').label, find('accuracies'))"
    done = subprocess.run([sys.executable, "-c", first], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "Accuracy of a turn None\n", "not that of `accuracy`, which is declared earlier"
    assert find("acuracy") is None


def test_cluster_interval_equals_the_plain_one_without_clusters() -> None:
    values = (np.random.RandomState(0).rand(400) < 0.3).astype(float)
    low, high = mean_interval(values, np.arange(400))
    error = values.std(ddof=1) / 20
    quantile = 1.965927  # of Student's t with 399 degrees of freedom
    assert (low, high) == pytest.approx(
        (values.mean() - quantile * error, values.mean() + quantile * error), abs=1e-6
    )
    wide = mean_interval(np.repeat(values, 4), np.repeat(np.arange(400), 4))
    assert wide == pytest.approx((low, high))


def test_cluster_interval_at_the_ends_is_not_a_point() -> None:
    ones = np.ones(20)
    assert mean_interval(ones, np.arange(20)) == pytest.approx((0.025 ** (1 / 20), 1.0))
    assert mean_interval(ones, np.repeat(np.arange(5), 4)) == pytest.approx((0.025 ** (1 / 5), 1.0))
    assert mean_interval(0 * ones, np.arange(20)) == pytest.approx((0.0, 1 - 0.025 ** (1 / 20)))


def test_resampling_draws_whole_groups() -> None:
    sums = np.array([[1.0, 10.0], [2.0, 20.0], [4.0, 40.0]])
    totals = resampled(sums, 0)
    assert totals.shape == (RESAMPLES, 2)
    assert (totals[:, 1] == 10 * totals[:, 0]).all()
    assert totals[:, 0].mean() == pytest.approx(7, abs=0.3)
    assert set(totals[:, 0]) <= {a + b + c for a in (1, 2, 4) for b in (1, 2, 4) for c in (1, 2, 4)}


def test_splits_that_are_kept_are_those_of_the_same_groups() -> None:
    """Also of as many rows in other groups, and of other numbers for the same groups."""
    for groups in ([0, 0, 1, 1, 2, 2], [0, 1, 2, 0, 1, 2], [5, 7, 9, 5, 7, 9]):
        calibrating = group_splits(np.array(groups), 0.5, 0, 20).calibrating()
        for group in set(groups):
            own = calibrating[:, np.array(groups) == group]
            assert (own == own[:, :1]).all() and own.any() and not own.all()
    few, many = (group_splits(np.arange(3000), 0.5, 0, splits) for splits in (100, 200))
    assert (few.packed == many.packed[:100]).all(), "kept or not"


def test_percentiles_are_those_of_numpy_to_the_last_bit() -> None:
    random = np.random.default_rng(1)
    for size in (1, 2, 3, 40, 41, 80, 100, 999, 1000):
        for draws in (random.random(size), random.integers(0, 3, size) / 7, -random.random(size) * 1e-12):
            for shares in ((2.5, 97.5), (5.0, 95.0), (0.0, 100.0)):
                assert percentiles(draws, shares) == tuple(np.percentile(draws, shares).tolist())
    assert np.isnan(percentiles(np.array([0.5, np.nan, 0.25]))).all()


def test_a_centred_interval_stays_within_bounds() -> None:
    assert centred(0.01, np.linspace(0.0, 1.0, RESAMPLES)) == pytest.approx((0.0, 0.485))


@pytest.mark.parametrize("bins", [1, 2, 3, 7, 10, 15, 50, 100, 1000])
def test_an_edge_belongs_to_the_bin_above_however_it_was_computed(bins: int) -> None:
    edges = np.arange(bins) / bins
    wanted = list(range(bins))
    for computed in (
        edges,
        1 - (1 - edges),
        0.3 + edges - 0.3,
        np.array([float(f"{e:.15g}") for e in edges]),
    ):
        assert equal_slots(np.clip(computed, 0, 1), bins).tolist() == wanted
    assert equal_slots(np.array([0.0, 1.0]), bins).tolist() == [0, bins - 1]
    assert equal_slots(edges[1:] - 1e-9, bins).tolist() == wanted[:-1]


LEVEL = 0.9
SAMPLES, QUESTIONS, COPIES, LEVELS = 400, 100, 2, 8
CONFIDENCE = (np.arange(LEVELS) + 0.5) / LEVELS
METRICS: dict[str, Callable[[Order], Any]] = {
    "auroc": auroc,
    "aurc": aurc,
    "selective_accuracy_50": lambda order: selective_accuracy(order)["50"],
}


@pytest.mark.parametrize("groups", [40, 400])
def test_the_sandwich_holds_a_rate_whose_rows_hang_together(groups: int) -> None:
    hits = 0
    for seed in range(1000):
        random = np.random.RandomState(seed)
        sizes = random.randint(1, 6, groups)
        chance = np.repeat(random.beta(3, 2, groups), sizes)
        rows = random.rand(len(chance)) < chance
        low, high = mean_interval(rows.astype(float), np.repeat(np.arange(groups), sizes), level=LEVEL)
        assert low is not None and high is not None
        hits += low <= 0.6 <= high
    assert 0.88 <= hits / 1000 <= 0.92


def test_the_bootstrap_holds_metrics_of_ordered_rows() -> None:
    everyone = Order(np.full(LEVELS, 1e5), 1e5 * CONFIDENCE[::-1])
    truths = {name: float(metric(everyone)) for name, metric in METRICS.items()}
    hits = dict.fromkeys(METRICS, 0)
    for seed in range(SAMPLES):
        random = np.random.RandomState(seed)
        level = random.randint(0, LEVELS, QUESTIONS)
        right = (random.rand(QUESTIONS) < CONFIDENCE[level]).astype(float)
        level, right, groups = (np.repeat(each, COPIES) for each in (level, right, np.arange(QUESTIONS)))
        tallies = [(LEVELS - 1 - level, values, LEVELS) for values in (np.ones(len(right)), right)]
        found = group_sums(groups, tallies)
        here, drawn = (
            Order(*np.split(each, 2, axis=-1)) for each in (found.sum(axis=0), resampled(found, 7))
        )
        for name, metric in METRICS.items():
            low, high = centred(float(metric(here)), metric(drawn), LEVEL)
            assert low is not None and high is not None
            hits[name] += low <= truths[name] <= high
    assert all(0.88 <= each / SAMPLES <= 0.92 for each in hits.values()), hits


def test_without_an_error_there_is_no_auroc() -> None:
    drawn = np.array([np.nan, np.nan, 0.5])
    assert np.isnan(auroc(Order(np.array([3.0]), np.array([3.0]))))
    assert centred(0.5, drawn) == (None, None)


def test_one_group_says_nothing_of_the_spread() -> None:
    assert centred(0.5, np.full(1000, 0.5)) == (None, None)
    assert mean_interval(np.array([0.0, 1.0]), np.array([3, 3])) == (None, None)


pytestmark = pytest.mark.filterwarnings("ignore:.*dataset has less labels")
HALF = 500
ROWS = simulate(11, 2 * HALF, step=1e-9, dtype=np.float64)
P = special.softmax(ROWS.logits, axis=1)
LABELS = ROWS.answers.argmax(axis=1)
FIRST_HALF = Splits.of([np.arange(2 * HALF) < HALF], 2 * HALF)


def mapie(score: Any, alpha: float, **settings: Any) -> tuple[float, np.ndarray, Any]:
    """Threshold, sets [HALF, 6] and the score object, calibrated on the first half."""
    model = SplitConformalClassifier(
        Given(), confidence_level=1 - alpha, conformity_score=score, prefit=True, random_state=0
    )
    model.conformalize(P[:HALF], LABELS[:HALF])
    _, sets = model.predict_set(P[HALF:], conformity_score_params=settings)
    used = model._mapie_classifier.conformity_score_function_
    return float(used.quantiles_[0]), sets[:, :, 0], used


def of(rows: Responses, settings: Settings, *scores: str) -> Calibrations:
    asked = config(scores=["lac", "aps", *scores], settings=settings)
    return Calibrations(rows_of(rows, rows.noise, asked.scores, asked.parameters), FIRST_HALF)


@pytest.mark.parametrize("alpha", [0.1, 0.3])
def test_lac_is_mapies(alpha: float) -> None:
    threshold, sets, _ = mapie(LACConformityScore(), alpha)
    calibrations = of(ROWS, {})
    found = calibrations.of(calibrations.rows.strata("marginal"), alpha)["lac"]
    assert score_values("lac", found.limits, {}) == pytest.approx(threshold, abs=1e-12)
    code = found.membership.settled[HALF:]
    empty = (code & 1).astype(bool)  # MAPIE leaves them so
    assert np.where(empty, 0, code >> 2).tolist() == sets.sum(axis=1).tolist()
    assert ((code >> 1 & 1) == sets[np.arange(HALF), LABELS[HALF:]])[~empty].all()


@pytest.mark.parametrize("alpha", [0.1, 0.3])
def test_randomised_aps_has_mapies_threshold(alpha: float) -> None:
    """MAPIE calibrates with the random term always, u counted from the other end."""
    threshold, _, _ = mapie(APSConformityScore(), alpha)
    noise = np.r_[1 - np.random.RandomState(0).uniform(size=HALF), np.zeros(HALF)]
    calibrations = of(replace(ROWS, noise=noise), {}, "aps_randomised")
    found = calibrations.of(calibrations.rows.strata("marginal"), alpha)["aps_randomised"]
    assert score_values("aps", found.limits, {}) == pytest.approx(threshold, abs=1e-12)


def sets_of(rows: ScoredRows, score: str, threshold: float) -> SetMembership:
    """Sets of all rows with a given threshold of the scores themselves."""
    limits, alike = {score: np.array([[threshold]])}, np.zeros(2 * HALF, dtype=int)

    def values_of(ranked: Ranked) -> np.ndarray:
        return score_values(score, rows.scores[score](ranked), rows.settings)

    return set_membership(rows.ranked, {score: values_of}, limits, alike)[score]


@pytest.mark.parametrize("alpha", [0.1, 0.3])
def test_aps_sets_are_mapies(alpha: float) -> None:
    threshold, sets, _ = mapie(APSConformityScore(), alpha, include_last_label=False)
    rows = of(ROWS, {}).rows
    found = sets_of(rows, "aps", threshold)
    assert (found.settled[HALF:] >> 2).tolist() == sets.sum(axis=1).tolist()


def test_raps_sets_are_mapies() -> None:
    """MAPIE chooses the penalty itself."""
    threshold, sets, used = mapie(RAPSConformityScore(size_raps=0.2), 0.1, include_last_label=False)
    settings = {"raps": {"penalty": float(used.lambda_star), "k_reg": int(used.k_star[0])}}
    rows = of(replace(ROWS, noise=np.ones(2 * HALF)), settings, "raps").rows
    found = sets_of(rows, "raps", threshold)
    assert (found.settled[HALF:] >> 2).tolist() == sets.sum(axis=1).tolist()


def test_metrics_of_probabilities_are_scikit_learns() -> None:
    found = values(clean(ROWS, config(splits=2)).figures)
    right, confidence = P.argmax(axis=1) == LABELS, P.max(axis=1)
    assert found["", "nll"] == pytest.approx(sk.log_loss(LABELS, P, labels=range(6)))
    assert found["", "brier"] == pytest.approx(
        sk.brier_score_loss(LABELS, P, labels=range(6), scale_by_half=False)
    )
    assert found["", "auroc"] == pytest.approx(sk.roc_auc_score(right, confidence))
    assert found["", "entropy"] == pytest.approx(stats.entropy(P, axis=1).mean())
    assert found["", "entropy_normalised"] == pytest.approx(stats.entropy(P, base=6, axis=1).mean())
    assert found["", "accuracy"] == pytest.approx(sk.accuracy_score(LABELS, P.argmax(axis=1)))
    top = np.sort(P, axis=1)
    assert found["", "top2_gap"] == pytest.approx((top[:, -1] - top[:, -2]).mean())


def test_calibration_errors_are_torchmetrics() -> None:
    torch = pytest.importorskip("torch")
    from torchmetrics.classification import MulticlassCalibrationError

    found = values(clean(ROWS, config(splits=2)).figures)
    for name, norm in (("ece", "l1"), ("mce", "max")):
        theirs = MulticlassCalibrationError(num_classes=6, n_bins=15, norm=norm)
        error = theirs(torch.from_numpy(P), torch.from_numpy(LABELS))
        assert found["", name] == pytest.approx(float(error), abs=1e-6)


def test_errors_of_equal_mass_are_those_of_equal_slices() -> None:
    found = values(clean(ROWS, config(splits=2, bins=10)).figures)
    right, confidence = P.argmax(axis=1) == LABELS, P.max(axis=1)
    slices = np.argsort(confidence).reshape(10, -1)
    gaps = [abs(right[each].mean() - confidence[each].mean()) for each in slices]
    assert found["", "ece_mass"] == pytest.approx(np.mean(gaps))
    assert found["", "mce_mass"] == pytest.approx(max(gaps))


def test_the_temperature_minimises_the_likelihood_of_the_calibration_half() -> None:
    logits = np.log(P) * 2.5
    answer = logits[np.arange(2 * HALF), LABELS]
    halves = np.random.RandomState(0).rand(5, 2 * HALF) < 0.5

    def nll(beta: float, half: np.ndarray) -> float:
        return float((special.logsumexp(beta * logits[half], axis=1) - beta * answer[half]).mean())

    for half, temperature in zip(halves, fit(logits, answer, halves), strict=True):
        best = optimize.minimize_scalar(nll, args=(half,), bounds=(0.05, 20), options={"xatol": 1e-9})
        assert temperature == pytest.approx(1 / best.x, rel=1e-4)


def test_ece_before_and_after_scaling_is_of_the_same_test_rows() -> None:
    """Bin by bin, on the test half of every split; the average over the splits is the figure."""
    settings = config(splits=4, bins=10)
    found = values(clean(ROWS, settings).figures)
    splits = group_splits(ROWS.groups, settings.calibration, settings.seed, settings.splits)
    logits = np.log(P)
    answer = logits[np.arange(len(P)), LABELS]
    calibrating = splits.calibrating()
    before: list[float] = []
    after: list[float] = []
    for half, temperature in zip(calibrating, fit(logits, answer, calibrating), strict=True):
        for errors, p in ((before, P), (after, special.softmax(logits / temperature, axis=1))):
            confidence, right = p[~half].max(axis=1), P[~half].argmax(axis=1) == LABELS[~half]
            bins = np.minimum((confidence * 10).astype(int), 9)
            gaps = [abs((right - confidence)[bins == each].sum()) for each in range(10)]
            errors.append(sum(gaps) / len(confidence))
    assert found["", "ece_test"] == pytest.approx(np.mean(before), abs=1e-9)
    assert found["", "ece_scaled"] == pytest.approx(np.mean(after), abs=1e-6)
    assert found["", "ece"] < found["", "ece_test"]


def test_a_split_without_an_error_leaves_the_others_their_temperatures() -> None:
    """It keeps the interval wide in which the roots of all splits are looked for."""
    logits = np.log(P) * 2.5
    answer = logits[np.arange(2 * HALF), LABELS]
    halves = np.random.RandomState(0).rand(6, 2 * HALF) < 0.5
    alone = fit(logits, answer, halves[:5])
    halves[5] = logits.max(axis=1) == answer
    assert fit(logits, answer, halves) == pytest.approx([*alone, 0.05], rel=2e-3)


def test_a_half_without_an_error_is_as_cold_as_may_be() -> None:
    logits = np.array([[0.0, 5.0]] * 20)
    assert fit(logits, logits[:, 1], np.ones((1, 20), dtype=bool)) == pytest.approx(0.05, rel=1e-3)
    assert fit(logits, logits[:, 0], np.ones((1, 20), dtype=bool)) == pytest.approx(20, rel=1e-3)


def test_selective_prediction_by_hand() -> None:
    order = np.argsort(-P.max(axis=1))
    right = (P.argmax(axis=1) == LABELS)[order]
    found = values(clean(ROWS, config(splits=2)).figures)
    risks = [1 - right[: k + 1].mean() for k in range(len(right))]
    assert found["", "aurc"] == pytest.approx(np.mean(risks))
    for percent in (50, 80, 90):
        kept = len(right) * percent // 100
        assert found["", f"selective_accuracy_{percent}"] == pytest.approx(right[:kept].mean())


def test_answer_bias_by_hand() -> None:
    found = values(clean(ROWS, config(splits=2)).figures)
    chosen = np.bincount(P.argmax(axis=1), minlength=6) / len(P)
    right = np.bincount(LABELS, minlength=6) / len(P)
    assert found["", "chosen_share_C"] == pytest.approx(chosen[2])
    assert found["", "correct_share_C"] == pytest.approx(right[2])
    assert found["", "letter_bias"] == pytest.approx(np.abs(chosen - right).sum() / 2)
