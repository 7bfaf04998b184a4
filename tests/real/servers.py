"""Real servers with real weights, asked as `extract`, `rewrite` and `vouch review distract` ask: `make real-tests`.

llama.cpp and `transformers serve`, both with SmolLM2-135M-Instruct. Bounded by END seconds; no server outlives it.
"""

import json
import math
import time
import urllib.request
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from stages.prepare import main as prepare
from tests.cli.conftest import lay_out, set_params
from tests.cli.reviewed import stage
from tests.models.project import Project, image, prompt
from tests.refusals import refused
from tools.real.serve import CONTEXT, GGUF, running
from tools.real.weights import make_models
from vouch.cli.main import main
from vouch.cli.review import INSTRUCTIONS, read_options
from vouch.datasets.built_choices import read_written
from vouch.models.server.abilities import Abilities, abilities
from vouch.models.server.client import ServerSettings, served
from vouch.models.server.engine import ENOUGH
from vouch.pipeline.yaml12 import load
from vouch.tables.answered import Pin, Source, pin_path, write_pin
from vouch.tables.asked import LETTERS, TEXT

END = 300.0
STARTED = time.monotonic()
pytestmark = pytest.mark.xdist_group("servers")  # one of each for all tests

ITEMS = Path(__file__).parents[2] / "docs/examples/general/items.jsonl"
IMAGE = image(1)
CAPITAL = "What is the capital of France?\nA. Rome\nB. Paris\nC. Lima\nAnswer with the letter."
ASKED = {  # the second is longer than the context, the third has a picture
    "plain": {"text": CAPITAL},
    "long": {"text": "word " * (CONTEXT + 200) + CAPITAL},
    "image": {"text": CAPITAL, "images": [IMAGE]},
    "emoji": {
        "text": "Repeat exactly: \U0001f600\U0001f984 and \u597d",
        "options": ["\U0001f600 cat", "\u597d", "\u200b"],
    },
    "begun": {"text": CAPITAL, "response": "The capital of France is"},
    "silent": {"text": "Say nothing.", "response": "I have said all. Goodbye."},
    "system": {"text": "\U0001f468\u200d\U0001f469\u200d\U0001f467?", "system": "Answer in emoji alone."},
    "empty": {"text": ""},
}


def left() -> float:
    found = END - (time.monotonic() - STARTED)
    assert found > 0, f"more than {END:g} s"
    return found


@pytest.fixture(scope="module")
def llama() -> Iterator[str]:
    with running("llama", GGUF, left()) as url:
        yield url


@pytest.fixture(scope="module")
def weights() -> Path:
    return make_models() / "smollm2"


@pytest.fixture(scope="module")
def transformers(weights: Path) -> Iterator[str]:
    with running("transformers", weights, left()) as url:
        yield url


