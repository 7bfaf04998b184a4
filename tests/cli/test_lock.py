"""`vouch lock`: models and datasets are pinned; what people wrote in models.lock and params.yaml stays."""

import difflib
import json
from collections.abc import Iterator
from hashlib import sha256
from http.server import ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

from tests.datasets.test_fetch import Files, serving_files
from tests.models.pins.loopback_hub import Handler, Repo, serving
from tests.models.project import MODEL, ROOT, Project
from vouch.cli import main
from vouch.cli.lock import locked
from vouch.pipeline.errors import UserError
from vouch.pipeline.yaml12 import load, loads
from vouch.tables.answered import pin_path, read_pin

FIRST, SECOND = "1" * 40, "2" * 20 + "e" + "2" * 19  # both are numbers to YAML where they stand bare
WEIGHTS = {"one": np.zeros((400, 400), np.float32), "two": np.ones((3,), np.float32)}
CONFIG = {"model_type": "llava", "torch_dtype": "bfloat16"}


LOADED = ("config.json", "model.safetensors", "preprocessor_config.json", "tokenizer.json")


def files(**changed: bytes | None) -> dict[str, bytes]:
    """A repository's files; `None` leaves one out."""
    given = {
        "config.json": json.dumps(CONFIG).encode(),
        "tokenizer.json": b"{}",
        "preprocessor_config.json": b"{}",
        "model.safetensors": save(WEIGHTS),
        "README.md": b"about",
        "modeling.py": b"import os",
        "onnx/model.safetensors": b"other",
        **{name.replace("__", "."): data for name, data in changed.items()},
    }
    return {name: data for name, data in given.items() if data is not None}


def sharded(**changed: bytes | None) -> dict[str, bytes]:
    index = {"weight_map": {"one": "a.safetensors", "two": "b.safetensors"}}
    shards = {f"{name}.safetensors": save({key: WEIGHTS[key]}) for name, key in (("a", "one"), ("b", "two"))}
    listed = {
        "model.safetensors.index.json": json.dumps(index).encode(),
        "extra.safetensors": shards["b.safetensors"],
    }
    return {**files(model__safetensors=None), **listed, **shards, **changed}


def with_config(**values: object) -> Repo:
    return Repo({FIRST: files(config__json=json.dumps({**CONFIG, **values}).encode())}, {"main": FIRST})


@pytest.fixture
def repos() -> dict[str, Repo]:
    pickled = files(model__safetensors=None, pytorch_model__bin=b"a pickle")
    return {
        "owner/open": Repo({FIRST: files(), SECOND: files(tokenizer__json=b"{ }")}, {"main": FIRST}, {"license": "mit"}),
        "owner/shards": Repo({FIRST: sharded()}, {"main": FIRST}, {"license": "other", "license_name": "own"}),
        "owner/torn": Repo({FIRST: {n: d for n, d in sharded().items() if n != "a.safetensors"}}, {"main": FIRST}),
        "owner/gated": Repo({FIRST: files()}, {"main": FIRST}, refuses="GatedRepo"),
        "owner/pickled": Repo({FIRST: pickled}, {"main": FIRST}),
        "owner/empty": Repo({FIRST: {"README.md": b""}}, {"main": FIRST}),
        "owner/bare": Repo({FIRST: files(config__json=None)}, {"main": FIRST}),
        "owner/cut": Repo({FIRST: files(model__safetensors=b"\xff" * 8)}, {"main": FIRST}),
        "owner/code": with_config(model_type="own_vl", auto_map={"AutoModel": "own.Model"}),
        "owner/foreign": with_config(model_type="internvl_chat"),
        "owner/writer": with_config(model_type="llama"),
        "owner/nested": with_config(torch_dtype=None, text_config={"dtype": "float16"}),
        "owner/eight": with_config(torch_dtype="float8_e4m3fn"),
    }  # fmt: skip


@pytest.fixture
def hub(
    repos: dict[str, Repo], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ThreadingHTTPServer]:
    with serving(repos, tmp_path / "cache", monkeypatch) as server:
        yield server


def lock(text: str, name: str = "model", repo: str | None = None, revision: str | None = None) -> str:
    return locked(text, name, repo, revision)[0]


