"""What `make reproduce` says of two sets of results."""

import re
from pathlib import Path

import pytest

from tools import bits, targets
from tools.reproduce import differences
from vouch.params.check import check_params
from vouch.pipeline.yaml12 import load

ROOT = Path(__file__).parents[2]


def test_each_difference_is_one_line():
    first = {"data/a": "1", "data/b": "2", "data/c": "3"}
    assert list(differences(first, dict(first))) == []
    assert list(differences(first, {"data/a": "1", "data/b": "9", "reports/d": "4"})) == [
        "data/b: differs",
        "data/c: only made by the first",
        "reports/d: only made by the second",
    ]


def test_params_of_a_few_prompts_name_nothing_that_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    values = bits.parameters(load(ROOT / "profiles/demo.yaml"))
    assert check_params(values, "bits").datasets.keys() == {bits.DATASET}


def test_every_target_that_a_page_names_is_one_that_make_targets_starts() -> None:
    phony = re.search(r"^\.PHONY:((?:.*\\\n)*.*)$", (ROOT / "Makefile").read_text("utf-8"), re.M)
    assert phony and set(phony[1].replace("\\", " ").split()) == {*targets.TARGETS, "targets"}
    pages = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "Makefile")]
    for page in [*pages, *(ROOT / "docs").rglob("*.md")]:
        text = page.read_text("utf-8")
        named = set(re.findall(r"(?:`|^    |^# )make ([a-z_-]+)", text, re.M))
        assert named <= {*targets.TARGETS, "targets"}, page


def test_what_is_missing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert targets.Target().lacks() == ""
    assert targets.Target(programs=["sh", "no-such-program"]).lacks() == "no no-such-program here"
    assert targets.Target(data="../no-such-folder").lacks() == "no ../no-such-folder here"
