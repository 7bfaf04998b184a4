"""Batch files against the same server asked live: the same keys, the same tables."""

import json
import os
import resource
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Vouch
from tests.models.loopback_server import NAME, Loopback, StandIn, serving
from tests.models.project import DATASET, MODEL, Project, prompt
from tests.models.project import image as png
from vouch.cli.main import main
from vouch.cli.server import RequestFiles
from vouch.models.server.batch import BatchReply, RequestBatch
from vouch.models.server.engine import Job

TOO_LONG = "maximum context length is 8 tokens"


@pytest.fixture(scope="module")
def server() -> Iterator[Loopback]:
    with serving(StandIn()) as running:
        yield running


@pytest.fixture
def project(server: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(tmp_path)
    made = Project(tmp_path, tmp_path)
    made.entry = {"source": {"kind": "server", "url": server.url, "name": NAME}, "engine": "openai"}
    made.params["extract"]["sampling"] = [{"temperature": 0.7, "samples": 2}]
    made.pin()
    data = png(1)
    asking = {"labels": "ABC", "outputs": ["letters", "text"]}
    rows = [prompt(f"i{n}/original", f"what is shown {n} here", [data], **asking) for n in range(4)]
    rows.append(
        prompt(
            "i9/original",
            "and here",
            [data],
            turns=[("what", "{answer 1}")],
            earlier=[["i0/original"]],
            **asking,
        )
    )
    made.ask(rows, [data])
    made.ask([], [], "other")
    return made


def batch(server: Loopback, files: list[Path]) -> list[str]:
    """What a host makes of the files: the answers of the live server, in another order."""
    lines = []
    for line in reversed([line for path in files for line in path.read_text("utf-8").splitlines()]):
        asked: dict[str, Any] = json.loads(line)
        assert asked["method"] == "POST" and asked["url"] == "/v1/chat/completions"
        reply = server.reply(asked["body"], "")
        response = {"status_code": reply.status, "request_id": "r", "body": json.loads(reply.body)}
        lines.append(
            json.dumps({"id": "b", "custom_id": asked["custom_id"], "response": response, "error": None})
        )
    return lines


def test_batch_answers_are_the_live_ones(
    server: Loopback, project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["server", "batch", "export", MODEL, "out"]) == 0
    assert capsys.readouterr().out == f"16 requests in 1 file in {Path('out').absolute()}\n", (
        "4 letters, 4 x 3 texts, no second turn yet"
    )
    lines = batch(server, [Path("out/1.jsonl")])
    assert len({json.loads(line)["custom_id"] for line in lines}) == 16
    expired = json.dumps({**json.loads(lines[0]), "response": None, "error": {"code": "batch_expired"}})
    refused = json.loads(lines[1])
    refused["response"] = {"status_code": 400, "body": {"error": {"message": TOO_LONG}}}
    Path("answers.jsonl").write_text("\n".join([expired, *lines[2:]]), "utf-8")
    Path("errors.jsonl").write_text(json.dumps(refused) + "\n", "utf-8")
    assert main(["server", "batch", "import", MODEL, "answers.jsonl", "errors.jsonl"]) == 0
    assert f"{MODEL} {DATASET}: 15 answers taken, 5 still to be asked" in capsys.readouterr().out
    assert main(["server", "batch", "export", MODEL, "again"]) == 0
    assert capsys.readouterr().out == f"5 requests in 1 file in {Path('again').absolute()}\n", (
        "the one that expired, and the turn"
    )
    Path("rest.jsonl").write_text("\n".join(batch(server, [Path("again/1.jsonl")])), "utf-8")
    assert main(["server", "batch", "import", MODEL, "rest.jsonl"]) == 0

    before = len(server.requests)
    project.extract()
    assert len(server.requests) == before, "nothing is left to ask"
    rows = {output: project.rows(output) for output in ("letters", "text")}
    problems = [row["problem"] for of in rows.values() for row in of if row["problem"]]
    assert problems == [f"the server turned the request down (400: {TOO_LONG})"]
    for shard in project.shards():
        shard.unlink()
    project.extract()
    for output, live in ((output, project.rows(output)) for output in rows):
        assert [one for one in rows[output] if not one["problem"]] == [
            one for one, ours in zip(live, rows[output], strict=True) if not ours["problem"]
        ]


def ask_for_letters(project: Project, *datasets: tuple[str, list[str]]) -> None:
    """The same words and picture under each id."""
    data = png(1)
    for dataset, ids in datasets:
        asking = {"labels": "ABC", "outputs": ["letters"]}
        project.ask([prompt(one, "what is shown", [data], **asking) for one in ids], [data], dataset)


def one_line(server: Loopback, project: Project) -> str:
    """The answer to the one request of a project with one prompt."""
    ask_for_letters(project, (DATASET, ["i0/original"]), ("other", []))
    assert main(["server", "batch", "export", MODEL, "out"]) == 0
    (line,) = batch(server, [Path("out/1.jsonl")])
    return line


def imported(files: Sequence[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Imports these texts as files of their own, with nothing known before; what is said of the dataset."""
    shutil.rmtree(".vouch/work", ignore_errors=True)
    capsys.readouterr()
    paths = [Path(f"{number}.jsonl") for number in range(len(files))]
    for path, text in zip(paths, files, strict=True):
        path.write_text(text, "utf-8")
    assert main(["server", "batch", "import", MODEL, *map(str, paths)]) == 0
    return next(line for line in capsys.readouterr().out.splitlines() if DATASET in line)


def test_what_a_live_run_may_get_is_asked_again(
    server: Loopback, project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    line = one_line(server, project)
    for status, body in (
        (400, {"error": {"message": "'max_tokens' is not supported"}}),
        (400, {"error": {"message": "logprobs are not supported"}}),
        (400, {"error": {"message": "top_logprobs must be <= 5"}}),
        (422, {"error": {"message": "top_logprobs is too large"}}),
        (200, {"choices": [{"message": {"content": "A"}}]}),
    ):
        refused = replied(line, response={"status_code": status, "body": body})
        assert imported([refused], capsys).endswith(": 0 answers taken, 1 still to be asked")
    project.extract()
    assert not project.letters()[0]["problem"]


def test_a_request_stands_once_and_answers_every_place(
    server: Loopback, project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two packs and two datasets ask it; the paths are those of a subfolder, where the user stands."""
    pair = ["i1/original/0", "i1/original/1"]
    root, below = Path.cwd(), Path("below").absolute()
    below.mkdir()
    ask_for_letters(project, (DATASET, ["i0/original", *pair]), ("other", ["i2/original"]))
    monkeypatch.chdir(below)
    assert main(["server", "batch", "export", MODEL, "out"]) == 0
    assert capsys.readouterr().out == f"1 request in 1 file in {below / 'out'}\n"
    (below / "answers.jsonl").write_text("\n".join(batch(server, [below / "out/1.jsonl"])), "utf-8")
    monkeypatch.chdir(below)
    assert main(["server", "batch", "import", MODEL, "answers.jsonl"]) == 0
    counts = [line.split(": ")[1] for line in capsys.readouterr().out.splitlines()]
    assert counts == [f"{kept} answers taken, 0 still to be asked" for kept in (1, 2)], (
        "`other` first; what it has taken, the next dataset knows"
    )
    monkeypatch.chdir(root)
    before = len(server.requests)
    project.extract()
    project.extract("other")
    assert len(server.requests) == before
    assert len(project.letters()) == 3 and len(project.letters("other")) == 1


def test_an_export_that_fails_leaves_no_folder(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Half of the requests would look like all of them."""
    write, written = RequestFiles.write, list[str]()

    def full(parts: RequestFiles, name: str, line: str) -> None:
        if written:
            raise OSError(28, "No space left on device")
        written.append(name)
        write(parts, name, line)

    monkeypatch.setattr(RequestFiles, "write", full)
    assert main(["server", "batch", "export", MODEL, "out"]) == 1
    assert "no space left on the disk" in capsys.readouterr().err
    assert written and not [path for path in Path().iterdir() if "out" in path.name]


def test_an_import_that_fails_keeps_what_it_took(
    server: Loopback, project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["server", "batch", "export", MODEL, "out"]) == 0
    Path("answers.jsonl").write_text("\n".join(batch(server, [Path("out/1.jsonl")])), "utf-8")
    given, taken = RequestBatch._given, list[object]()

    def broken(engine: RequestBatch, job: Job, reply: BatchReply | None) -> tuple[Any, list[str]]:
        if len(taken) == 3:
            raise OSError(5, "Input/output error")
        taken.append(job)
        return given(engine, job, reply)

    with monkeypatch.context() as during:
        during.setattr(RequestBatch, "_given", broken)
        assert main(["server", "batch", "import", MODEL, "answers.jsonl"]) == 1
    capsys.readouterr()
    assert main(["server", "batch", "export", MODEL, "again"]) == 0
    assert capsys.readouterr().out.startswith("17 requests"), (
        "sixteen without three, and the four of the second turn"
    )


def replied(line: str, **changes: Any) -> str:
    return json.dumps({**json.loads(line), **changes})


WORSE: list[dict[str, Any]] = [
    {"response": None, "error": {"code": "batch_expired"}},
    {"response": {"status_code": 500, "body": {"error": {"message": "poison"}}}},
    {"response": {"status_code": 400, "body": {"error": {"message": TOO_LONG}}}},
    {"response": {"status_code": 429, "body": None}, "error": None},
    {"response": {"status_code": 200, "body": {"error": "none"}}},
    {"response": {"status_code": None}},
    {"response": {"status_code": 200, "body": {"choices": [{}]}}},
    {"response": {"status_code": 200, "body": {"choices": [{"index": 0, "message": {"content": None}}]}}},
    {"response": {"status_code": 200, "body": {"choices": [{"index": 0, "message": {"content": "A"}}]}}},
    {"response": ["?"]},
    {"response": "?", "error": 5},
]


def test_an_answer_outlives_an_error_of_the_same_request(
    server: Loopback, project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before or after it, in the same file or in another one."""
    line = one_line(server, project)
    for worse in WORSE:
        lines = [line, replied(line, **worse)]
        for order in (lines, lines[::-1]):
            for files in (order, ["\n".join(order)]):
                text = imported([f"\ufeff{file}\r\n\n" for file in files], capsys)
                assert text.endswith(": 1 answers taken, 0 still to be asked"), worse
    project.extract()
    assert not project.letters()[0]["problem"]


def test_an_odd_answer_does_not_stop_an_import(
    server: Loopback, project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["server", "batch", "export", MODEL, "out"]) == 0
    lines = batch(server, [Path("out/1.jsonl")])
    half = lines[0].replace('"token": "', '"token": "\\ud83d')
    assert half != lines[0]
    others = [replied(lines[1], response={"status_code": "?"}), replied(lines[2], custom_id="x" * 9999)]
    Path("answers.jsonl").write_text("\n".join([half, *others, *lines[3:]]), "utf-8")
    assert main(["server", "batch", "import", MODEL, "answers.jsonl"]) == 0
    assert f"{DATASET}: 14 answers taken" in capsys.readouterr().out


@pytest.mark.parametrize("kind", ["pipe", "device", "one line", "folder", "too many"])
def test_an_import_is_bounded(
    project: Project, kind: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    says = {
        "pipe": "a named pipe",
        "device": "a device",
        "one line": "line 1: no line of",
        "folder": "not readable",
    }
    if kind == "pipe":
        os.mkfifo("answers")
    elif kind == "device":
        Path("answers").symlink_to("/dev/zero")
    elif kind == "folder":
        Path("answers").mkdir()
    else:
        with Path("answers").open("wb") as file:
            if kind == "one line":
                file.truncate(2 << 30)  # two gigabytes of zeros that take no room
            else:
                monkeypatch.setattr("vouch.models.server.batch.MOST_REPLIES", 5)
                file.writelines(b'{"custom_id": "%064x"}\n' % number for number in range(9))
    start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert main(["server", "batch", "import", MODEL, "answers"]) == 1
    error = capsys.readouterr().err
    assert says.get(kind, "more than 5 replies") in error and error.count("\n") == 1
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - start < 200_000, "kilobytes"


def test_what_cannot_be(project: Project, vouch: Vouch) -> None:
    for words, claim in (
        (("export", MODEL, "."), ": exists; name a new folder"),
        (("import", MODEL, "nothing.jsonl"), "nothing.jsonl: not readable"),
        (("import", MODEL, "params.yaml"), "params.yaml line 1: no line of a batch's output"),
        (("export", "nobody", "out"), "nobody"),
    ):
        assert claim in vouch("server", "batch", *words, status=1)
