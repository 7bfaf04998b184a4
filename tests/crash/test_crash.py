"""A few points of the matrix that `make crash` runs, on the small profile, and the plan they are drawn from."""

import pytest

from tools.crash.points import ENGINES, KILLS, LOCKS, OTHERS, Point, plan
from tools.crash.summary import summary
from tools.crash.trying import attempt

STAGES = ["prepare@left", "extract@tiny_a-left", "report"]
POINTS = [
    Point(0, "kill", "extract@tiny_a-left", "dvc", "dvc", "engine", "file", 1, 0.02),
    Point(1, "kill", "report", "snakemake", "snakemake", "group", "file", 3, 0.02),
    Point(2, "lock", "liken", "dvc", "dvc", "group", "lock", 1, 0.0),
]


def test_a_seed_means_the_same_points_and_they_reach_everything() -> None:
    points = plan(1, STAGES)
    assert points == plan(1, STAGES) != plan(2, STAGES)
    assert [point.number for point in points] == list(range(KILLS + sum(OTHERS.values()) + LOCKS))
    kills = points[:KILLS]
    assert {(p.stage, p.engine, p.finisher) for p in kills} == {
        (stage, engine, finisher) for stage in STAGES for engine in ENGINES for finisher in ENGINES
    }
    assert {p.victim for p in kills} == {"engine", "stage", "group"}
    assert not any(p.victim == "stage" for p in kills if p.event == "receipt"), "that process is about to end"
    assert {p.kind for p in points[KILLS:-LOCKS]} == set(OTHERS)
    assert {(p.kind, p.event, p.engine) for p in points[-LOCKS:]} == {("lock", "lock", "dvc")}


@pytest.mark.slow
@pytest.mark.parametrize("point", POINTS, ids=[f"{p.stage}-{p.engine}-{p.finisher}" for p in POINTS])
def test_after_a_kill_the_next_command_ends_as_if_nothing_had_happened(finished, tmp_path, point) -> None:
    found = attempt(point, finished, tmp_path / "point")
    assert found["hit"] and found["first"]["status"] == -9
    assert found["faults"] == [] and found["mended"] == (point.kind == "lock")
    text = summary([{"seed": 0, **found}])
    assert "1 tried, 1 hurt, 1 without a fault" in text and "bytes lost: 0" in text
