"""A few points of the matrix that `make crash` runs, on the small profile, and the plan they are drawn from."""

import argparse
import subprocess
import sys
from pathlib import Path

import pytest

from tests.checkouts.checkout import Checkout
from tools.crash.__main__ import numbers, summary, wanted
from tools.crash.points import KILLS, LOCKS, OTHERS, RUNNERS, Point, plan
from tools.crash.trying import attempt, clear
from vouch.pipeline.errors import UserError

STAGES = ["prepare@left", "extract@tiny_a-left", "report"]
POINTS = [
    Point(0, "kill", "extract@tiny_a-left", "dvc", "dvc", "runner", "file", 1, 0.02),
    Point(1, "kill", "report", "snakemake", "snakemake", "group", "file", 3, 0.02),
    Point(2, "lock", "embed_texts", "dvc", "dvc", "group", "lock", 1, 0.0),
]


def test_a_seed_means_the_same_points_and_they_reach_everything() -> None:
    points = plan(1, STAGES)
    assert points == plan(1, STAGES) != plan(2, STAGES)
    assert [point.number for point in points] == list(range(KILLS + sum(OTHERS.values()) + LOCKS))
    kills = points[:KILLS]
    assert {(p.stage, p.runner, p.finisher) for p in kills} == {
        (stage, runner, finisher) for stage in STAGES for runner in RUNNERS for finisher in RUNNERS
    }
    assert {p.victim for p in kills} == {"runner", "stage", "group"}
    assert not any(p.victim == "stage" for p in kills if p.event == "receipt"), "that process is about to end"
    assert {p.kind for p in points[KILLS:-LOCKS]} == set(OTHERS)
    assert {(p.kind, p.event, p.runner) for p in points[-LOCKS:]} == {("lock", "lock", "dvc")}


def test_points_are_asked_for_by_number() -> None:
    points = plan(1, STAGES)
    assert numbers("3,7-9") == {3, 7, 8, 9}
    assert [point.number for point in wanted(points, {3, 7})] == [3, 7]
    assert wanted(points, None) == points
    with pytest.raises(UserError, match=r"^--points: no point 100; the plan has 0 to 99$"):
        wanted(points, {3, 100})
    for text in ("", "3-", "x", "9-7", "-2"):
        with pytest.raises(argparse.ArgumentTypeError, match="no number and no range"):
            numbers(text)


def test_what_a_killed_matrix_left_is_ended_and_removed(tmp_path: Path) -> None:
    place = tmp_path / "point"
    checkout = Checkout.at(place / "one")
    checkout.path.mkdir(parents=True)
    command = [sys.executable, "-c", "import time; print(flush=True); time.sleep(600)"]
    both = [
        subprocess.Popen(command, cwd=checkout.path, env=env, stdout=subprocess.PIPE)
        for env in (checkout.env, None)
    ]
    try:
        for one in both:
            assert one.stdout and one.stdout.readline()
        clear(place)
        assert not place.exists()
        assert both[0].wait(30) == -9 and both[1].poll() is None, (
            "the other only works there, as a shell does"
        )
    finally:
        for one in both:
            one.kill()
            one.wait()


@pytest.mark.slow
@pytest.mark.parametrize("point", POINTS, ids=[f"{p.stage}-{p.runner}-{p.finisher}" for p in POINTS])
def test_after_a_kill_the_next_command_ends_as_if_nothing_had_happened(finished, tmp_path, point) -> None:
    found = attempt(point, finished, tmp_path / "point")
    assert found["hit"] and found["first"]["status"] == -9
    assert found["faults"] == [] and found["mended"] == (point.kind == "lock")
    text = summary([{"seed": 0, **found}])
    assert "1 tried, 1 disturbed, 1 without a fault" in text and "bytes lost: 0" in text
