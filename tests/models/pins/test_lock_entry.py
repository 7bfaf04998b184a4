"""Entries of models.lock: their keys, and the committed file with the documentation of its models."""

import csv
import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from vouch.models.engine import ENGINES
from vouch.models.lock_entry import FolderSource, HubSource, LockEntry, ServerSource
from vouch.models.pins import read_template
from vouch.params.project import Models
from vouch.pipeline.yaml12 import load, loads

COMMIT = "0123456789abcdef0123456789abcdef01234567"


FOLDER = {"kind": "folder", "path": "models/x"}
HUB = {"kind": "hub", "repo": "a/b-1.5", "revision": COMMIT}
SERVER = {"kind": "server", "url": "http://127.0.0.1:8000/v1", "name": "some-model"}


@pytest.mark.parametrize(
    ("source", "engine", "expected"),
    [
        (FOLDER, "transformers", FolderSource(kind="folder", path="models/x")),
        (HUB, "transformers", HubSource(kind="hub", repo="a/b-1.5", revision=COMMIT)),
        (SERVER, "openai", ServerSource(kind="server", url="http://127.0.0.1:8000/v1", name="some-model")),
    ],
)
def test_an_entry_and_its_defaults(source: dict[str, Any], engine: str, expected: Any) -> None:
    named = {} if engine == "transformers" else {"engine": engine}
    entry = LockEntry.model_validate({"source": source, **named})
    assert entry.source == expected
    assert (entry.engine, entry.dtype, entry.files, entry.parameters) == (engine, None, {}, None)
    assert entry.pinned == (engine == "openai" or getattr(expected, "revision", None) is not None)


@pytest.mark.parametrize(
    ("source", "files", "pinned"),
    [
        ({**HUB, "revision": COMMIT}, {}, True),
        ({**HUB, "revision": None}, {"model.safetensors": "0" * 64}, False),
        ({"kind": "folder", "path": "m"}, {"model.safetensors": "0" * 64}, True),
        ({"kind": "folder", "path": "m"}, {"config.json": "0" * 64}, False),
    ],
)
def test_pinned_is_a_commit_or_digests_of_a_folder(
    source: dict[str, object], files: dict[str, str], pinned: bool
) -> None:
    assert LockEntry.model_validate({"source": source, "files": files}).pinned is pinned


OPENAI = {"engine": "openai"}


@pytest.mark.parametrize(
    ("source", "entry", "message"),
    [
        ({"kind": "hub", "repo": "a/b"}, {}, "revision"),
        ({**HUB, "revision": "main"}, {}, "give a commit"),
        ({**HUB, "revision": COMMIT[:12]}, {}, "give a commit"),
        ({**HUB, "repo": "https://a/b"}, {}, "OWNER/NAME"),
        ({**FOLDER, "path": ""}, {}, "path"),
        ({**FOLDER, "kind": "ftp"}, {}, "folder"),
        ({**FOLDER, "revision": COMMIT}, {}, "revision"),
        (FOLDER, {"files": {"a": "12"}}, "a needs a SHA-256"),
        (FOLDER, {"dtype": "int8"}, "dtype"),
        (FOLDER, {"facts": {"colour": "red"}}, "colour"),
        (FOLDER, {"facts": {"papers": ["smith"]}}, "papers"),
        (FOLDER, {"facts": {"resolution": 0}}, "resolution"),
        (FOLDER, {"template": "../x"}, "template"),
        (FOLDER, {"engine": "../x"}, "engine"),
        (FOLDER, {"trust_remote_code": True}, "trust_remote_code"),
        (FOLDER, OPENAI, "go together"),
        (SERVER, {}, "go together"),
        ({**SERVER, "url": "h/v1"}, OPENAI, "https://HOST/v1"),
        ({**SERVER, "url": "https://k@h/v1"}, OPENAI, "leave the key"),
        *(
            ({**SERVER, "url": url}, OPENAI, "https://HOST/v1")
            for url in (
                "http://h:x/v1",
                "http://h:70000/v1",
                "http://h:0/v1",
                "http://a b/v1",
                "http://h/v1\n",
            )
        ),
        *(
            ({**SERVER, "url": url}, OPENAI, "https://HOST/v1")
            for url in ("http://[1/v1", "http://\u00fc/v1", "http://a..b/v1", f"http://{'h' * 64}/v1")
        ),
        (SERVER, {**OPENAI, "template": "t"}, "leave them out"),
        (SERVER, {**OPENAI, "files": {"a": "0" * 64}}, "leave them out"),
        (SERVER, {**OPENAI, "processor": {"do_pad": True}}, "leave them out"),
    ],
)
def test_bad_entries(source: dict[str, Any], entry: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        LockEntry.model_validate({"source": source, **entry})


@pytest.mark.parametrize("commit", ["1" * 40, "1" * 20 + "e" + "1" * 19])
def test_an_unquoted_commit_of_digits_is_told_to_be_quoted(commit: str) -> None:
    entry = loads(f"source: {{kind: hub, repo: a/b, revision: {commit}}}", "models.lock")
    with pytest.raises(ValidationError, match="in quotes"):
        LockEntry.model_validate(entry)


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
    text = (ROOT / "docs/architectures.md").read_text("utf-8").split("## Chat templates")[1]
    named = set(re.findall(r"^\| `([a-z0-9_]+)`", text, flags=re.MULTILINE))
    assert named == {path.stem for path in (ROOT / "vouch/models/chat/templates").glob("*.jinja")}
    assert named == {entry.template for entry in ENTRIES.values()} - {None}
