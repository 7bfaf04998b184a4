"""Sets and metrics against MAPIE, torchmetrics, scikit-learn and scipy."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from mapie.classification import SplitConformalClassifier
from mapie.conformity_scores import APSConformityScore, LACConformityScore, RAPSConformityScore
from scipy import optimize, special, stats
from sklearn import metrics as sk

from tests.metrics.given import Given
from tests.metrics.simulated import config, simulate, values
from vouch.metrics.calibration import fit
from vouch.metrics.conformal.figures import Calibrations, Rows, rows_of
from vouch.metrics.conformal.scores import Settings, score_values
from vouch.metrics.conformal.sets import SetMembership, Splits, group_splits, set_membership
from vouch.metrics.protocols import clean
from vouch.metrics.responses import Ranked, Responses

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


def sets_of(rows: Rows, score: str, threshold: float) -> SetMembership:
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
    assert found["", "right_share_C"] == pytest.approx(right[2])
    assert found["", "letter_bias"] == pytest.approx(np.abs(chosen - right).sum() / 2)
