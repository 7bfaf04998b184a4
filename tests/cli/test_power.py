"""`vouch plan --power`: the difference that the planned questions can detect, and how many it takes."""

import json
from math import ceil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.cli.conftest import Vouch, flat, set_params
from vouch.metrics.comparison.leaderboard import differences
from vouch.metrics.comparison.statistics import finds
from vouch.pipeline.dag import read_dag
from vouch.pipeline.digests import Digests
from vouch.pipeline.errors import UserError
from vouch.pipeline.records import intact, present, write_receipt
from vouch.pipeline.yaml12 import load
from vouch.report.gates import SIGNIFICANCE
from vouch.tables.asked import (
    DROPPED,
    ITEMS,
    LETTERS,
    TEXT,
    items_path,
)
from vouch.tables.results import DIFFERENCES, DIFFERENCES_PATH


def enough(bare: Path) -> None:
    """Gives the dataset `left` so many questions that models are compared on it."""
    params = bare / "params.yaml"
    params.write_text(params.read_text("utf-8").replace("items: 24", "items: 40"), "utf-8")


def test_power_before_a_run_and_by_earlier_results(bare: Path, vouch: Vouch) -> None:
    def shown(*words: object) -> dict[str, list[str]]:
        found = vouch("plan", "--wide", "--power", *words).partition("dataset  questions")[2]
        return {line.split()[0]: line.split() for line in found.splitlines()[2:4]}

    # One pair of models on two datasets, of which one is too small to count: Holm corrects one comparison of 1 %.
    one = finds(1, 1.0, SIGNIFICANCE, 1)
    needed = str(int(100 * one**2) + 1)
    small = shown(10, "--discordant", 1, "--design", 1)
    assert small["left"][:7] == ["left", "24", "?", "assumed", "1.00", "none", needed], (
        "nothing is claimed below 30"
    )
    assert shown(90, "--discordant", 1)["left"][6] == "30", "as many as a claim needs"
    enough(bare)
    before = shown(10, "--discordant", 1, "--design", 1)
    assert before["left"][:7] == ["left", "40", "?", "assumed", "1.00", f"{100 * one / 40**0.5:.1f}", needed]
    before = shown(10, "--discordant", 0.25, "--design", 4)
    assert before["left"][4:7] == ["1.00", "none", needed], "no difference is above 25 points"
    row = {"dataset": "left", "output": LETTERS, "first": "a", "second": "b", "difference": 0.0, "items": 100}
    DIFFERENCES.write(DIFFERENCES_PATH, [row | {"low": -0.098, "high": 0.098}])
    after = shown(10)
    assert (after["left"][3:5], after["right"][3:5]) == (["results", "0.50"], ["assumed", "0.45"])
    texts = row | {"output": TEXT, "low": -0.196, "high": 0.196}
    DIFFERENCES.write(DIFFERENCES_PATH, [texts, row | {"low": -0.098, "high": 0.098}])
    assert shown(10)["left"][4] == "0.50", "of the main request type"
    DIFFERENCES.write(DIFFERENCES_PATH, [texts, row | {"low": 0.0, "high": 0.0}])
    assert shown(10)["left"][3] == "assumed", "texts say nothing of letters"
    line = vouch("plan", "--power", 0, status=1)
    assert line.startswith("vouch: --power 0, ") and "give --power between 0 and 100" in line
    assert "--power 30: above 20 points, the largest" in vouch("plan", "--power", 30, status=1)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("--design 2", "vouch: --design: is an assumption of --power; add --power, or leave it out"),
        ("--discordant 0.2", "vouch: --discordant: is an assumption of --power; add --power, or"),
        ("--probe tiny_a --design 2", "vouch: --design: is an assumption of --power"),
        ("--power --discordant 0", "vouch: --power 5, --discordant 0: out of range; give"),
        ("--power 100", "vouch: --power 100, --discordant 0.2: out of range; give"),
    ],
)
def test_assumptions_of_no_power_are_refused(bare: Path, vouch: Vouch, words: str, why: str) -> None:
    assert vouch("plan", *words.split(), status=1).startswith(why)


