"""Distances between datasets: closed forms, an independent computation, too few items, and the trend."""

import numpy as np
import pyarrow as pa
import pytest
from scipy.linalg import sqrtm
from scipy.stats import spearmanr

from vouch.metrics.comparison.datasets import Cloud, Gaussian, cloud, distance, distances, gaussian, trends
from vouch.pipeline.errors import UserError
from vouch.tables.results import EMBEDDINGS, IMAGES


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
