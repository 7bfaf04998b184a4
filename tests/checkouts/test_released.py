"""The main job on real input: the logits of 26 published models through `vouch use released`."""

import csv
import json

import pytest

from tests.checkouts.checkout import SHARED, Checkout

RELEASED = SHARED / "reference/vlm-uncertainty-bench"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not RELEASED.exists(), reason="needs the files that VLM-Uncertainty-Bench released"),
]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    checkout = Checkout(tmp_path_factory.mktemp("released") / "one")
    checkout.vouch("use", "released", "--set", f"released.path={RELEASED}")
    checkout.stages()
    checkout.store("sync")
    return checkout


def rows(checkout, name):
    with (checkout.path / "reports/tables" / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_all_published_cells_come_out(checkout):
    cells = rows(checkout, "published.csv")
    assert len(cells) == 364
    assert len({row["model"] for row in cells}) == 26
    assert len({row["metric"] for row in cells}) == 14
    for row in cells:
        assert abs(float(row["ours"]) - float(row["published"])) <= 1e-6, row
        assert float(row["difference"]) == pytest.approx(
            float(row["ours"]) - float(row["published"]), abs=1e-12
        )


def test_the_report_says_so_and_shows_what_clean_changes(checkout):
    page = (checkout.path / "reports/pages/papers.html").read_text("utf-8")
    assert "364 of 364" in page
    metrics = {(r["model"], r["protocol"], r["metric"], r["score"]): r for r in rows(checkout, "metrics.csv")
               if r["category"] == "all"}  # fmt: skip
    sibling = float(metrics["llava_v1_6_vicuna_13b", "faithful", "sibling_share", ""]["value"])
    assert round(100 * sibling, 1) == 86.5
    accuracy = metrics["llava_v1_6_vicuna_13b", "clean", "accuracy", ""]
    assert float(accuracy["low"]) < float(accuracy["value"]) < float(accuracy["high"])


def test_metrics_for_programs(checkout):
    whole = json.loads((checkout.path / "reports/metrics.json").read_text("utf-8"))
    values = whole["mmbench"]["llava_v1_6_34b"]
    assert values["faithful"]["accuracy"] == pytest.approx(0.8374, abs=5e-5)


def test_both_runners_agree_that_all_is_done(checkout):
    assert checkout.dvc_status() == {}
    assert checkout.planned() == set()


def test_a_folder_that_is_not_one(checkout, tmp_path):
    refused = checkout.vouch("use", "released", "--set", f"released.path={tmp_path}", check=False)
    assert refused.returncode == 1
    assert refused.stderr.count("\n") == 1 and "items-DATASET.parquet" in refused.stderr
    assert checkout.dvc_status() == {}, "a refused switch changes nothing"
