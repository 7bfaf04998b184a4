"""Batch files against the same server asked live: the same keys, the same tables."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.models.loopback_server import NAME, Loopback, TinyModel, serving
from tests.models.project import DATASET, MODEL, Project, prompt
from tests.models.project import picture as png
from vouch.cli.main import main


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loopback]:
    from tests.models.tiny import save_llava

    with serving(TinyModel(save_llava(tmp_path_factory.mktemp("served")))) as running:
        yield running


@pytest.fixture
def project(server: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(tmp_path)
    made = Project(tmp_path, tmp_path)
    made.entry = {"source": {"kind": "server", "url": server.url, "name": NAME}, "engine": "openai"}
    made.params["extract"]["sampling"] = [{"temperature": 0.7, "samples": 2}]
    made.pin()
    data = png(1)
    asking = {"marks": "ABC", "outputs": ["letters", "text"]}
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
    assert capsys.readouterr().out == "16 requests in 1 files in out\n", (
        "4 letters, 4 x 3 texts, no second turn yet"
    )
    lines = batch(server, [Path("out/1.jsonl")])
    assert len({json.loads(line)["custom_id"] for line in lines}) == 16
    expired = json.dumps({**json.loads(lines[0]), "response": None, "error": {"code": "batch_expired"}})
    refused = json.loads(lines[1])
    refused["response"] = {"status_code": 400, "body": {"error": {"message": "too many pixels"}}}
    Path("answers.jsonl").write_text("\n".join([expired, *lines[2:]]), "utf-8")
    Path("errors.jsonl").write_text(json.dumps(refused) + "\n", "utf-8")
    assert main(["server", "batch", "import", MODEL, "answers.jsonl", "errors.jsonl"]) == 0
    assert f"{MODEL} {DATASET}: 15 answers taken, 5 still to be asked" in capsys.readouterr().out
    assert main(["server", "batch", "export", MODEL, "again"]) == 0
    assert capsys.readouterr().out == "5 requests in 1 files in again\n", "the one that expired, and the turn"
    Path("rest.jsonl").write_text("\n".join(batch(server, [Path("again/1.jsonl")])), "utf-8")
    assert main(["server", "batch", "import", MODEL, "rest.jsonl"]) == 0

    before = len(server.requests)
    project.extract()
    assert len(server.requests) == before, "nothing is left to ask"
    rows = {output: project.rows(output) for output in ("letters", "text")}
    problems = [row["problem"] for of in rows.values() for row in of if row["problem"]]
    assert problems == ["the server turned the request down (400: too many pixels)"]
    for shard in project.shards():
        shard.unlink()
    project.extract()
    for output, live in ((output, project.rows(output)) for output in rows):
        assert [one for one in rows[output] if not one["problem"]] == [
            one for one, ours in zip(live, rows[output], strict=True) if not ours["problem"]
        ]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["export", MODEL, "."], ".: exists; name a new folder"),
        (["import", MODEL, "nothing.jsonl"], "nothing.jsonl: not readable"),
        (["import", MODEL, "params.yaml"], "params.yaml line 1: no line of a batch's output"),
        (["export", "nobody", "out"], "nobody"),
    ],
)
def test_what_cannot_be(
    project: Project, arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["server", "batch", *arguments]) == 1
    error = capsys.readouterr().err
    assert says in error and error.count("\n") == 1
