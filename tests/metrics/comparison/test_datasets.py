"""Distances between datasets, trends of rankings, and thresholds carried over, against closed forms and simulation."""

import numpy as np
import pyarrow as pa
import pytest
from scipy.linalg import sqrtm
from scipy.stats import norm, spearmanr
from sklearn.linear_model import LogisticRegression

import vouch
from vouch.metrics.comparison.datasets import (
    CALIBRATION,
    SPLITS,
    Cloud,
    Gaussian,
    cloud,
    distance,
    distances,
    gaussian,
    item_vectors,
    transfers,
    trends,
)
from vouch.metrics.conformal.sets import density_ratio, exact_rank, group_splits, weighted_thresholds
from vouch.pipeline.errors import UserError
from vouch.tables.embedded import EMBEDDINGS, IMAGES
from vouch.tables.results import LABEL_FREE, OUTCOMES, TRANSFER


def sample(seed: int, count: int, width: int, shift: float = 0.0) -> np.ndarray:
    generator = np.random.default_rng(seed)
    mixed: np.ndarray = generator.normal(size=(count, width)) @ generator.normal(size=(width, width)) + shift
    return mixed


def of(vectors: np.ndarray) -> Gaussian:
    return gaussian(vectors, np.ones(len(vectors)))


def clouds(**vectors: np.ndarray) -> dict[tuple[str, str], Cloud]:
    return {(IMAGES, name): Cloud("one", each, np.ones(len(each))) for name, each in vectors.items()}


@pytest.mark.parametrize(("first", "second"), [(200, 150), (12, 200), (9, 7)])
def test_the_matrix_square_root_of_scipy_agrees(first: int, second: int) -> None:
    """Also where there are fewer items than numbers, so that the covariances are singular."""
    one, other = sample(0, first, 20), sample(1, second, 20, shift=0.5)
    covariances = [np.cov(each, rowvar=False) for each in (one, other)]
    root = sqrtm(covariances[0] @ covariances[1])
    apart = ((one.mean(axis=0) - other.mean(axis=0)) ** 2).sum()
    expected = apart + np.trace(covariances[0] + covariances[1] - 2 * np.real(root))
    assert distance(of(one), of(other)) == pytest.approx(expected, rel=1e-5)


def test_closed_forms() -> None:
    """One number: (m1 - m2)^2 + (s1 - s2)^2. The same data: 0. Turned: as far as before."""
    one, other = sample(2, 50, 1), sample(3, 40, 1, shift=2)
    expected = (one.mean() - other.mean()) ** 2 + (one.std(ddof=1) - other.std(ddof=1)) ** 2
    assert distance(of(one), of(other)) == pytest.approx(expected)
    many, far = sample(4, 60, 8), sample(5, 60, 8)
    assert distance(of(many), of(many)) == pytest.approx(0, abs=1e-9 * many.var() * 60)
    assert distance(of(many), of(many + 3)) == pytest.approx(8 * 9)
    turn = np.linalg.qr(sample(6, 8, 8))[0]
    assert distance(of(many @ turn), of(far @ turn)) == pytest.approx(distance(of(many), of(far)))
    assert distance(of(far), of(many)) == pytest.approx(distance(of(many), of(far)))


def test_a_picture_counts_as_often_as_items_show_it() -> None:
    vectors, times = sample(7, 30, 4), np.random.default_rng(8).integers(1, 5, 30)
    weighted, repeated = gaussian(vectors, times.astype(float)), of(np.repeat(vectors, times, axis=0))
    np.testing.assert_allclose(weighted.mean, repeated.mean)
    np.testing.assert_allclose(weighted.root, repeated.root, atol=1e-9)


def test_chance_tells_a_distance_from_none() -> None:
    """Halves of one cloud are as far apart as chance puts them; another cloud is farther."""
    whole = sample(9, 400, 10)
    rows = distances(clouds(a=whole[:200], b=whole[200:], c=sample(10, 200, 10, shift=3)), seed=1)
    near, *far = rows
    assert near["distance"] == pytest.approx(near["chance"], rel=0.3)
    assert all(row["distance"] > 5 * row["chance"] for row in far)
    assert not any(row["deficient"] for row in rows)
    few, *_ = distances(clouds(a=whole[:8], b=whole[200:]), seed=1)
    assert few["deficient"] and few["chance"] > 5 * near["chance"]
    (single,) = distances(clouds(a=whole[:1], b=whole[200:]), seed=1)
    assert single["deficient"] and single.get("distance") is None


def test_tables_that_do_not_fit_are_refused() -> None:
    rows = [{"digest": str(n), "items": 1, "encoder": "one", "embedding": [0.0] * (2 + n)} for n in range(2)]
    table = pa.Table.from_pylist(rows, schema=EMBEDDINGS.schema)
    assert cloud(table.slice(0, 0), "here") is None
    with pytest.raises(UserError, match="here: embeddings of several"):
        cloud(table, "here")
    found = clouds(a=sample(0, 9, 2), b=sample(1, 9, 2))
    found[IMAGES, "b"] = Cloud("two", np.zeros((9, 2)), np.ones(9))
    with pytest.raises(UserError, match="a and b differ in the encoder"):
        distances(found, seed=1)