WRITTEN = """\
# Pinned models.
models:
  # kept as it is
  other: {source: {kind: folder, path: ../weights}, dtype: float16}   # mine

  model:
    source: {kind: hub, repo: owner/open, revision: null}   # not yet
    template: vicuna_v1
    facts:
      papers: [tu]
      total_parameters: 7_000_000_000   # of the paper

  # the next family
  third:
    source: {kind: server, url: 'http://127.0.0.1:8000/v1', name: x}
    engine: openai
  fourth: {source: {kind: hub, repo: a/b, revision: null}}
"""


def test_a_new_model(hub: ThreadingHTTPServer) -> None:
    text = lock("# head\nmodels: {}\n", repo="owner/open")
    digests = {n: sha256(d).hexdigest() for n, d in files().items() if n in LOADED}
    assert loads(text, "models.lock")["models"]["model"] == {
        "source": {"kind": "hub", "repo": "owner/open", "revision": FIRST},
        "engine": "transformers",
        "dtype": "bfloat16",
        "parameters": 160_003,
        "facts": {"licence": "mit"},
        "files": digests,
    }
    assert text.startswith("# head\nmodels:\n  model:\n    source: {")
    # weights are not downloaded
    assert 0 < Handler.served["model.safetensors"] <= 100_001 < len(files()["model.safetensors"])
    assert "README.md" not in Handler.served and "onnx/model.safetensors" not in Handler.served


def test_a_model_that_takes_no_images(hub: ThreadingHTTPServer) -> None:
    text, pinned_to = locked("models: {}\n", "model", "owner/writer", None)
    assert pinned_to.endswith("; it takes no images") and lock(text) == text
    entry = loads(text, "models.lock")["models"]["model"]
    assert entry["sees"] is False and "sees" not in loads(lock(WRITTEN), "models.lock")["models"]["model"]
    for repo, sees in (("owner/writer", False), ("owner/open", None)):
        text = lock(
            f"models:\n  model: {{source: {{kind: hub, repo: {repo}, revision: null}}, sees: null}} # ours\n"
        )
        entry = loads(text, "models.lock")["models"]["model"]
        assert entry["sees"] is sees and "# ours" in text, "null says nothing"
    for repo, says in (("owner/writer", "true"), ("owner/open", "false")):
        text = f"models:\n  model: {{source: {{kind: hub, repo: {repo}, revision: null}}, sees: {says}}}\n"
        with pytest.raises(UserError, match=f"model: says sees: {says}, but the model takes .*take sees out"):
            lock(text)


def test_what_people_wrote_stays(hub: ThreadingHTTPServer) -> None:
    text = lock(WRITTEN)
    added = set(text.splitlines()) - set(WRITTEN.splitlines())
    gone = set(WRITTEN.splitlines()) - set(text.splitlines())
    assert gone == {"    source: {kind: hub, repo: owner/open, revision: null}   # not yet"}
    assert f'    source: {{kind: hub, repo: owner/open, revision: "{FIRST}"}} # not yet' in added
    before, after = loads(WRITTEN, "w")["models"], loads(text, "w")["models"]
    assert list(after) == list(before)
    assert {name: after[name] for name in after if name != "model"} == {
        name: before[name] for name in before if name != "model"
    }
    assert after["model"]["facts"] == {**before["model"]["facts"], "licence": "mit"}
    kept = [line for line in text.splitlines() if line in WRITTEN.splitlines()]
    assert kept == [line for line in WRITTEN.splitlines() if line not in gone]
    assert text.index("model.safetensors:") < text.index("# the next family")
    assert lock(text) == text and lock(WRITTEN) == text, "twice the same bytes"


@pytest.mark.parametrize("name", ["llava_v1_5_13b", "paligemma_3b_mix_448", "pixtral_12b"])
def test_the_committed_file_stays_as_it_is_around_an_entry(hub: ThreadingHTTPServer, name: str) -> None:
    before = (ROOT / "models.lock").read_text("utf-8")
    dtype = loads(before, "models.lock")["models"][name].get("dtype")  # a paper's stays
    after = lock(before, name, repo="owner/open")
    changes = [line for line in difflib.ndiff(before.splitlines(), after.splitlines()) if line[0] in "-+"]
    gone = [line for line in changes if line[0] == "-"]
    assert len(gone) == 1 and gone[0].startswith("-     source: {kind: hub, repo: ")
    assert [line.split(":")[0].strip("+ ") for line in changes if line[0] == "+"] == [
        *("source", "engine", *([] if dtype else ["dtype"]), "parameters", "files"),
        *(*LOADED, "licence"),
    ]


