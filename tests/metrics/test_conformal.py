"""Every nonconformity score by hand, with equals, and the properties that all of them have."""

import tracemalloc
from dataclasses import replace
from decimal import Decimal, localcontext
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy import stats

from tests.metrics.simulated import by_name, config, simulate, values
from vouch.metrics.calibration import sureness
from vouch.metrics.conformal.figures import Calibrations, rows_of
from vouch.metrics.conformal.scores import SCORES as FORMULAS
from vouch.metrics.conformal.scores import Settings, order_of, score_values
from vouch.metrics.conformal.sets import group_splits
from vouch.metrics.metric import Figure
from vouch.metrics.protocols import clean
from vouch.metrics.responses import Responses, rank, uniform
from vouch.tables import HEADLINE

SCORES = list(FORMULAS)
STRATA = ["marginal", "class", "category", "options"]
SETTINGS: Settings = {"raps": {"penalty": 0.1, "k_reg": 1}, "saps": {"penalty": 0.25}}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("lac", [0.5, 0.8, 0.8, 0.9]),
        ("aps", [0.5, 0.9, 0.9, 1]),
        ("aps_crossing", [0, 0.5, 0.5, 0.9]),
        ("aps_randomised", [0.25, 0.7, 0.7, 0.95]),
        ("margin", [0.2 - 0.5, 0.3, 0.3, 0.4]),
        ("margin_literal", [0.3, 0.3, 0.3, 0.3]),
        ("raps", [0.25, 0.7 + 0.1, 0.7 + 0.1, 0.95 + 0.3]),
        ("saps", [0.25, 0.5 + 0.5 * 0.25, 0.5 + 0.5 * 0.25, 0.5 + 2.5 * 0.25]),
    ],
)
def test_scores_by_hand(name: str, expected: list[float]) -> None:
    logits = np.log(np.array([[0.2, 0.5, 0.1, 0.2]]))
    base = replace(simulate(0, 1, 4), logits=logits, noise=np.array([0.5]))
    ranked = rank(base)
    assert ranked.letters[0, [0, 3]].tolist() == [1, 2]
    order = order_of(name, SETTINGS)(ranked)[0]
    assert score_values(name, order, SETTINGS) == pytest.approx(expected)


def parameter(score: str, name: str, settings: Settings) -> float:
    """A parameter as it is set, else its default."""
    return settings.get(score, {}).get(name, FORMULAS[score].parameters[name].default)


@cache
def exact_probabilities(logits: tuple[float, ...], digits: int) -> list[Decimal]:
    with localcontext(prec=digits):
        weights = [Decimal(each).exp() for each in logits]
        return [weight / sum(weights) for weight in weights]


def exactly(name: str, p: list[Decimal], u: float, settings: Settings) -> list[Decimal]:
    """The scores of a row's letters in the digits of the context."""
    scores_of_row = []
    for k, own in enumerate(p):
        others, rank = p[:k] + p[k + 1 :], 1 + sum(each > own for each in p)
        before, tied = sum((x for x in p if x > own), Decimal(0)), sum(x for x in p if x == own)
        randomised = before + Decimal(u) * tied
        if name == "saps":
            step = Decimal(parameter("saps", "penalty", settings))
            scores_of_row.append(Decimal(u) * own if rank == 1 else max(p) + (rank - 2 + Decimal(u)) * step)
            continue
        extra = Decimal(parameter("raps", "penalty", settings)) * max(
            rank - parameter("raps", "k_reg", settings), 0
        )
        formulas = {
            "lac": 1 - own,
            "aps": 1 - sum((x for x in p if x < own), Decimal(0)),
            "aps_crossing": before,
            "aps_randomised": randomised,
            "margin": max(others, default=Decimal(0)) - own,
            "margin_literal": max(p) - max(p[: (top := p.index(max(p)))] + p[top + 1 :], default=Decimal(0)),
            "raps": randomised + extra,
        }
        assert name in formulas, (
            f"write the formula of {name} here, in `exactly`, and a row of it by hand above"
        )
        scores_of_row.append(formulas[name])
    return scores_of_row


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize(
    ("scale", "settings"),
    [
        (0.1, {}),
        (5, {"raps": {"penalty": 0}, "saps": {"penalty": 0}}),
        (20, {}),
        (60, {}),
        (60, {"raps": {"penalty": 0.01, "k_reg": 4}, "saps": {"penalty": 0}}),
        (60, {"raps": {"penalty": 1000, "k_reg": 0}, "saps": {"penalty": 1e-3}}),
        (300, {"raps": {"penalty": 0}}),
    ],
)
def test_order_holds_where_probabilities_vanish(name: str, scale: float, settings: Settings) -> None:
    """At every rank of the threshold the sets are those of exact arithmetic."""
    rng, rows = np.random.default_rng(5), 30 if scale < 100 else 8
    logits = scale * rng.normal(size=(rows, 5))
    logits[::7, 1] = logits[::7, 2]
    noise = rng.random(rows)
    answer = np.take_along_axis(
        np.argsort(-logits, axis=1), rng.choice(5, (rows, 1), p=[0.4, 0.2, 0.2, 0.1, 0.1]), 1
    )
    digits = 60 + int(5 * scale)
    p = [exact_probabilities(tuple(row), digits) for row in logits.tolist()]
    with localcontext(prec=digits):
        exact = [exactly(name, row, u, settings) for row, u in zip(p, noise, strict=True)]
        of_answers = sorted(row[int(k)] for row, (k,) in zip(exact, answer, strict=True))
        wanted = [[[s <= q for s in row] for row in exact] for q in of_answers]
    right = answer == np.arange(5)
    base = replace(simulate(0, rows, 5), logits=logits, answers=right, noise=noise)
    ranked = rank(base)
    order = order_of(name, settings)(ranked)
    limits = np.sort(np.where(ranked.answers, order, np.inf).min(axis=1))
    sets_made = np.zeros((rows, 5), dtype=bool)
    for limit, sets in zip(limits, wanted, strict=True):
        np.put_along_axis(sets_made, ranked.letters.astype(int), order <= limit, axis=1)
        assert sets_made.tolist() == sets


