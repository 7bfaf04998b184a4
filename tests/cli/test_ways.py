"""By which way each model of a paper can be asked: declared once, and counted from the declarations."""

import json
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.conftest import Vouch, flat, lay_out
from tests.models.project import ROOT
from tests.refusals import refused
from vouch.cli.ways import (
    ASKED,
    BUILT_IN,
    DRIVER,
    GENERIC,
    PAPERS,
    RELEASED,
    SERVER,
    WAYS,
    PaperModel,
    cells_by_way,
    models_of,
    of_profile,
    paper_models,
    screen,
)
from vouch.models.lock_entry import LockEntry, Program
from vouch.models.program.about import drivers
from vouch.params.check import check_params
from vouch.params.project import Project, locked_models
from vouch.pipeline.yaml12 import load

CELLS = {"kostumov": 26 * 5, "azad": 16 * 6, "reform": 16 * 61, "tu": 30 * 8 + 15 * 4, "parc": 22 * 7}
DOCS = ROOT / "docs/models.md"
HEAD = """\
import nothing_here
ABOUT = {{
    "repository": "owner/name", "commit": "{commit}", "licence": "MIT", "environment": "theirs",
    "models": {models},
}}
"""


def project(name: str) -> Project:
    return Project.model_validate(load(ROOT / f"profiles/{name}.yaml"))


def ways(rows: list[PaperModel]) -> dict[str, str]:
    return {row.name: row.way for row in rows}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with the profiles, and with no drivers."""
    lay_out(tmp_path, "profiles")
    shutil.copy(ROOT / "models.lock", tmp_path)
    (tmp_path / "drivers").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", PAPERS)
def test_a_profile_names_every_model_of_its_paper(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    one = project(name)
    assert one.paper is not None
    assert sum(row.cells for row in models_of(one)) == CELLS[name]
    assert sorted(one.paper.entries.values()) == sorted(one.models), "it asks those that have entries"
    size = f"| {len(one.models)} x {models_of(one)[0].datasets} |"
    for page in ("README.md", "docs/profiles.md"):
        line, *_ = re.findall(rf"^\| `{name}` .*", (ROOT / page).read_text("utf-8"), flags=re.MULTILINE)
        assert line.endswith(size), page
    locked = locked_models()
    assert all(name in locked[entry].facts.papers for entry in one.models)
    others = {model for group in one.paper.others for model in group.names}
    claimed = Counter(model for _, head in drivers() for model in head.models.get(name, ()))
    assert claimed.keys() <= others and set(claimed.values()) <= {1}
    assert {head for _, about in drivers() for head in about.models} <= set(PAPERS)


def test_the_documentation_has_the_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted anew, from the files alone."""
    monkeypatch.chdir(ROOT)
    claimed = {(paper, model) for _, one in drivers() for paper in one.models for model in one.models[paper]}
    servers = {name for name, one in locked_models().items() if one.source.kind == "server"}
    total: Counter[str] = Counter()
    lines = dict(re.findall(r"^\| (\w+) \| (\d.*) \|$", DOCS.read_text("utf-8"), flags=re.MULTILINE))
    for name, cells in CELLS.items():
        paper = load(ROOT / f"profiles/{name}.yaml")["paper"]
        each = cells // (sum(len(group["names"]) for group in paper["others"]) + len(paper["entries"]))
        each = 8 if name == "tu" else each
        count: Counter[str] = Counter()
        for entry in paper["entries"].values():
            count[SERVER if entry in servers else BUILT_IN] += each
        for group in paper["others"]:
            of_one = len(group.get("datasets", range(each))) * group.get("models", 1)
            fallback = RELEASED if paper.get("released") else WAYS[-1]
            way = next(
                (way for way, key in ((GENERIC, "generic"), (SERVER, "server")) if key in group), fallback
            )
            for model in group["names"]:
                count[DRIVER if (name, model) in claimed else way] += of_one
        assert count == cells_by_way(of_profile(name)) and count.total() == cells
        assert lines[name] == " | ".join([*(f"{count[way]:,}" for way in WAYS), str(cells)])
        total += count
    assert lines["all"] == " | ".join([*(f"{total[way]:,}" for way in WAYS), "1,656"])
    assert sum(total[way] for way in ASKED[:3]) >= 950 and len(list(drivers())) >= 8
    told = re.search(r"more\s+than\s+([\d,]+)\s+of\s+the\s+1,656", (ROOT / "README.md").read_text("utf-8"))
    assert told and int(told[1].replace(",", "")) < total[BUILT_IN] + total[DRIVER]


@pytest.mark.parametrize("name", PAPERS)
def test_the_screen_names_every_model_in_80_columns(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "80")
    one = project(name)
    rows = models_of(one)
    shown = screen(rows, one)
    assert max(map(len, shown.splitlines())) <= 80
    for row in rows:
        assert (row.entry or row.name) in flat(shown) and (row.why is None or flat(row.why) in flat(shown))
        assert row.driver is None or row.driver in flat(shown)
        assert row.commit is None or f"ran with random weights at commit {row.commit[:12]}" in flat(shown)
    paragraphs = len(re.findall(r"^ \S", shown, flags=re.MULTILINE))
    assert paragraphs == len({(row.how(), row.why) for row in rows}) <= 20
    assert f"{sum(row.cells for row in rows if row.way in ASKED)} can be asked" in flat(shown)


