"""The published tables come out of the faithful protocol, all 26 models and 14 metrics on two datasets."""

from dataclasses import replace

import numpy as np
import pytest

from tests.metrics.reference_loop import network_argsort
from tests.metrics.released import block, models, needs_oodcv, needs_released, published
from tests.metrics.simulated import config, labels_of, values
from vouch.metrics.calibration import softmax
from vouch.metrics.comparison.leaderboard import NAMES
from vouch.metrics.conformal.figures import Calibrations, rows_of
from vouch.metrics.conformal.sets import group_splits
from vouch.metrics.protocols import clean, faithful
from vouch.metrics.responses import descending

pytestmark = needs_released


@pytest.mark.parametrize("dataset", ["mmbench", pytest.param("oodcv", marks=needs_oodcv)])
def test_every_published_cell_comes_out(dataset: str) -> None:
    ours = {
        model: values(faithful(block(model, dataset).responses, config()).figures)
        for model in models(dataset)
    }
    gaps = {
        (model, metric): abs(ours[model][NAMES[metric]] - value)
        for model, metric, value in published(dataset)
    }
    assert len(gaps) == 364
    assert {cell: gap for cell, gap in gaps.items() if gap > 1e-6} == {}
    counted = [gap for (_, metric), gap in gaps.items() if metric not in ("ece", "mce")]
    assert max(counted) < 1e-15


def test_the_leak_and_the_defects_are_counted() -> None:
    responses = block("llava-v1.6-vicuna-13b").responses
    leaky = values(faithful(responses, config()).figures)
    assert leaky["", "sibling_share"] == pytest.approx(0.865, abs=5e-4)
    assert leaky["", "groups"] == 1176
    sound = values(clean(responses, config()).figures)
    assert sound["", "rows_dropped"] == 33
    assert sound["lac", "coverage"] == pytest.approx(0.9, abs=0.005)


def test_whole_groups_spread_the_coverage_that_torn_ones_hide() -> None:
    """Over 1,000 splits of 4,377 rows in 1,176 groups; of single rows about .0090, by the law of ranks."""
    responses = block("llava-v1.6-vicuna-13b").responses
    spread = {}
    for label, groups in (("group", responses.groups), ("row", np.arange(len(responses)))):
        rows = replace(responses, groups=groups)
        drawn = group_splits(groups, 0.5, 7, 1000)
        calibrations = Calibrations(rows_of(rows, rows.noise, config().scores, config().parameters), drawn)
        counts = calibrations.of(calibrations.rows.strata("marginal"), 0.1)["lac"].counts
        covered = (counts.counted * counts.covered * (1 - counts.empty)).sum(axis=1) / counts.counted.sum(
            axis=1
        )
        spread[label] = covered.std()
        assert abs(covered.mean() - 0.9) < 3 * covered.std() / np.sqrt(1000)
    assert spread["group"] == pytest.approx(0.0154, abs=0.0008)
    assert spread["row"] == pytest.approx(0.0090, abs=0.0003)


def test_the_network_orders_released_rows_as_numpy_does() -> None:
    tied = 0
    for model in ("internlm-xcomposer2-7b", "Monkey-Chat", "Qwen-VL"):
        responses = block(model).responses
        p = np.ascontiguousarray(softmax(responses.logits))
        theirs = np.argsort(p, axis=1)
        if (theirs == np.argsort(p, axis=1, kind="stable")).all():
            pytest.skip("numpy sorts stably on this CPU")
        tied += int((np.diff(np.sort(p, axis=1), axis=1) == 0).any(axis=1).sum())
        _, marks = descending(p, responses.answers)
        ranks = theirs[:, ::-1]
        answer = np.array(labels_of(responses))[:, None]
        assert ((ranks == answer) == marks).all()
        assert all(network_argsort(row) == list(order) for row, order in zip(p, theirs, strict=True))
    assert tied > 5000
