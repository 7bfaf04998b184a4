"""Real photographs and diagrams through every stage: 2 to 5 options, hints, RGBA, image marks."""

import csv
import json
import shutil

import pyarrow.parquet as pq
import pytest

from tests.checkouts.checkout import SHARED, Checkout
from tests.checkouts.small import small

REAL = SHARED / "reference/realdata"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not REAL.exists(), reason="needs the real images of the reference folder"),
]
SETS = ("ai2d_mini", "ccbench_samples", "mathvision_test", "mmbench_samples", "puzzlevqa", "scienceqa_test")
MOST = 100  # items of a set: of a larger one every second, third, ...


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """The small profile with real sets as its data and one tiny model; every stage has run."""
    root = tmp_path_factory.mktemp("real")
    for name in SETS:
        shutil.copytree(REAL / name, root / name)
        lines = (REAL / name / "items.jsonl").read_text("utf-8").splitlines(keepends=True)
        (root / name / "items.jsonl").write_text("".join(lines[:: len(lines) // MOST + 1]), "utf-8")
    checkout = Checkout(root / "one")
    entry = {"loader": "jsonl", "template": "kostumov", "settings": {"on_error": "skip"}}
    datasets = {name: {**entry, "source": f"../{name}"} for name in SETS}
    (checkout.path / "params.yaml").write_text(small(train=["tiny_a"], datasets=datasets), "utf-8")
    checkout.stages()
    return checkout


@pytest.mark.parametrize("name", SETS)
def test_counts_in_are_counts_out(checkout, name):
    file = checkout.path.parent / name / "items.jsonl"
    source = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    table = {
        kind: pq.read_table(checkout.path / f"data/{kind}/{name}.parquet") for kind in ("items", "rejects")
    }
    letters = pq.read_table(checkout.path / f"data/responses/{name}/tiny_a.letters.parquet")
    assert table["items"].num_rows + table["rejects"].num_rows == len(source)
    assert all(table["rejects"].column("reason").to_pylist())
    assert letters.num_rows == table["items"].num_rows
    by_id = {row["id"]: row for row in source}
    for item in table["items"].to_pylist():
        row = by_id[item["id"]]
        assert (item["question"], item["options"], item["answers"]) == (
            row["question"],
            row["options"],
            [row["answer"]],
        )
        assert item["images"] == [info["sha256"] for info in row["image_info"]]
    options = {len(row["options"]) for row in table["items"].to_pylist()}
    assert {len(row) - 2 for row in letters.column("logits").to_pylist()} == options


def test_every_set_is_in_the_report(checkout):
    page = (checkout.path / "reports/pages/datasets.html").read_text("utf-8")
    with (checkout.path / "reports/tables/headline.csv").open(encoding="utf-8", newline="") as file:
        seen = {row["dataset"] for row in csv.DictReader(file)}
    assert seen == set(SETS)
    assert all(name in page for name in SETS)
