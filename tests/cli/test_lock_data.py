"""`vouch lock` of datasets, against a hub and a file server on the loopback address."""

import difflib
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from tests.datasets.test_fetch import Files, serving_files
from tests.models.pins.loopback_hub import Handler, Repo, serving
from vouch.cli import main
from vouch.pipeline.yaml12 import load

FIRST, SECOND = "1" * 40, "2" * 20 + "e" + "2" * 19  # both are numbers to YAML where they stand bare
FILES = {"/a/items.tsv": b"first", "/b/pictures.zip": b"second"}
DATASETS = """\
  hub:                 # kept as it is
    loader: mmbench
    source: vouch/datasets/fetch
    origin: {{hub: lmms-lab/data, revision: null, files: ["*.tsv"]}}   # not yet
    template: plain
  one: {{loader: mmbench, source: vouch/datasets/fetch, origin: {{url: "{server}/a/items.tsv"}}, template: plain}}
  two:
    loader: ai2d
    source: vouch/datasets/fetch
    origin:
      parts:
      - {{url: "{server}/a/items.tsv"}}
      - url: {server}/b/pictures.zip
        name: images.zip
        sha256: null   # when it is there
    template: plain
  folder: {{loader: mmbench, source: ../mirror, origin: {{hub: owner/data, split: dev}}, template: plain}}
"""


@pytest.fixture
def checkout(bare: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A checkout with a profile; nothing is pinned, and three datasets may be that."""
    repos = {
        "lmms-lab-encoder/data": Repo({FIRST: {"a.tsv": b"x"}, SECOND: {"a.tsv": b"y"}}, {"main": FIRST}),
    }
    with serving(repos, bare / "hf", monkeypatch), serving_files(dict(FILES)) as server:
        text = Path("params.yaml").read_text("utf-8").partition("\n")[2]  # where its schema is
        text = text.replace("datasets:\n", "datasets:\n" + DATASETS.format(server=server))
        Path("profiles").mkdir()
        for name in ("params.yaml", "profiles/small.yaml"):
            Path(name).write_text(text)
        Path("profiles/other.yaml").write_text("other")
        yield


def lock(*arguments: str) -> int:
    return main.main(["lock", *arguments])


def changes(before: str) -> list[str]:
    after = Path("params.yaml").read_text()
    lines = difflib.ndiff(before.splitlines(), after.splitlines())
    return [line[2:].strip() for line in lines if line[0] == "+"]


def test_a_dataset_of_the_hub(checkout, capsys):
    before = Path("params.yaml").read_text()
    assert lock("hub") == 0
    said = capsys.readouterr().out
    assert said == (
        "lock: hub: lmms-lab/data at 111111111111; written to params.yaml and profiles/small.yaml\n"
    )
    pinned = f'origin: {{hub: lmms-lab/data, revision: "{FIRST}", files: ["*.tsv"]}} # not yet'
    assert changes(before) == [pinned]
    assert Path("profiles/small.yaml").read_bytes() == Path("params.yaml").read_bytes()
    assert Path("profiles/other.yaml").read_text() == "other"
    assert not Handler.served, "no file is fetched to pin one"
    assert lock("hub") == 0 and "nothing to change" in capsys.readouterr().out
    Handler.repos["lmms-lab-encoder/data"].branches["main"] = SECOND
    Path("profiles/small.yaml").write_text("mine")
    assert lock("hub") == 0
    assert capsys.readouterr().out == (
        f"lock: hub: lmms-lab/data at {FIRST[:12]}; main has moved on to {SECOND[:12]}, "
        "`vouch lock hub --revision main` follows; nothing to change\n"
    )
    assert lock("hub", "--revision", "main") == 0
    assert "which no profile is a copy of" in capsys.readouterr().out
    assert load(Path("params.yaml"))["datasets"]["hub"]["origin"]["revision"] == SECOND
    assert lock("hub", "--revision", FIRST) == 0
    assert load(Path("params.yaml"))["datasets"]["hub"]["origin"]["revision"] == FIRST


def test_files_at_addresses(checkout):
    before = Path("params.yaml").read_text()
    digests = [sha256(data).hexdigest() for data in FILES.values()]
    assert lock("two") == 0 and lock("one") == 0
    found = load(Path("params.yaml"))
    parts = found["datasets"]["two"]["origin"]["parts"]
    assert [part["sha256"] for part in parts] == digests and parts[1]["name"] == "images.zip"
    assert found["datasets"]["one"]["origin"]["sha256"] == digests[0]
    assert len(changes(before)) == 3, "three digests"
    assert "# when it is there" in Path("params.yaml").read_text()


def test_without_a_name_all_that_is_not_pinned(checkout, capsys):
    assert lock() == 0
    said = [line.split(":")[1].strip() for line in capsys.readouterr().out.splitlines()]
    assert said == ["hub", "one", "two"]
    assert lock() == 0 and "is pinned" in capsys.readouterr().out
    assert lock("one", "two") == 0 and capsys.readouterr().out.count("nothing to change") == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["hub", "--revision", "gone"], "no such commit or branch; correct datasets.hub.origin"),
        (["hub", "--repo", "a/b"], "hub is a dataset, and --repo is for models"),
        (["one", "--revision", FIRST], "files at addresses have no revision"),
        (["folder"], "is read from ../mirror, which DVC watches: there is nothing to pin"),
        (["hup"], "no model hup; give --repo OWNER/NAME to add it; did you mean hub?"),
        (["two"], "/b/pictures.zip: the server answered 404"),
        (["hub", "one", "--revision", FIRST], "--repo and --revision are of one model or dataset"),
        (["--repo", "a/b"], "name it"),
    ],
)
def test_refusals_leave_everything_as_it_was(checkout, vouch, arguments, words):
    Files.files.pop("/b/pictures.zip")
    before = Path("params.yaml").read_bytes()
    assert words in vouch("lock", *arguments, status=1)
    assert Path("params.yaml").read_bytes() == before == Path("profiles/small.yaml").read_bytes()


def test_files_that_the_origin_names_must_be_there(checkout, capsys):
    path = Path("params.yaml")
    path.write_text(path.read_text().replace("*.tsv", "*.json"))
    assert lock("hub") == 1
    assert "no file *.json at 111111111111; correct origin.files" in capsys.readouterr().err