def test_the_trend_is_that_of_scipy_and_p_permutes_datasets() -> None:
    names = "abcd"
    pairs = [(one, other) for at, one in enumerate(names) for other in names[at + 1 :]]
    far = [1.0, 2.0, 6.0, 1.5, 5.0, 4.0]
    alike = [0.9, 0.8, 0.1, 0.7, 0.3, 0.5]
    apart = [
        {"of": IMAGES, "dataset": a, "other": b, "distance": d} for (a, b), d in zip(pairs, far, strict=True)
    ]
    lines = [
        {"output": "letters", "ranker": "accuracy_on_the_line", "dataset": a, "proxy": b, "rho": rho}
        for pair, rho in zip(pairs, alike, strict=True)
        for a, b in (pair, pair[::-1])
    ]
    (row,) = trends(apart, lines, seed=1)
    assert row["rho"] == pytest.approx(spearmanr(far, alike).statistic) and row["pairs"] == 6
    # Of the 24 orders of four datasets one other orders the pairs as well: a and b exchanged.
    assert row["p"] == pytest.approx(2 / 24)
    assert trends(apart[:1], lines, seed=1) == [{"of": IMAGES, "output": "letters", "pairs": 1}]


ALPHA = 0.1


def test_the_density_ratio_is_the_odds_of_a_logistic_regression() -> None:
    random = np.random.default_rng(0)
    source, target = random.normal(0, [1, 5, 0, 1], (300, 4)), random.normal([0.5, 1, 0, 0], 1, (120, 4))
    target[:, 2] = 0  # a column that never varies
    rows = np.concatenate([source, target])
    scaled = (rows - rows.mean(axis=0)) / np.where(rows.std(axis=0) > 0, rows.std(axis=0), 1)
    fitted = LogisticRegression(C=1.0, tol=1e-10, max_iter=1000).fit(scaled, np.arange(420) >= 300)
    odds = np.exp(fitted.decision_function(scaled)) * 300 / 120
    assert np.concatenate(density_ratio(source, target)) == pytest.approx(odds, rel=1e-4)


def test_weighted_thresholds_are_those_of_the_formula() -> None:
    random = np.random.default_rng(1)
    scores, weights, new = random.random(40).round(1), random.exponential(size=40), random.exponential(size=9)
    for weight, threshold in zip(new, weighted_thresholds(scores, weights, new, ALPHA), strict=True):
        mass = {s: weights[scores <= s].sum() / (weights.sum() + weight) for s in scores}
        assert threshold == min((s for s, p in mass.items() if p >= 1 - ALPHA), default=np.inf)
    for number in (5, 9, 19, 40, 99):
        plain, rank = random.random(number), exact_rank(number, ALPHA)
        expected = np.sort(plain)[rank - 1] if rank <= number else np.inf
        assert weighted_thresholds(plain, np.ones(number), np.ones(1), ALPHA)[0] == expected


def coverage(seed: int, weighted: bool, harder: float) -> float:
    """Of scores |x| + noise, calibrated on x ~ N(0, 1), for x ~ N(1, 1); `harder` adds to the new scores alone."""
    random = np.random.default_rng(seed)
    x, new = random.normal(0, 1, 400), random.normal(1, 1, 400)
    scores, found = (np.abs(each) + 0.3 * random.random(400) for each in (x, new))
    ratio = [norm.pdf(each, 1) / norm.pdf(each) if weighted else np.ones(400) for each in (x, new)]
    return float((found + harder <= weighted_thresholds(scores, *ratio, ALPHA)).mean())


@pytest.mark.parametrize("scale", [1, 20, 60, 300])
def test_without_a_shift_the_sets_are_those_of_lac_where_probabilities_vanish(scale: float) -> None:
    random = np.random.default_rng(4)
    logits, same = scale * random.normal(size=(500, 5)), np.zeros((500, 1))
    answers = np.argsort(-logits, axis=1)[
        np.arange(500), random.choice(5, 500, p=[0.7, 0.15, 0.1, 0.03, 0.02])
    ]
    weighted = vouch.weighted_sets(logits, answers, same, logits, same)
    plain = vouch.prediction_sets(logits, answers, splits=2)
    assert (weighted.sets == plain.sets).all()
    assert weighted.thresholds == pytest.approx(np.full(500, plain.threshold), abs=1e-12)
    assert 0.9 <= vouch.coverage(plain.sets, answers).value < 0.92