def test_a_branch_that_moved_changes_revision_and_digests_only(
    hub: ThreadingHTTPServer, repos: dict[str, Repo]
) -> None:
    before = lock(WRITTEN).splitlines()
    repos["owner/open"].branches["main"] = SECOND
    text, said = locked("\n".join(before) + "\n", "model", None, None)
    assert text.splitlines() == before, "a known commit stays"
    moved = f"main has moved on to {SECOND[:12]}, `vouch lock model --revision main` follows"
    assert said == f"owner/open at {FIRST[:12]}, 4 files; {moved}"
    after = lock("\n".join(before) + "\n", revision="main").splitlines()
    assert len(before) == len(after)
    changed = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
    assert [new.split(":")[0].strip() for _, new in changed] == ["source", "tokenizer.json"]
    assert changed[0][1] == changed[0][0].replace(FIRST, SECOND)
    assert lock("\n".join(after) + "\n", revision=FIRST).splitlines() == before


def test_an_entry_on_one_line(hub: ThreadingHTTPServer) -> None:
    text = "models:\n  model: {source: {kind: hub, repo: owner/open, revision: null}}   # a\n\n  # b\n  x: {source: {kind: folder, path: y}}\n"
    changed = lock(text)
    assert lock(changed) == changed and changed.endswith(
        " # a\n\n  # b\n  x: {source: {kind: folder, path: y}}\n"
    )
    assert loads(changed, "m")["models"]["model"]["files"].keys() == {*LOADED}


def test_files_that_come_and_go(hub: ThreadingHTTPServer, repos: dict[str, Repo]) -> None:
    text = "models:\n  model:\n    source: {kind: hub, repo: owner/open, revision: null}\n    files:\n      config.json: %s   # c\n      gone.json: %s\n\n  # next\n  x: {source: {kind: folder, path: y}}\n"  # fmt: skip
    changed = lock(text % ("a" * 64, "b" * 64))
    assert "gone.json" not in changed and "   # c\n" in changed
    assert changed.endswith("\n\n  # next\n  x: {source: {kind: folder, path: y}}\n")
    assert changed.index("tokenizer.json") < changed.index("# next")


def test_another_repository(hub: ThreadingHTTPServer) -> None:
    entry = loads(lock(lock(WRITTEN), repo="owner/shards"), "m")["models"]["model"]
    assert entry["source"]["repo"] == "owner/shards" and entry["facts"]["licence"] == "mit"
    assert {"a.safetensors", "b.safetensors", "extra.safetensors"} <= entry["files"].keys()
    assert "model.safetensors" not in entry["files"]


@pytest.mark.parametrize(
    ("repo", "dtype", "facts"),
    [
        ("owner/shards", "bfloat16", {"licence": "own"}),
        ("owner/writer", "bfloat16", None),  # a language model, to rewrite
        ("owner/nested", "float16", None),
        ("owner/eight", "float32", None),
    ],
)
def test_what_is_read_from_a_repository(
    hub: ThreadingHTTPServer, repo: str, dtype: str, facts: dict[str, str] | None
) -> None:
    entry = loads(lock("models: {}", repo=repo), "m")["models"]["model"]
    assert (entry["dtype"], entry.get("facts")) == (dtype, facts)
    assert entry["parameters"] == 160_003, "those of the index, not extra.safetensors"


REFUSALS = [
    ("owner/gated", None, "gated; accept its terms on the hub"),
    ("owner/absent", None, r"no such repository, or a private one; correct --repo or --revision"),
    ("owner/open", "nobranch", "owner/open at nobranch: the repository has no such commit or branch"),
    ("owner/busy", None, "the hub answered 418"),
    ("owner/pickled", None, r"only pickled weights \(pytorch_model\.bin\), which can run code"),
    ("owner/empty", None, "owner/empty: no weights"),
    ("owner/bare", None, r"no config\.json"),
    ("owner/cut", None, "owner/cut at main: its weights are damaged; correct --repo or --revision"),
    ("owner/torn", None, r"lacks a\.safetensors, which model\.safetensors\.index\.json names"),
    ("owner/code", None, r"config\.json: asks for code of its own \(auto_map\)"),
    ("owner/foreign", None, "model_type internvl_chat is none that transformers"),
    ("no repo/x", None, "give a hub repository as OWNER/NAME"),
]


