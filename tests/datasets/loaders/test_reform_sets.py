"""What ReForm-Eval's sets are, as reform.csv declares them: their number, sizes, parts and templates."""

import csv
import math
from collections import Counter
from pathlib import Path

from tests.prompts.rows import template_of
from vouch.datasets.loaders.reform import sets

ROOT = Path(__file__).parents[3]


def test_all_61_sets_are_there() -> None:
    table = sets()
    assert len(table) == 61 and len({(one.file, one.shape) for one in table.values()}) == 61
    assert all(name.isidentifier() and name == name.lower() for name in table)
    assert all(count <= max(one.full) for one in table.values() for count in one.sample)


# Tables 5 and 6 of the paper, in the order of our table; COCO counting is their last set of fine perception.
SIZES = {
    "coarse_perception": (818, 10000, 50000, 3669, 4049, 2167, 8696, 21320, 15688),
    "fine_perception": (3600, 3600, 2479, 38267, 171, 9247, 29122, 41991, 513, 34540),
    "scene_text": (288, 1811, 3000, 9896, 1511, 3000, 849, 3000, 3000, 588, 6321, 1388, 4508, 5312, 3944),
    "spatial": (6900, 1811, 4735),
    "visual_reasoning": (21441, 12578, 3362, 5045, 2017, 4319, 1257, 1245, 1145, 1145, 1145, 4076),
    "cross_modal": (25014, 25014, 32194, 800, 17901, 3385),
    "description": (5000, 3166, 4500, 1000),
    "dialogue": (1073, 2064),
}


def test_sizes_are_those_of_tables_5_and_6() -> None:
    found: dict[str, list[int]] = {}
    for one in sets().values():
        found.setdefault(one.dimension, []).append(max(one.full))
    assert {name: tuple(counts) for name, counts in found.items()} == SIZES


WHOLE = ("flowers102", "coco_counting", "cute80", "tdiuc_utility")
FITTED = ("medic", "refcoco", "coco_itm", "coco_its", "wikihow", "snli_ve")
"""Parts that no rule gives, but the printed accuracies fit."""


def test_parts_are_tenths_that_the_printed_accuracies_fit() -> None:
    """Five tests of n questions: an accuracy is a multiple of 1 / 5n. At most four of 32 printed ones are not."""
    with (ROOT / "docs/published/reform_tables.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    checked = 0
    for one in sets().values():
        printed = [float(row["accuracy"]) for row in rows if row["dataset"] == one.name and row["accuracy"]]
        for count in one.sample if one.metric == "choice" and "tdiuc" not in one.name else ():
            if 5 * count > 4000:  # every second of two decimals is a multiple
                continue
            steps = [value * 5 * count / 100 for value in printed]
            off = sum(abs(step - round(step)) > 0.00025 * count + 1e-6 for step in steps)
            assert off <= len(printed) / 7, (one.name, off)
            checked += 1
    assert checked >= 25
    tenths = [one.name for one in sets().values() if {each // 10 for each in one.full} & {*one.sample}]
    assert len(tenths) == 37 and sum(bool(one.sample) for one in sets().values()) == 53
    thinned = {one.name: one for one in sets().values() if one.shape[0] == "tdiuc"}
    for one in thinned.values():  # every 40th or 100th question, or every one
        assert one.sample == (math.ceil(max(one.full) / int(one.shape[2])),), one.name
    assert all(sets()[name].sample == sets()[name].full for name in WHOLE)
    assert len({*thinned, *WHOLE, *FITTED, *tenths}) == 53


def test_counts_add_up() -> None:
    """Of the paper's tables of data statistics; VSR with the 1,811 printed there, not the probable 1,181."""
    sums, number = Counter[str](), Counter(one.dimension for one in sets().values())
    for one in sets().values():
        sums[one.dimension] += max(one.full)
    assert {name: (number[name], sums[name]) for name in sums} == {
        "coarse_perception": (9, 116_407),
        "fine_perception": (10, 163_530),
        "scene_text": (15, 48_416),
        "spatial": (3, 13_446),
        "visual_reasoning": (12, 58_775),
        "cross_modal": (6, 104_308),
        "description": (4, 13_666),
        "dialogue": (2, 3_137),
    }


def test_every_family_has_its_template(monkeypatch) -> None:
    monkeypatch.chdir(ROOT)
    for one in sets().values():
        assert template_of(f"reform_{one.family}").response in ("The answer is", None)