def test_weights_mend_a_shift_of_the_covariates_and_no_other() -> None:
    means = {
        (weighted, harder): np.mean([coverage(seed, weighted, harder) for seed in range(400)])
        for weighted in (False, True)
        for harder in (0.0, 1.0)
    }
    assert means[False, 0.0] < 0.8
    assert 1 - ALPHA - 0.005 < means[True, 0.0] < 1 - ALPHA + 0.03
    assert means[True, 1.0] < 0.8  # the answer follows otherwise from the covariates: nothing holds


def tables(
    random: np.random.Generator, place: tuple[str, str], questions: int, doubt: float = 0.5
) -> tuple[pa.Table, pa.Table]:
    """Outcomes and probabilities of one model on one dataset, two questions a group."""
    model, dataset = place
    p = random.dirichlet(np.full(3, doubt), questions)
    answers = np.array([random.choice(3, p=row) for row in p])
    rows = [
        {"model": model, "dataset": dataset, "prompt": f"{dataset}{i}/original", "output": "letters"}
        | {"group": f"{dataset}{i // 2}"}
        for i in range(questions)
    ]
    outcomes = [
        row
        | {"item": f"{dataset}{i}", "variation": "original", "confidence": p[i].max()}
        | {"clean_correct": float(p[i].argmax() == answers[i])}
        for i, row in enumerate(rows)
    ]
    scores = [
        row | {"answers": [int(answers[i])], "probabilities": p[i].tolist()} for i, row in enumerate(rows)
    ]
    return pa.Table.from_pylist(outcomes, OUTCOMES.schema), pa.Table.from_pylist(scores, LABEL_FREE.schema)


def test_a_transfer_equals_its_definition_step_by_step() -> None:
    random = np.random.default_rng(2)
    made = {place: tables(random, place, 60) for place in (("m", "one"), ("m", "two"), ("n", "one"))}
    outcomes, scores = (pa.concat_tables(each) for each in zip(*made.values(), strict=True))
    vectors = {"images": {d: {f"{d}{i}": random.random(2) for i in range(60)} for d in ("one", "two")}}
    rows = list(transfers(outcomes, scores, vectors, ALPHA, 7))
    pa.Table.from_pylist(rows, TRANSFER.schema)
    found = {(r["from_model"], r["from_dataset"], r["model"], r["dataset"], r["weighting"]): r for r in rows}
    assert len(found) == len(rows) == 3 + 2 + 2 + 2  # at home, between datasets, weighted, between models
    first, second = (made["m", name][1].to_pylist() for name in ("one", "two"))
    lac = [[1 - row["probabilities"][row["answers"][0]] for row in side] for side in (first, second)]
    groups = np.unique([row["group"] for row in [*first, *second]], return_inverse=True)[1]
    shares, sizes = [], []
    for split in group_splits(groups, CALIBRATION, 7, SPLITS):
        known = sorted(np.array(lac[0])[split[:60]])
        limit = known[exact_rank(len(known), ALPHA) - 1]
        shares.append(
            np.mean([score <= limit for score, seen in zip(lac[1], split[60:], strict=True) if not seen])
        )
        tested = [row["probabilities"] for row, seen in zip(second, split[60:], strict=True) if not seen]
        sizes.append(np.mean([sum(1 - p <= limit for p in row) for row in tested]))
    row = found["m", "one", "m", "two", "none"]
    assert (row["coverage"], row["set_size"]) == pytest.approx((np.mean(shares), np.mean(sizes)))
    assert found["m", "one", "m", "two", "images"]["effective"] < row["effective"]


def test_answers_given_alone_elsewhere_are_those_above_the_stated_threshold() -> None:
    random = np.random.default_rng(3)
    made = {
        ("m", name): tables(random, ("m", name), 400, doubt) for name, doubt in (("one", 0.03), ("two", 0.5))
    }
    outcomes, scores = (pa.concat_tables(each) for each in zip(*made.values(), strict=True))
    rows = {(row["from_dataset"], row["dataset"]): row for row in transfers(outcomes, scores, {}, ALPHA, 7)}
    home, away = rows["one", "one"], rows["one", "two"]
    assert home["threshold"] == away["threshold"] > 0.5 and "threshold" not in rows["two", "one"]
    given = [row for row in made["m", "two"][0].to_pylist() if row["confidence"] >= away["threshold"]]
    wrong = np.mean([row["clean_correct"] == 0 for row in given])
    assert (away["answered"], away["wrong"]) == pytest.approx((len(given) / 400, wrong)) and given


def test_items_have_the_mean_of_their_pictures() -> None:
    items = pa.table({"id": ["a"], "images": [["x", "y"]], "question": ["?"]})
    made = [{"digest": name, "items": 1, "embedding": [v, 0.0]} for name, v in (("x", 1.0), ("y", 3.0))]
    images = pa.Table.from_pylist(made, EMBEDDINGS.schema)
    found = item_vectors(items, images, EMBEDDINGS.schema.empty_table())
    assert {kind: {name: row.tolist() for name, row in of.items()} for kind, of in found.items()} == {
        "images": {"a": [2.0, 0.0]}
    }