NAMES = [
    ("modle", None, r"no model modle; give --repo OWNER/NAME to add it; .*did you mean model\?"),
    ("other", "owner/open", "other is not a model of the hub"),
    ("third", None, "third is on a server"),
    ("Model-1", "owner/open", r"models\.lock: models\.Model-1"),
]


@pytest.mark.parametrize(
    ("text", "name", "repo", "revision", "message"),
    [
        *(("models: {}", "model", repo, revision, message) for repo, revision, message in REFUSALS),
        *((WRITTEN, name, repo, None, message) for name, repo, message in NAMES),
    ],
)
def test_refusals_are_one_line(
    hub: ThreadingHTTPServer, text: str, name: str, repo: str | None, revision: str | None, message: str
) -> None:
    with pytest.raises(UserError, match=message) as caught:
        lock(text, name, repo, revision)
    assert "\n" not in str(caught.value)


def test_without_a_network(hub: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
        with pytest.raises(UserError, match="run `vouch lock model` without HF_HUB_OFFLINE"):
            lock(WRITTEN)
    monkeypatch.setattr("time.sleep", lambda seconds: None)  # the client's pauses between its attempts
    hub.shutdown()
    hub.server_close()
    with pytest.raises(UserError, match=r"ConnectError.*run `vouch lock model` on a machine with a network"):
        lock(WRITTEN)


@pytest.fixture
def project(tmp_path: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project with one model in a folder."""
    (tmp_path / "root").mkdir()
    monkeypatch.chdir(tmp_path / "root")
    return Project(tmp_path / "root", tiny)


def command(project: Project, *arguments: str) -> int:
    """Runs `vouch lock` in the project, which keeps the entry it wrote."""
    project.save()
    status = main.main(["lock", MODEL, *arguments])
    project.entry = loads((project.path / "models.lock").read_text("utf-8"), "m")["models"][MODEL]
    return status


def test_a_locked_folder_is_pinned(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(project) == 0
    project.pin()
    assert read_pin(pin_path(MODEL)).files == project.entry["files"]
    assert project.entry["parameters"] == read_pin(pin_path(MODEL)).parameters
    assert command(project) == 0 and "nothing to change" in capsys.readouterr().out


def test_a_locked_hub_model_is_pinned(
    project: Project, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = {path.name: path.read_bytes() for path in tiny.iterdir()}
    project.entry = {"source": {"kind": "hub", "repo": "owner/tiny", "revision": None}}
    with serving({"owner/tiny": Repo({FIRST: held}, {"main": FIRST})}, tmp_path / "cache", monkeypatch):
        assert command(project) == 0
        project.pin()
    pin = read_pin(pin_path(MODEL))
    assert (pin.files, pin.source.revision) == (project.entry["files"], FIRST)


def test_a_refusal_leaves_the_file_alone(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    project.entry["source"]["path"] = "nowhere"
    project.save()
    before = (project.path / "models.lock").read_bytes()
    assert main.main(["lock", MODEL]) == 1
    error = capsys.readouterr().err
    assert error.startswith("vouch: ") and error.count("\n") == 1
    assert (project.path / "models.lock").read_bytes() == before


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
        "lmms-lab-encoder/data": Repo({FIRST: {"a.tsv": b"x"}, SECOND: {"a.tsv": b"y"}}, {"main": FIRST})
    }
    with serving(repos, bare / "hf", monkeypatch), serving_files(dict(FILES)) as server:
        text = Path("params.yaml").read_text("utf-8").partition("\n")[2]  # where its schema is
        text = text.replace("datasets:\n", "datasets:\n" + DATASETS.format(server=server))
        Path("profiles").mkdir()
        for name in ("params.yaml", "profiles/small.yaml"):
            Path(name).write_text(text)
        Path("profiles/other.yaml").write_text("other")
        yield


def lock_datasets(*arguments: str) -> int:
    return main.main(["lock", *arguments])


def changes(before: str) -> list[str]:
    after = Path("params.yaml").read_text()
    lines = difflib.ndiff(before.splitlines(), after.splitlines())
    return [line[2:].strip() for line in lines if line[0] == "+"]


def test_a_dataset_of_the_hub(checkout, capsys):
    before = Path("params.yaml").read_text()
    assert lock_datasets("hub") == 0
    said = capsys.readouterr().out
    assert said == (
        "lock: hub: lmms-lab/data at 111111111111; written to params.yaml and profiles/small.yaml\n"
    )
    pinned = f'origin: {{hub: lmms-lab/data, revision: "{FIRST}", files: ["*.tsv"]}} # not yet'
    assert changes(before) == [pinned]
    assert Path("profiles/small.yaml").read_bytes() == Path("params.yaml").read_bytes()
    assert Path("profiles/other.yaml").read_text() == "other"
    assert not Handler.served, "no file is fetched to pin one"
    assert lock_datasets("hub") == 0 and "nothing to change" in capsys.readouterr().out
    Handler.repos["lmms-lab-encoder/data"].branches["main"] = SECOND
    Path("profiles/small.yaml").write_text("mine")
    assert lock_datasets("hub") == 0
    assert capsys.readouterr().out == (
        f"lock: hub: lmms-lab/data at {FIRST[:12]}; main has moved on to {SECOND[:12]}, "
        "`vouch lock hub --revision main` follows; nothing to change\n"
    )
    assert lock_datasets("hub", "--revision", "main") == 0
    assert "which no profile is a copy of" in capsys.readouterr().out
    assert load(Path("params.yaml"))["datasets"]["hub"]["origin"]["revision"] == SECOND
    assert lock_datasets("hub", "--revision", FIRST) == 0
    assert load(Path("params.yaml"))["datasets"]["hub"]["origin"]["revision"] == FIRST
    # the branch `main` has a script only, the hub's own conversion the tables
    repo = Handler.repos["lmms-lab-encoder/data"]
    repo.commits |= {"3" * 40: {"a.tsv": b"z"}, "4" * 40: {"load.py": b""}}
    repo.branches |= {"main": "4" * 40, "refs%2Fconvert%2Fparquet": "3" * 40}
    capsys.readouterr()
    assert lock_datasets("hub", "--revision", "refs/convert/parquet") == 0
    assert "moved on" not in capsys.readouterr().out
    assert load(Path("params.yaml"))["datasets"]["hub"]["origin"]["revision"] == "3" * 40


def test_files_at_addresses(checkout):
    before = Path("params.yaml").read_text()
    digests = [sha256(data).hexdigest() for data in FILES.values()]
    assert lock_datasets("two") == 0 and lock_datasets("one") == 0
    found = load(Path("params.yaml"))
    parts = found["datasets"]["two"]["origin"]["parts"]
    assert [part["sha256"] for part in parts] == digests and parts[1]["name"] == "images.zip"
    assert found["datasets"]["one"]["origin"]["sha256"] == digests[0]
    assert len(changes(before)) == 3, "three digests"
    assert "# when it is there" in Path("params.yaml").read_text()


def test_without_a_name_all_that_is_not_pinned(checkout, capsys):
    assert lock_datasets() == 0
    said = [line.split(":")[1].strip() for line in capsys.readouterr().out.splitlines()]
    assert said == ["hub", "one", "two"]
    assert lock_datasets() == 0 and "is pinned" in capsys.readouterr().out
    assert lock_datasets("one", "two") == 0 and capsys.readouterr().out.count("nothing to change") == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["hub", "--revision", "gone"], "no such commit or branch; correct datasets.hub.origin"),
        (["hub", "--repo", "a/b"], "hub is a dataset, and --repo is for models"),
        (["one", "--revision", FIRST], "files at addresses have no revision"),
        (["folder"], "is read from ../mirror, which DVC tracks; there is nothing to pin"),
        (["hup"], "no model hup; give --repo OWNER/NAME to add it; did you mean hub?"),
        (["two"], "/b/pictures.zip: the server answered 404"),
        (["hub", "one", "--revision", FIRST], "--repo and --revision need the name of one model or dataset"),
        (["--repo", "a/b"], "--repo and --revision need the name"),
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
    assert lock_datasets("hub") == 1
    assert "no file *.json at 111111111111; correct origin.files" in capsys.readouterr().err