def test_power_by_damaged_results_says_what_every_command_says(bare: Path, vouch: Vouch) -> None:
    dag = read_dag()
    stage = dag.stages[dag.maker[str(DIFFERENCES_PATH)]]
    DIFFERENCES.write(DIFFERENCES_PATH, [])
    write_receipt(stage, present(stage, Digests()))
    DIFFERENCES_PATH.write_bytes(b"half")
    with pytest.raises(UserError) as expected:
        intact(DIFFERENCES_PATH)
    assert vouch("plan", "--power", status=1) == f"vouch: {expected.value}\n"


def test_power_of_models_that_were_never_seen_to_differ(bare: Path, vouch: Vouch) -> None:
    """By the bound on the questions that might differ; results of no width, as older ones have, are passed over."""
    same = pa.table({"dataset": ["left"] * 200, "variation": ["original"] * 200, "output": ["letters"] * 200}
                    | {"model": ["a", "b"] * 100, "prompt": [str(n // 2) for n in range(200)]}
                    | {"group": [str(n // 2) for n in range(200)], "clean_correct": [1.0] * 200})  # fmt: skip
    (row,) = differences(same, 0, 100)
    DIFFERENCES.write(DIFFERENCES_PATH, [row])
    enough(bare)
    left, right = json.loads(vouch("plan", "--power", "1", "--json"))["power"]
    assert (left["from"], right["from"]) == ("results", "assumed")
    assert 0.05 < left["finds"] < 0.25 and left["needed"] > left["questions"]
    DIFFERENCES.write(DIFFERENCES_PATH, [row | {"low": 0.0, "high": 0.0}])
    left, _ = json.loads(vouch("plan", "--power", "1", "--json"))["power"]
    assert left["from"] == "assumed" and left["needed"] > left["questions"]


def test_power_counts_groups_which_the_tests_resample(bare: Path, vouch: Vouch) -> None:
    def shown(*words: object, points: int = 10) -> tuple[Any, ...]:
        row = json.loads(vouch("plan", "--power", points, "--discordant", 0.81, "--json", *words))["power"][0]
        return row["questions"], row["groups"], row["finds"], row["needed"]

    def prepared(groups: int, dropped: int = 0) -> None:
        """Twice as many questions as planned, in so many groups; the last ones are left out, each a group."""
        names = [f"{n % groups}" if n < 80 - dropped else f"d{n}" for n in range(80)]
        flags = [[DROPPED[0]] if name[0] == "d" else [] for name in names]
        rows = zip(range(80), names, flags, strict=True)
        ITEMS.write(items_path("left"), [{"id": f"{n:02}", "group": g, "flags": f} for n, g, f in rows])

    enough(bare)
    one, needed = finds(1, 0.9, SIGNIFICANCE, 1), finds(1, 0.9, SIGNIFICANCE, 1) ** 2 * 100
    assert shown() == (40, None, pytest.approx(one / 40**0.5), ceil(needed)), "unknown before the first run"
    prepared(80)
    assert shown() == (40, 40, pytest.approx(one / 40**0.5), ceil(needed))
    prepared(40)
    assert shown()[1:3] == (20, None), "fewer than 30 groups are not compared"
    assert shown("--design", 1)[1:3] == (20, None), "not even if they were independent"
    prepared(64)
    assert shown() == (40, 32, pytest.approx(one / 32**0.5), ceil(needed * 40 / 32))
    assert shown("--design", 1) == (40, 32, pytest.approx(one / 40**0.5), ceil(needed)), (
        "what the user knows of them"
    )
    assert shown(points=75)[3] == ceil(30 * 40 / 32), "a large effect needs 30 groups as well"
    prepared(64, dropped=10)
    assert shown()[1] == 32, "what the clean protocol leaves out is no group"


def test_what_a_split_keeps_together_in_files_of_ones_own(bare: Path, vouch: Vouch) -> None:
    said = (
        "questions about one image form one group, which no split separates, and one without an image is a group of "
        "its own: kites (to group otherwise: `group` on a line)"
    )
    assert "one group" not in vouch("plan")
    (bare / "kites").mkdir()
    (bare / "kites/items.jsonl").write_text("{}\n", "utf-8")
    entry = {"loader": "jsonl", "source": "kites", "template": "plain"}
    named = {**entry, "settings": {"group": "talk"}}
    datasets = load(bare / "params.yaml")["datasets"]
    set_params(datasets={**datasets, "kites": entry, "talks": named})
    assert said in flat(vouch("plan"))