@pytest.mark.parametrize("scale", [1, 60, 400])
def test_confidence_is_ordered_where_it_rounds_to_one(scale: float) -> None:
    """The surer a row the larger its sureness, in exact arithmetic, so AUROC has no ties."""
    rng = np.random.default_rng(2)
    logits = scale * rng.normal(size=(40, 4))
    with localcontext(prec=60):
        weights = [sorted(Decimal(each).exp() for each in row) for row in logits.tolist()]
        exact = [float(-(sum(row[:-1]) / sum(row)).ln()) for row in weights]
    uncertain = sureness(logits)
    assert uncertain == pytest.approx(np.array(exact), rel=1e-12)
    order = np.argsort(uncertain)
    rows = replace(simulate(0, 40, 4), logits=logits, answers=np.eye(4, dtype=bool)[logits.argmax(axis=1)])
    rows.answers[order[:9]] = np.eye(4, dtype=bool)[logits.argmin(axis=1)][order[:9]]
    figures = values(clean(rows, config(splits=2)).figures)
    assert figures["", "auroc"] == 1, "the nine least sure are the wrong ones"
    gaps = np.sort(logits, axis=1)
    nll = np.where(np.isin(np.arange(40), order[:9]), gaps[:, -1] - gaps[:, 0], 0) + np.log1p(
        np.exp(gaps[:, :-1] - gaps[:, -1:]).sum(axis=1)
    )
    assert figures["", "nll"] == pytest.approx(nll.mean()), "beyond 708 nats, too"


def test_the_noise_hangs_on_the_item_alone() -> None:
    names = [f"item {number}" for number in range(4000)]
    noise = uniform(names)
    assert uniform(names[::-1]).tolist() == noise[::-1].tolist()
    assert stats.kstest(noise, "uniform").pvalue > 0.01


def coverage(score: str, splits: int, rows: Responses, share: float = 0.5) -> np.ndarray:
    """[splits] how many test rows the unfilled sets of the score cover."""
    asked = config(scores=list(dict.fromkeys(["lac", "aps", score])))
    drawn = group_splits(rows.groups, share, 7, splits)
    calibrations = Calibrations(rows_of(rows, rows.noise, asked.scores, asked.parameters), drawn)
    counts = calibrations.of(calibrations.rows.strata("marginal"), 0.1)[score].counts
    return np.asarray((counts.counted * counts.covered * (1 - counts.empty)).sum(axis=1))


