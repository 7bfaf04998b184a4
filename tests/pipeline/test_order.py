"""The order of a mapping in params.yaml is no parameter: DVC passes over it, so nothing may follow it."""

import json
import random
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from vouch.pipeline.dag import Dag, read_dag
from vouch.pipeline.run import Run
from vouch.pipeline.yaml12 import load

ROOT = Path(__file__).parents[2]
PROFILES = [ROOT / "params.yaml", *sorted((ROOT / "profiles").glob("*.yaml"))]


def shuffled(value: Any, order: random.Random) -> Any:
    """The same value, the entries of each mapping in it in another order."""
    if isinstance(value, dict):
        keys = list(value)
        order.shuffle(keys)
        return {key: shuffled(value[key], order) for key in keys}
    return [shuffled(one, order) for one in value] if isinstance(value, list) else value


def planned(dag: Dag) -> dict[str, str]:
    """All that a stage gets, and its part of its receipt, with the order of every list and mapping."""
    return {
        name: json.dumps(
            {
                "inputs": dag.inputs(stage),
                "params": Run(dag, stage, ()).params,
                "record": json.dumps(asdict(stage), sort_keys=True),
            }
        )
        for name, stage in dag.stages.items()
    }


@pytest.mark.parametrize("path", PROFILES, ids=[path.stem for path in PROFILES])
def test_what_a_stage_gets_does_not_follow_the_order(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    values = load(path)
    found = planned(read_dag(ROOT, values))
    other = shuffled(values, random.Random(path.stem))
    assert json.dumps(other) != json.dumps(values)
    assert planned(read_dag(ROOT, other)) == found
