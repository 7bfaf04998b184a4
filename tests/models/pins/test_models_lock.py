"""The committed models.lock: every entry valid, every name it uses known, every model in docs/models.md."""

import csv
import re
from pathlib import Path

import pytest

from vouch.models.engine import ENGINES
from vouch.models.lock_entry import HubSource, LockEntry
from vouch.models.pins import read_template
from vouch.params.project import Models
from vouch.pipeline.yaml12 import load

ROOT = Path(__file__).parents[3]
ENTRIES: dict[str, LockEntry] = Models.model_validate(load(ROOT / "models.lock"), strict=True).models
CURRENT = load(ROOT / "profiles/current.yaml")["models"]
DEMO = load(ROOT / "profiles/demo.yaml")["models"]
SEEN = ROOT.parent / "shared/reference/hub/hub-revisions.csv"
OLD_NAMES = {"mistral-experimental/pixtral-12b": "mistral-community/pixtral-12b"}
SECTIONS = ("kostumov", "azad", "reform", "tu", "parc")  # in the order of docs/models.md


@pytest.mark.parametrize("name", ENTRIES)
def test_entry(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    entry = ENTRIES[name]
    known = (entry.facts.papers or name in CURRENT) and entry.facts.family and entry.facts.series
    assert known or DEMO.get(name) == getattr(entry.source, "path", None) is not None
    assert entry.facts.papers == [paper for paper in SECTIONS if paper in entry.facts.papers]
    assert entry.engine in ENGINES
    assert entry.template is None or read_template(entry.template)


def test_dvc_reads_it_as_we_do() -> None:
    """DVC's parser is another one, and stricter about colons in braces."""
    from dvc.utils.serialize import parse_yaml

    path = ROOT / "models.lock"
    assert parse_yaml(path.read_text("utf-8"), str(path)) == load(path)


def test_no_two_entries_are_one_model() -> None:
    """But for one that two papers ask in another form."""
    repos = [
        (entry.source.repo, entry.template)
        for entry in ENTRIES.values()
        if isinstance(entry.source, HubSource)
    ]
    assert len(repos) == len(set(repos)) >= 30


def test_the_documentation_names_every_entry_under_its_papers() -> None:
    text = (ROOT / "docs/models.md").read_text("utf-8")
    sections = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    for paper, section in zip(SECTIONS, sections, strict=False):
        assert named(section) == {name for name, one in ENTRIES.items() if paper in one.facts.papers}, paper
    assert named(sections[len(SECTIONS)]) == CURRENT.keys()
    asked = CURRENT.keys() | {name for name, one in ENTRIES.items() if one.facts.papers}
    assert asked == ENTRIES.keys() - DEMO.keys()


def named(section: str) -> set[str]:
    rows = "\n".join(line for line in section.splitlines() if line.startswith("| "))
    return set(re.findall(r"`([a-z][a-z0-9_]*)`", rows))


def test_commits_are_those_that_public_projects_name() -> None:
    """With two or more sightings pinned; with one pinned, and named in docs/models.md; without any null."""
    if not SEEN.exists():
        pytest.skip("needs ../shared/reference/hub")
    with SEEN.open(encoding="utf-8", newline="") as lines:
        seen = {row["repo"]: row for row in csv.DictReader(lines)}
    sources = {name: one.source for name, one in ENTRIES.items() if isinstance(one.source, HubSource)}
    once = set()
    for name, source in sources.items():
        row = seen.get(OLD_NAMES.get(source.repo, source.repo), {"revision": "", "sightings": "0"})
        assert source.revision == (row["revision"] or None), name
        once |= {name} if row["sightings"] == "1" else set()
    text = (ROOT / "docs/models.md").read_text("utf-8").split("## Commits")[1].split("\n## ")[0]
    said = text[text.index("one project alone") : text.index("No public file")]
    assert set(re.findall(r"`([a-z0-9_]+)`", said)) == once
    none = set(re.findall(r"`([a-z0-9_]+)`", text[text.index("No public file") :].split("\n\n")[0]))
    assert none == {name for name, source in sources.items() if source.revision is None} and len(none) <= 16
    for path in sorted((ROOT / "profiles").glob("*.yaml")):
        for entry in load(path)["datasets"].values():
            origin = entry.get("origin", {})
            old = origin.get("hub", "").replace("lmms-lab-encoder/", "lmms-lab/")
            if old:
                assert origin["revision"] == (seen.get(old, {"revision": ""})["revision"] or None), (
                    path,
                    old,
                )


def test_the_documentation_names_every_template() -> None:
    text = (ROOT / "docs/models.md").read_text("utf-8").split("## Chat templates")[1]
    named = set(re.findall(r"^\| `([a-z0-9_]+)`", text, flags=re.MULTILINE))
    assert named == {path.stem for path in (ROOT / "vouch/models/chat/templates").glob("*.jinja")}
    assert named == {entry.template for entry in ENTRIES.values()} - {None}