@pytest.mark.parametrize("score", [name for name in SCORES if name not in ("aps", "aps_crossing")])
def test_coverage_follows_the_exact_law(score: str) -> None:
    """With m calibrating and t test rows the covered ones are beta-binomial (Vovk 2012, Marques 2025).

    Every split is a draw of fresh, independent rows: 2,000 disjoint pieces of 60 rows.
    """
    m, t, draws = 39, 21, 2000
    rows = simulate(1, draws * (m + t), step=1e-9, dtype=np.float64)
    asked = config(scores=list(dict.fromkeys(["lac", "aps", score])))
    scores = rows_of(rows, rows.noise, asked.scores, asked.parameters)
    answer = scores.answers[score].reshape(draws, m + t)
    r = int(np.ceil((m + 1) * 0.9 - 1e-9))
    limits = np.sort(answer[:, :m], axis=1)[:, r - 1]
    covered = (answer[:, m:] <= limits[:, None]).sum(axis=1)
    law = stats.betabinom(t, r, m + 1 - r)
    seen = np.bincount(covered, minlength=t + 1)
    expected = law.pmf(np.arange(t + 1)) * draws
    few = expected.cumsum().searchsorted(5) + 1  # pools the tail, so that no cell expects fewer than five
    pooled = [np.r_[each[:few].sum(), each[few:]] for each in (seen, expected)]
    assert stats.chisquare(*pooled).pvalue > 1e-3


def test_whole_groups_cover_as_promised_and_torn_ones_differ() -> None:
    base = simulate(3, 300, step=1e-9, dtype=np.float64)
    rows = base.take(np.repeat(np.arange(300), 4))
    means = []
    for seed in range(60):
        drawn = replace(rows, groups=np.random.RandomState(seed).permutation(300).repeat(4))
        means.append(coverage("lac", 20, drawn).mean() / 600)
    error = np.std(means) / np.sqrt(len(means))
    # copies of one row have one score: m groups calibrate as m rows of four copies
    m = 150
    exact = np.ceil((4 * m + 1) * 0.9) / 4
    assert abs(np.mean(means) - np.ceil(exact) / (m + 1)) < 3 * error + 1 / 600


def of_kind(figures: list[Figure], kind: str, score: str, metric: str) -> Figure:
    return next(f for f in figures if (f.calibration, f.score, f.metric) == (kind, score, metric))


def test_each_stratum_is_calibrated_on_its_own() -> None:
    base = simulate(5, 1200, step=1e-9, dtype=np.float64)
    sure = np.arange(1200) % 2 == 0
    rows = replace(
        base,
        logits=np.where(sure[:, None], base.logits + 4 * base.answers, base.logits),
        categories=sure.astype(np.int64),
        options=np.where(sure, 6, 5),
    )
    figures = clean(rows, config(scores=SCORES, strata=STRATA, splits=50)).figures
    for kind in STRATA:
        assert of_kind(figures, kind, "lac", "unfilled_coverage").value == pytest.approx(0.9, abs=0.02)
    apart = [clean(rows.take(rows.categories == k), config(splits=50)).figures for k in (0, 1)]
    mean = np.mean([of_kind(each, "marginal", "lac", "set_size").value for each in apart])
    assert of_kind(figures, "category", "lac", "set_size").value == pytest.approx(mean, abs=0.1)
    assert of_kind(figures, "marginal", "lac", "set_size").value != pytest.approx(mean, abs=0.1)
    assert of_kind(figures, "options", "lac", "set_size") == replace(
        of_kind(figures, "category", "lac", "set_size"), calibration="options"
    )


def test_class_conditional_sets_cover_every_letter() -> None:
    base = simulate(6, 3000, step=1e-9, dtype=np.float64)
    weak = base.logits.copy()
    weak[:, 0] -= 1.5  # answers at A are missed by one threshold for all
    rows = replace(base, logits=weak)
    asked = config(strata=STRATA)
    drawn = group_splits(rows.groups, 0.5, 0, 20)
    calibrations = Calibrations(rows_of(rows, rows.noise, asked.scores, asked.parameters), drawn)
    at_a = rows.answers[:, 0]
    covered = {}
    for kind in ("marginal", "class"):
        threshold = calibrations.of(calibrations.rows.strata(kind), 0.1)["lac"]
        _, means = threshold.membership.row_means(drawn)
        covered[kind] = means[at_a & (drawn.tests > 0)].mean()
    assert covered["class"] == pytest.approx(0.9, abs=0.02)
    assert covered["marginal"] < 0.87


def test_too_small_a_stratum_is_counted() -> None:
    rows = replace(simulate(7, 120), categories=(np.arange(120) < 6).astype(np.int64))
    figures = clean(rows, config(strata=STRATA)).figures
    assert of_kind(figures, "category", "", "infinite_threshold_rate").value == 0.5
    assert of_kind(figures, "marginal", "", "infinite_threshold_rate").value == 0


def test_a_single_stratum_is_the_marginal_one() -> None:
    figures = clean(simulate(8, 80), config(strata=STRATA)).figures
    assert {figure.calibration for figure in figures} == {"", "marginal", "class"}