def test_a_driver_is_the_file_with_its_head(here: Path, vouch: Vouch) -> None:
    before = ways(models_of(project("kostumov")))
    assert before["Monkey"] == before["MobileVLM-3B"] == RELEASED and DRIVER not in before.values()
    assert before["Qwen-VL"] == SERVER
    models = {"kostumov": ["Monkey", "Qwen-VL"], "parc": ["InternVL2-1B"], "nobody": ["MobileVLM-3B"]}
    for driver, commit in (("later", "b" * 40), ("first", "a" * 40)):
        text = HEAD.format(commit=commit, models=models)
        (here / f"drivers/{driver}.py").write_text(text, "utf-8")
    (here / "drivers/draft.py").write_text("raise SystemExit(1)\n", "utf-8")
    rows = {row.name: row for row in models_of(project("kostumov"))}
    changed = {name for name, way in ways(list(rows.values())).items() if way != before[name]}
    assert changed == {"Monkey", "Qwen-VL"} and {rows[name].way for name in changed} == {DRIVER}
    assert rows["Monkey"].driver == "drivers/first.py" and rows["Monkey"].commit == "a" * 40
    assert rows["Qwen-VL"].how().endswith("at commit aaaaaaaaaaaa, or by a server, vLLM")
    renamed = project("kostumov").model_copy(update={"profile": "mine"})
    assert ways(models_of(renamed))["MobileVLM-3B"] == DRIVER, "a copy of the profile under another name"
    told = json.loads(vouch("plan", "kostumov", "--json"))["paper"]
    assert len(told) == 26 and sum(one["cells"] for one in told) == 130
    assert [one["way"] for one in told if one["name"] == "Monkey"] == [DRIVER]
    (here / "drivers/first.py").write_text("ABOUT = {", "utf-8")
    with refused("drivers/first.py: ABOUT is no literal"):
        models_of(project("kostumov"))
    assert models_of(project("small")) == [], "no paper, so no head is read"


def test_an_entry_of_ones_own(here: Path) -> None:
    """A paper's model whose entry names a driver, or a server."""
    program = {"driver": "mine/d.py", "environment": "here", "trust_code": True}
    entry = {"engine": "program", "source": {"kind": "folder", "path": "w"}, "program": program}
    values = load(here / "profiles/parc.yaml")
    values["paper"]["entries"] = {"a": "own"}
    rows = paper_models(Project.model_validate(values), {"own": LockEntry.model_validate(entry)}, [])
    assert (rows[0].way, rows[0].entry, rows[0].how()) == (DRIVER, "own", "by mine/d.py")
    assert ways(rows)["Qwen-VL-Chat"] == GENERIC
    values["paper"] = {"title": "mine"}
    assert screen(paper_models(Project.model_validate(values), {}, []), Project.model_validate(values)) == ""


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            {"others": [{"names": ["x"], "why": "y", "datasets": ["ai2"]}]},
            r"others\.0\.datasets: .*mean ai2d",
        ),
        ({"entries": {"x": "llava_v1_5_7"}}, r"entries\.x \(entries of models\.lock\): .*mean llava_v1_5_7b"),
        ({"others": [{"names": ["LLaVA-V1.5 7B"], "why": "y"}]}, "LLaVA-V1.5 7B is a duplicate; name each"),
        ({"others": [{"names": ["x", "x"], "why": "y"}]}, "x is a duplicate; name each"),
        ({"others": [{"names": [], "why": "y"}]}, r"paper\.others\.0\.names"),
        ({"others": [{"names": ["x"]}]}, r"paper\.others\.0\.why"),
        ({"others": [{"names": ["x"], "why": "y", "models": 0}]}, r"paper\.others\.0\.models"),
        ({"others": [{"names": ["x"], "why": "y", "generic": "any"}]}, r"paper\.others\.0\.generic"),
        ({"absent": [{"names": ["x"], "why": "y"}]}, r"paper\.absent.* paper\.others"),
    ],
)
def test_what_a_profile_says_of_its_paper_is_checked(here: Path, change: Any, problem: str) -> None:
    values = load(here / "profiles/tu.yaml")
    values["paper"] |= change
    with refused(problem):
        check_params(values, "tu")


def test_entries_to_copy_are_valid_and_no_entry_here_trusts_code() -> None:
    text = DOCS.read_text("utf-8")
    blocks = re.findall(r"```yaml\n(.*?)```", text, flags=re.DOTALL)
    copied = [
        LockEntry.model_validate(one) for block in blocks for one in yaml.safe_load(block)["models"].values()
    ]
    heads = dict(drivers(ROOT / "drivers"))
    for entry in copied:
        assert entry.program and entry.source.kind == "hub"
        assert entry.program.environment == heads[Path(entry.program.driver).stem].environment
    assert len(copied) >= 1
    programs = re.findall(r"^\| `(\w+)` .* \| `(\{driver: .*\})` \|$", text, flags=re.MULTILINE)
    for driver, program in programs:
        one = Program.model_validate(yaml.safe_load(program))
        assert (one.driver, one.environment) == (f"drivers/{driver}.py", heads[driver].environment)
    assert [driver for driver, _ in programs] == list(heads)
    assert not any("program" in entry for entry in load(ROOT / "models.lock")["models"].values())
