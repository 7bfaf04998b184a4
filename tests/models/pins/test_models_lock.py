"""The committed models.lock: every entry valid, every name it uses known, every model in docs/models.md."""

import re
from pathlib import Path

import pytest

from vouch.models.pins.config import HubSource, LockEntry
from vouch.models.pins.pinning import read_template
from vouch.params.project import Models
from vouch.pipeline.yaml12 import load

ROOT = Path(__file__).parents[3]
ENTRIES: dict[str, LockEntry] = Models.model_validate(load(ROOT / "models.lock"), strict=True).models
SECTIONS = ("kostumov", "azad", "reform", "tu", "parc")  # in the order of docs/models.md


@pytest.mark.parametrize("name", ENTRIES)
def test_entry(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    entry = ENTRIES[name]
    assert entry.facts.papers and entry.facts.family and entry.facts.series
    assert entry.facts.papers == [paper for paper in SECTIONS if paper in entry.facts.papers]
    assert (ROOT / f"vouch/models/engines/{entry.engine}.py").is_file()
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
    sections = re.split(r"^## ", text, flags=re.MULTILINE)[1 : len(SECTIONS) + 1]
    for paper, section in zip(SECTIONS, sections, strict=True):
        rows = "\n".join(line for line in section.splitlines() if line.startswith("| "))
        named = set(re.findall(r"`([a-z][a-z0-9_]*)`", rows))
        assert named == {name for name, entry in ENTRIES.items() if paper in entry.facts.papers}, paper


def test_the_documentation_names_every_template() -> None:
    text = (ROOT / "docs/models.md").read_text("utf-8").split("## Chat templates")[1]
    named = set(re.findall(r"^\| `([a-z0-9_]+)`", text, flags=re.MULTILINE))
    assert named == {path.stem for path in (ROOT / "vouch/models/chat/templates").glob("*.jinja")}
    assert named == {entry.template for entry in ENTRIES.values()} - {None}