def test_margin_tells_where_its_threshold_is_negative() -> None:
    base = simulate(9, 200, step=1e-9, dtype=np.float64)
    sure = replace(base, logits=base.logits + 30.0 * base.answers)
    asked = config(scores=["lac", "aps", "margin"])
    assert values(clean(sure, asked).figures)["margin", "negative_threshold_rate"] == 1
    assert values(clean(sure, asked).figures)["margin", "threshold"] < 0
    assert values(clean(base, asked).figures)["margin", "negative_threshold_rate"] == 0


def test_several_alphas_and_shares_stand_beside_the_main_ones() -> None:
    rows = simulate(10, 300)
    figures = clean(rows, config(alpha=[0.1, 0.2], shares=[0.1, 0.5])).figures
    plain = by_name(clean(rows, config(alpha=0.2)).figures)
    sizes = {f.alpha: f for f in figures if (f.score, f.metric) == ("lac", "set_size")}
    assert sizes[0.2] == plain["lac", "set_size"] and sizes[0.1].value > sizes[0.2].value
    named = by_name(figures)
    assert named["lac", "coverage_calibrated_on_50"].value == next(
        f.value for f in figures if (f.score, f.metric, f.alpha) == ("lac", "coverage", 0.1)
    )
    assert named["aps", "set_size_calibrated_on_10"].items == 300
    tenth = by_name(clean(rows, config(calibration=0.1)).figures)
    for score in ("lac", "aps", "mean"):
        for metric in ("coverage", "set_size"):
            found = named[score, f"{metric}_calibrated_on_10"]
            assert replace(found, metric=metric) == tenth[score, metric] != named[score, metric]


@cache
def figures_of(seed: int, alpha: float) -> dict[tuple[str, str], float]:
    return values(clean(simulate(seed, 60, step=0.5), config(alpha=alpha, scores=SCORES, splits=5)).figures)


@settings(max_examples=15)
@given(st.integers(0, 9), st.sampled_from([0.1, 0.2, 0.3]), st.sampled_from([0.4, 0.6]))
def test_sets_are_nested_in_alpha(seed: int, low: float, high: float) -> None:
    for score in SCORES:
        wide, narrow = (figures_of(seed, alpha) for alpha in (low, high))
        assert narrow[score, "unfilled_coverage"] <= wide[score, "unfilled_coverage"]
        assert narrow[score, "set_size"] <= wide[score, "set_size"] + 1e-12 + narrow[score, "empty_rate"]


@settings(max_examples=15)
@given(st.integers(0, 2**16))
def test_a_copy_of_an_item_in_its_group_moves_no_mean_of_rows_twice(seed: int) -> None:
    """Every item twice in its own group: all means stay, and intervals do not shrink."""
    rows = simulate(seed, 40)
    twice = rows.take(np.repeat(np.arange(40), 2))
    once, doubled = (by_name(clean(each, config(splits=2)).figures) for each in (rows, twice))
    for metric in ("accuracy", "brier", "nll", "entropy", "ece", "mce", "auroc", "letter_bias", "top2_gap"):
        if ("", metric) in once:
            before, after = once["", metric], doubled["", metric]
            assert after.value == pytest.approx(before.value, abs=1e-12)
            assert (after.low is None) == (before.low is None)
            if before.low is not None:
                assert (after.low, after.high) == pytest.approx((before.low, before.high), abs=1e-9)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"scores": ["lac", "aps", "rasp"]}, "unknown name rasp; did you mean raps"),
        ({"strata": ["marginal", "classes"]}, "unknown name classes; did you mean class"),
        ({"scores": ["lac"]}, "aps is missing"),
        ({"strata": ["class"]}, "marginal is missing"),
        ({"strata": ["marginal", "marginal"]}, "marginal is a duplicate; name it once"),
        ({"alpha": [0.1, 0.1]}, "0.1 is a duplicate; name it once"),
        ({"parsers": ["reeder"]}, "unknown name reeder; .*reader"),
        ({"parsers": ["reader", "reader"]}, "reader is a duplicate; name it once"),
        ({"answers": {"d": ["anl"]}}, "unknown name anl; .*anls"),
    ],
)
def test_settings_that_do_not_fit_are_refused(changes: dict[str, object], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        config(**changes)


def test_sets_of_a_million_rows_take_less_than_three_times_their_logits() -> None:
    rows = simulate(7, 1_000_000)
    assert rows.logits.dtype == np.float32
    tracemalloc.start()
    splits = group_splits(rows.groups, 0.5, 42, 100)
    calibrations = Calibrations(rows_of(rows, np.zeros(len(rows), dtype=bool), HEADLINE, {}), splits)
    calibrations.of(calibrations.rows.strata("marginal"), 0.1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * rows.logits.nbytes