def project_of(folder: Path, url: str, name: str, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(folder)
    for variable, value in {"TIMEOUT": "60", "TRIES": "2", "CONCURRENCY": "2"}.items():
        monkeypatch.setenv(f"VOUCH_SERVER_{variable}", value)
    made = Project(folder, folder)
    made.entry = {"source": {"kind": "server", "url": url, "name": name}, "engine": "openai"}
    made.params["extract"].update(max_tokens=12, sampling=[{"temperature": 0.7, "samples": 1}])
    made.pin()
    return made


def ask(made: Project, names: list[str]) -> dict[str, dict[str, Any]]:
    """What came for each question: output -> the row, of texts the greedy one."""
    outputs = ["letters", "likelihood", "text"]
    rows = [
        prompt(f"{name}/original", labels="ABC", outputs=outputs, **ASKED[name])  # type: ignore[arg-type]
        for name in names
    ]
    made.ask(rows, [IMAGE])
    made.extract()
    found: dict[str, dict[str, Any]] = {name: {} for name in names}
    for output in outputs:
        for row in reversed(made.rows(output)):
            found[row["prompt"].split("/")[0]][output] = row
    left()
    return found


def raw(url: str, name: str, **request: Any) -> dict[str, Any]:
    body = json.dumps({"model": name, "temperature": 0, **request}).encode()
    asked = urllib.request.Request(f"{url}/chat/completions", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(asked, timeout=min(60, left())) as answer:
        found: dict[str, Any] = json.load(answer)["choices"][0]
        return found


def test_llama_cpp(llama: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (name,) = served(llama)
    made = project_of(tmp_path, llama, name, monkeypatch)
    found = ask(made, list(ASKED))

    message = [{"role": "user", "content": CAPITAL}]
    (first,) = raw(llama, name, messages=message, max_tokens=1, logprobs=True, top_logprobs=20)["logprobs"][
        "content"
    ]
    told = {one["token"]: math.exp(one["logprob"]) for one in first["top_logprobs"]}
    for label, logit in zip("ABC", found["plain"]["letters"]["logits"], strict=True):
        assert math.exp(logit) == pytest.approx(
            sum(told.get(one, 0) for one in (label, f" {label}", f"{label}.")), abs=1e-3
        )

    problems = {name: rows["letters"]["problem"] for name, rows in found.items()}
    assert "exceeds the available context size" in problems.pop("long")
    assert "500: image input is not supported" in problems.pop("image")
    assert "begins with a piece of a character" in problems.pop("system")
    assert not any(problems.values())
    texts = {name: rows["text"]["problem"] for name, rows in found.items() if rows["text"]["problem"]}
    assert texts == {name: found[name]["letters"]["problem"] for name in ("long", "image")}
    for name, rows in found.items():
        says = texts.get(name, "the server does not score given texts")
        assert says in rows["likelihood"]["problem"]
    answered = [rows["text"] for rows in found.values() if not rows["text"]["problem"]]
    assert all(row["logprobs"] and max(row["logprobs"]) <= 0 for row in answered)
    assert "\U0001f984" in found["emoji"]["text"]["text"]
    assert "Paris" in found["begun"]["text"]["text"] and "capital" not in found["begun"]["text"]["text"]
    assert found["silent"]["text"]["text"] == "" and found["silent"]["text"]["eos"] == 0
    assert made.extract().measured["answers"]["asked"] == 0


def test_pictures_for_a_model_without_eyes_stop_the_stage_at_once(
    llama: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = project_of(tmp_path, llama, served(llama)[0], monkeypatch)
    made.ask([prompt(f"q{n}/original", f"{n}?", [IMAGE], "ABC") for n in range(ENOUGH + 8)], [IMAGE])
    start = time.monotonic()
    with refused("takes no images: .*image input is not supported"):
        made.extract()
    assert time.monotonic() - start < 20
    can = abilities(llama, served(llama)[0], ServerSettings())
    assert can == Abilities(sees=False, outputs=(LETTERS, TEXT))


def test_transformers_serve(
    transformers: str, weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It gives no log-probabilities, continues no answer, and leaves a picture out without a word."""
    name = str(weights)
    made = project_of(tmp_path, transformers, name, monkeypatch)
    found = ask(made, ["plain", "image", "emoji", "begun"])  # its context is large, and a processor slow
    for name, rows in found.items():
        turned_down = name == "begun"
        says = "no log-probabilities" if name != "emoji" else "a piece of a character"
        says = "turned the request down (422: Unexpected fields" if turned_down else says
        assert says in rows["letters"]["problem"]
        assert "does not score given texts" in rows["likelihood"]["problem"]
        assert ("422: Unexpected fields" in (rows["text"]["problem"] or "")) == turned_down
        assert turned_down or (rows["text"]["text"] and rows["text"]["logprobs"] is None)
    assert "\U0001f984" in found["emoji"]["text"]["text"]
    said = raw(
        transformers,
        name=str(weights),
        messages=[{"role": "user", "content": CAPITAL}],
        max_tokens=12,
    )
    assert found["plain"]["text"]["text"] == said["message"]["content"]
    assert made.extract().measured["answers"]["asked"] == 0


def prepared(
    folder: Path, url: str, monkeypatch: pytest.MonkeyPatch, *lines: dict[str, Any], **params: Any
) -> str:
    """A checkout, the present folder, with these questions as its dataset `toy` and the server as its rewriter.

    Gives the server's name of the model. One request at a time: a reply is then that of the request by itself.
    """
    lay_out(folder)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("VOUCH_SERVER_TIMEOUT", "60")
    monkeypatch.setenv("VOUCH_SERVER_CONCURRENCY", "1")
    (name,) = served(url)
    source = {"kind": "server", "url": url, "name": name}
    write_pin(pin_path("writer"), Pin(model="writer", engine="openai", source=Source(**source), files={}))
    entries = {"models": {"writer": {"source": source, "engine": "openai"}}}
    (folder / "models.lock").write_text(json.dumps(entries), "utf-8")
    (folder / "toy").mkdir()
    (folder / "toy/items.jsonl").write_text("\n".join(map(json.dumps, lines)), "utf-8")
    set_params(
        datasets={"toy": {"loader": "jsonl", "source": "toy", "template": "plain"}},
        models={"tiny_a": "data/trained/tiny_a"},
        helpers={"writer": "models.lock"},
        train={"tiny_a": load(Path("params.yaml"))["train"]["tiny_a"]},
        **params,
    )
    stage(prepare, "prepare", "toy")
    return name


def general(count: int) -> list[dict[str, Any]]:
    return [json.loads(line) for line in islice(ITEMS.open(encoding="utf-8"), count)]


def reply_of(url: str, name: str, text: str, most: int) -> tuple[str, bool]:
    """What the server says to one message, and whether it came to an end."""
    choice = raw(url, name, messages=[{"role": "user", "content": text}], max_tokens=most)
    return choice["message"]["content"], choice["finish_reason"] == "stop"


def test_a_server_writes_wrong_options(
    llama: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """For three open questions: the options in its replies, or why a reply has none."""
    items = [
        {"id": line["id"], "question": line["question"], "references": [line["options"][line["answer"]]]}
        for line in general(3)
    ]
    writer = {"rewriter": "data/models/writer.json", "max_tokens": 64}
    name = prepared(tmp_path, llama, monkeypatch, *items, rewrite=writer)
    assert main(["review", "distract", "toy"]) == 0
    told = capsys.readouterr().out
    written = read_written(Path("toy/wrong-options.csv"))
    for item in items:
        (answer,) = item["references"]
        prompt = INSTRUCTIONS["vqa"].format(question=item["question"], answer=answer)
        said, ended = reply_of(llama, name, prompt, 64)
        wrong = read_options(said, answer) if ended else []
        assert written.get(item["id"], []) == wrong
        assert wrong or f"'{item['id']}'" in told
    assert f"{len(written)} questions have wrong options; read them before you use them" in told
    assert main(["review", "distract", "toy"]) == 0, "replies are remembered"
    left()
