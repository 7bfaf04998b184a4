"""`vouch new`: a profile from data and models alone; folders, servers, what the hub has, and what is refused."""

import json
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from tests.checkouts.checkout import ROOT
from tests.cli.conftest import Vouch, flat, lay_out
from tests.cli.test_lock import FIRST, files
from tests.datasets.loaders.built import png
from tests.datasets.test_fetch import listening
from tests.models.pins.loopback_hub import Repo, serving
from vouch.cli.main import main
from vouch.params.check import check_params
from vouch.pipeline.yaml12 import load

LINE = {"question": "Which?", "options": ["red", "blue"], "answer": 0, "image": "a.png"}
MODEL = ("config.json", "model.safetensors", "tokenizer.json", "preprocessor_config.json")
FOLDERS = {
    "my-model": MODEL,
    "no-processor": MODEL[:3],
    "half-a-processor": (*MODEL[:3], "processor_config.json"),
    "no-tokenizer": (*MODEL[:2], MODEL[3], "tokenizer_config.json"),
    "no-weights": (MODEL[0], *MODEL[2:]),
    "table": ("a.csv",),
    "document": ("data.json",),
    "images": ("a.png",),
    "gguf": ("m.gguf",),
    "empty": (),
}
"""Folders beside the checkout, and the files in them."""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout; beside it two folders of questions and one of a model, and the present folder is one above."""
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    lay_out(checkout, "decisions")
    (checkout / "profiles").mkdir()
    for name, count in (("Kites 2", 3), ("signs", 1), ("\u65e5", 1), ("\u672c", 1)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.png").write_bytes(png())
        lines = "".join(json.dumps(LINE) + "\n" for _ in range(count))
        (tmp_path / name / "items.jsonl").write_text(lines, "utf-8")
    for name, names in FOLDERS.items():
        (tmp_path / name).mkdir()
        for file in names:
            (tmp_path / name / file).write_text("{}", "utf-8")
    for folder in tmp_path.glob("*/config.json"):
        folder.write_text('{"model_type": "llava"}', "utf-8")
    (tmp_path / "lines").mkdir()
    shutil.copy(tmp_path / "signs/items.jsonl", tmp_path / "lines/train.jsonl")
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked/items.jsonl").symlink_to("../signs/items.jsonl")
    (tmp_path / "linked/other.jsonl").symlink_to("../lines/train.jsonl")
    monkeypatch.chdir(checkout)
    return checkout


ODD = {
    "/rows/models": b"[1]",
    "/null/models": b'{"data": null}',
    "/nameless/models": b'{"data": [{}]}',
    "/deep/models": b"[" * 200_000,
    "/empty/models": {"data": []},
    "/null-name/models": {"data": [{"id": None}]},
    "/list-name/models": {"data": [{"id": ["b"]}]},
    "/escape/models": {"data": [{"id": "a\x1b[31m"}]},
    "/half/models": b'{"data": [{"id": "a\\ud800"}]}',
    "/blank/models": {"data": [{"id": "b "}]},
    "/no-name/models": {"data": [{"id": ""}]},
    "/twice/models": {"data": [{"id": "b"}, {"id": "b"}, {"id": "c"}]},
    "/long/models": {"data": [{"id": "b"}, {"id": "l" * 5000}]},
}
"""What a server may give instead of a usual list of models."""


class Lists(BaseHTTPRequestHandler):
    """A server that lists its models; at /many several, at /none nothing that can be read.

    At /v1 it takes no images, and at /quiet it gives no log-probabilities; at /many nobody knows. At /slow
    the list comes byte by byte.
    """

    def do_GET(self) -> None:
        if self.path == "/slow/models":
            return self._drip()
        if self.path == "/501/models":
            return self._send(501, {})
        if self.path in ODD:
            return self._send(200, ODD[self.path])
        listed = {"/v1/models": ["org/Big-7B"], "/many/v1/models": ["a", "b"], "/quiet/v1/models": ["quiet"]}
        names = listed.get(self.path)
        self._send(200, {"data": [{"id": name} for name in names]} if names else {"wrong": 1})

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path.startswith("/v1/") and "image_url" in str(asked["messages"]):
            self._send(400, {"error": {"message": "org/Big-7B is not a multimodal model"}})
        elif self.path.startswith(("/v1/", "/quiet/")):
            given = {"content": [{"token": "A", "logprob": -0.1}]} if self.path.startswith("/v1/") else None
            message = {"role": "assistant", "content": "A"}
            choice = {"index": 0, "message": message, "logprobs": given, "finish_reason": "length"}
            self._send(200, {"choices": [choice]})
        else:
            self._send(400, {})

    def _drip(self) -> None:
        with suppress(OSError):
            for byte in b"HTTP/1.0 200 OK\r\n\r\n" + b" " * 100:
                self.wfile.write(bytes([byte]))
                time.sleep(0.05)

    def _send(self, status: int, value: object) -> None:
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@pytest.fixture
def server() -> Iterator[str]:
    with listening(Lists) as address:
        yield address


def test_folders_become_a_profile_that_names_them_and_nothing_else(here: Path, vouch: Vouch) -> None:
    said = vouch("new", "mine", "--data", "../Kites 2", "--data", "../signs", "--model", "../my-model")
    assert "3 questions of kites_2, 1 question of signs, for my_model" in said
    assert load(Path("profiles/mine.yaml")) == {
        "profile": "mine",
        "datasets": {
            "kites_2": {"source": "../Kites 2", "template": "plain"},
            "signs": {"source": "../signs", "template": "plain"},
        },
        "models": {"my_model": "../my-model"},
    }
    assert "kites_2" in vouch("plan", "mine")
    assert "params.yaml is now mine" in vouch("use", "mine")
    values = load(Path("params.yaml"))
    assert check_params(values, "params.yaml").datasets["signs"].loader == "jsonl"
    assert values["score"]["alpha"] == 0.1 and values["datasets"]["signs"]["template"] == "plain"
    shutil.copy("params.yaml", "before.yaml")
    assert "kept as" not in vouch("use", "mine"), "params.yaml was that of the profile"
    assert "score.alpha" not in vouch("use", "mine", "--set", "score.alpha=0.2")
    assert load(Path("params.yaml"))["score"]["alpha"] == 0.2


def test_a_file_of_lines_is_data_as_its_folder_is(here: Path, vouch: Vouch) -> None:
    """A file with another name than items.jsonl gets its own in the dataset's settings."""
    given = ("--data", "../signs/items.jsonl", "--data", "../lines/train.jsonl")
    assert "1 question of signs, 1 question of train" in vouch("new", "mine", *given, "-m", "../my-model")
    named = {"source": "../lines", "template": "plain", "settings": {"file": "train.jsonl"}}
    signs = {"source": "../signs", "template": "plain"}
    assert load(Path("profiles/mine.yaml"))["datasets"] == {"signs": signs, "train": named}


@pytest.mark.parametrize(
    ("count", "sets", "better"),
    [(12, True, True), (17, True, True), (18, False, True), (29, False, True), (30, False, False)],
)
def test_what_too_few_questions_cannot_show_is_said(
    here: Path, vouch: Vouch, count: int, sets: bool, better: bool
) -> None:
    Path("../signs/items.jsonl").write_text((json.dumps(LINE) + "\n") * count, "utf-8")
    text = vouch("new", "mine", "--data", "../signs", "--model", "../my-model")
    lines = [line for line in text.splitlines() if line.startswith(f"new: signs: with {count} questions, ")]
    assert len(lines) == better and ("wide intervals" in text) == better
    assert ("leave out an option (that takes 18 independent questions)" in text) == sets
    assert ("better than another or than a guess (" in text) == better
    assert all(line.endswith("; add questions; docs/small-data.md says how many") for line in lines)


@pytest.mark.parametrize(
    "content",
    [b"\0" * 100, (json.dumps(LINE) + "\n").encode("utf-16"), b'{"question": \n', b'{"question": "Which?"}\n{}\n'],
)  # fmt: skip
def test_lines_at_which_a_run_would_stop_are_named(here: Path, vouch: Vouch, content: bytes) -> None:
    """The profile is written, as the lines can be corrected; the plan says the same."""
    Path("../signs/items.jsonl").write_bytes(content)
    text = vouch("new", "mine", "--data", "../signs", "--data", "../Kites 2", "--model", "../my-model")
    (line,) = re.findall("prepare@signs will stop: (.+)", text)
    assert "signs/items.jsonl line" in line and line in flat(vouch("plan", "mine"))
    assert re.search("[12] lines? of signs, 3 questions of kites_2", text) and "reports/" not in text
    assert text.endswith("`vouch use mine` switches to it; correct the lines before `dvc repro`\n")


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("\u65e5\u672c", "data"), ("\u043a\u0430\u0440\u0442\u044b", "data"), ("\U0001f98b", "data"), ("---", "data"),
        ("\xdcbung \xc4pfel", "ubung_apfel"), ("cafe\u0301", "cafe"), ("\uff2b\uff29\uff34\uff25\uff33", "kites"),
        ("\u65e5\u672c-2", "m_2"), ("kites \u65e5", "kites"), ("_Kites", "kites"), ("2024", "m_2024"),
        (99 * "n" + "-kites", 99 * "n"),
    ],
)  # fmt: skip
def test_folders_may_be_named_in_other_letters(here: Path, vouch: Vouch, folder: str, name: str) -> None:
    shutil.copytree("../signs", f"../{folder}")
    vouch("new", "mine", "--data", f"../{folder}", "--model", "../my-model")
    assert load(Path("profiles/mine.yaml"))["datasets"] == {
        name: {"source": f"../{folder}", "template": "plain"}
    }


@pytest.mark.parametrize(
    "given", ["data/trained/tiny_a", "data/trained/tiny_b/", "./data/../data/trained/tiny_a"]
)
def test_a_model_that_a_stage_trains_brings_what_trains_it(here: Path, vouch: Vouch, given: str) -> None:
    """From params.yaml or else from a profile; whether it is trained already does not matter."""
    train = load(ROOT / "profiles/small.yaml")["train"]["tiny_a"] | {"seed": 3}
    Path("params.yaml").write_text(f"train: {{tiny_a: {json.dumps(train)}}}\n", "utf-8")
    Path("profiles/other.yaml").write_text(f"train: {{tiny_b: {json.dumps(train | {'seed': 4})}}}\n", "utf-8")
    text = vouch("new", "mine", "--data", "../signs", "--model", given)
    assert "brings its weights, so it is not trained again" in text
    values = load(Path("profiles/mine.yaml"))
    name = given.strip("/").rpartition("/")[2]
    assert values["models"] == {name: f"data/trained/{name}"}
    assert values["train"] == {name: train | {"seed": 3 if name == "tiny_a" else 4}}


def test_servers_and_pinned_models_of_the_hub_are_entries_of_models_lock(
    here: Path, vouch: Vouch, server: str
) -> None:
    source = f'{{kind: hub, repo: owner/small, revision: "{"1" * 40}"}}'
    known = f"  small:\n    source: {source}\n    files: {{model.safetensors: {'ab' * 32}}}\n"
    Path("models.lock").write_text(f"# mine\nmodels:\n{known}", "utf-8")
    models = (f"{server}/v1", f"{server}/many/v1#b", "hub:owner/small")
    said = vouch(
        "new", "mine", "--data", "../signs", *(word for model in models for word in ("--model", model))
    )
    assert load(Path("profiles/mine.yaml"))["models"] == dict.fromkeys(
        ("org_big_7b", "b", "small"), "models.lock"
    )
    locked = load(Path("models.lock"))["models"]
    assert locked["org_big_7b"] == {
        "engine": "openai",
        "source": {"kind": "server", "url": f"{server}/v1", "name": "org/Big-7B"},
        "sees": False,
        "outputs": ["letters", "text"],
    }
    assert not {"sees", "outputs"}.intersection(locked["b"]), "nobody knows, so the first run shows it"
    assert "outputs" not in load(Path("profiles/mine.yaml")), "all may give letters"
    assert "org_big_7b takes no images" in said and "b takes" not in said.replace("7b takes", "")
    assert (
        "new: b: " in said
        and "whether it takes images and gives log-probabilities; once it does, `vouch lock b`" in said
    )
    assert Path("models.lock").read_text("utf-8").startswith(f"# mine\nmodels:\n{known}")
    vouch("new", "again", "--data", "../signs", "--model", models[0])
    assert load(Path("models.lock"))["models"] == locked


@pytest.mark.parametrize(
    ("models", "outputs", "plan"),
    [
        (["URL/quiet/v1"], ["text"], "text"),
        (["URL/quiet/v1", "../my-model"], ["letters", "text"], "letters, text"),
        (["../my-model"], None, "letters"),
    ],
)
def test_a_server_without_log_probabilities_gets_a_profile_that_asks_for_texts(
    here: Path, vouch: Vouch, server: str, models: list[str], outputs: list[str] | None, plan: str
) -> None:
    words = [word for model in models for word in ("--model", model.replace("URL", server))]
    said = vouch("new", "mine", "--data", "../signs", *words)
    assert load(Path("profiles/mine.yaml")).get("outputs") == outputs
    assert ("quiet gives no letters: models.lock names only text" in said) == bool(outputs)
    planned = vouch("plan", "mine")
    if outputs:
        assert load(Path("models.lock"))["models"]["quiet"]["outputs"] == ["text"]
        assert ("quiet gives no letters" in planned) == (
            "letters" in outputs
        ) and "asked nothing" not in planned
    assert f" {plan} " in flat(planned)
    vouch("use", "mine")
    assert load(Path("params.yaml"))["outputs"] == outputs


def test_the_plan_says_what_a_server_has_no_answers_to_and_how_to_ask_it(
    here: Path, vouch: Vouch, server: str
) -> None:
    vouch("new", "mine", "--data", "../signs", "--model", f"{server}/quiet/v1")
    shapes = {
        "loader": "shapes",
        "source": "vouch/demo/scenes",
        "template": "plain",
        "settings": {"seed": 1, "items": 9},
    }
    values = {"profile": "mine", "datasets": {"left": shapes}, "models": {"quiet": "models.lock"}}
    for outputs, entry, advice in (
        (None, None, "set outputs to [letters, text] in profiles/mine.yaml"),
        (["letters", "likelihood"], None, "set outputs to [letters, likelihood, text] in profiles/mine.yaml"),
        (["text"], ["letters"], "set datasets.left.outputs to [letters, text] in profiles/mine.yaml"),
        (["letters", "text"], None, ""),
    ):
        values |= {"outputs": outputs, "datasets": {"left": shapes | ({"outputs": entry} if entry else {})}}
        Path("profiles/mine.yaml").write_text(json.dumps(values), "utf-8")
        planned = flat(vouch("plan", "mine"))
        assert "quiet gives no letters: models.lock names only text " in planned
        assert ("quiet is asked nothing of left" in planned) == bool(advice) and advice in planned
        counted = json.loads(vouch("plan", "mine", "--json"))
        assert counted["unsupported"]["quiet"]["letters"] == "models.lock names only text"
        assert bool(counted["answers"]) != bool(advice), "what is refused is not counted"


@pytest.mark.parametrize(
    ("there", "name", "path"),
    [
        ("/tmp/real/SmolLM2-135M-Instruct-Q4_1.gguf", "smollm2_135m_instruct_q4_1", True),
        ("models/Smol.GGUF", "smol", True),
        ("C:\\models\\Smol.gguf", "smol", True),
        ("/models/Qwen", "qwen", True),
        ("smol.gguf", "smol", False),
        ("org/Big-7B", "org_big_7b", False),
        ("/", "model", False),
        ("/.gguf", "model", True),
        ("org/" + 120 * "n", "org_" + 96 * "n", False),
    ],
)
def test_a_model_that_its_server_names_by_a_path_gets_the_base_name(
    here: Path, vouch: Vouch, server: str, there: str, name: str, path: bool
) -> None:
    """models.lock keeps the path, by which the server must be asked; a line says so."""
    said = vouch("new", "mine", "--data", "../signs", "--model", f"{server}/none#{there}")
    assert load(Path("models.lock"))["models"][name]["source"]["name"] == there
    assert load(Path("profiles/mine.yaml"))["models"] == {name: "models.lock"}
    assert ("`--alias NAME`" in said) == path


def test_a_server_that_is_down_is_not_silently_taken_for_one_with_images(here: Path, vouch: Vouch) -> None:
    said = vouch("new", "mine", "--data", "../signs", "--model", "http://127.0.0.1:9/v1#smol")
    assert "sees" not in load(Path("models.lock"))["models"]["smol"]
    assert "new: smol: http://127.0.0.1:9/v1 gives no answer" in said and "`vouch lock smol`" in said


@pytest.mark.parametrize("given", ["a:online", "b"])
def test_a_name_may_have_a_tag_that_the_list_has_not(
    here: Path, vouch: Vouch, server: str, given: str
) -> None:
    vouch("new", "mine", "--data", "../signs", "--model", f"{server}/many/v1#{given}")


def test_it_says_which_models_take_no_images(here: Path, vouch: Vouch) -> None:
    config = {"model_type": "llama", "architectures": ["LlamaForCausalLM"]}
    Path("../my-model/preprocessor_config.json").unlink()
    Path("../my-model/config.json").write_text(json.dumps(config), "utf-8")
    said = vouch("new", "mine", "--data", "../signs", "--model", "../my-model")
    assert "my_model takes no images: it is asked the questions without them" in said


DATA = "mine --model ../my-model --data"
MINE = "mine --data ../signs --model"
FORM = r"\(answers in another form than OpenAI's\); check the address"


@pytest.mark.parametrize(
    ("words", "claim"),
    [
        ("My-Name --data ../signs --model ../my-model", "My-Name: a name is a lower-case letter"),
        (f"{DATA} ../kites", "kites: no such folder or file; --data names a folder that holds items.jsonl"),
        (f"{DATA} ../my-model", "my-model: is a model; give it with --model"),
        (f"{DATA} ../table", "table/a.csv: is a table, .* `loader: table` and `settings: {columns"),
        (f"{DATA} ../table/a.csv", "table/a.csv: is a table, .* `loader: table`"),
        (f"{DATA} ../document", "data.json: is one JSON document; write items.jsonl"),
        (f"{DATA} ../document/data.json", "data.json: is one JSON document"),
        (f"{DATA} ../images", "a.png: is an image; write the questions into items.jsonl beside it"),
        (f"{DATA} ../images/a.png", "a.png: is an image"),
        (f"{DATA} ../lines", r"has no items.jsonl, but train.jsonl; give that file: --data ../lines/train.jsonl"),
        (f"{DATA} ../linked", "linked/items.jsonl: is a link .*; copy the file .*: --data ../signs$"),
        (f"{DATA} ../linked/other.jsonl", "other.jsonl: is a link .*: --data ../lines/train.jsonl$"),
        (f"{DATA} ../empty", "empty: has no items.jsonl; write your questions into it"),
        (f"{DATA} hub:owner/data", "hub:owner/data: is not on this machine; .* with an `origin`"),
        (f"{DATA} ../signs --data ../signs/items.jsonl", "signs/items.jsonl: is given twice; name it once"),
        (f"{DATA} ../\u65e5 --data ../\u672c", "would both be called data"),
        (f"{MINE} ../nosuch", "nosuch: no such folder; give a folder, hub:OWNER/NAME or"),
        (f"{MINE} owner/name", "owner/name: no such folder; give a folder, hub:owner/name or"),
        (f"{MINE} known", "models.lock has a model known: write hub:owner/known-7b"),
        (f"{MINE} hub:name", "hub:name: is no OWNER/NAME, .* write hub:OWNER/name"),
        (f"{MINE} hub:known", "write hub:owner/known-7b"),
        (f"{MINE} hub:", "is no OWNER/NAME"),
        (f"{MINE} https://huggingface.co/owner/name/tree/main", "is a page of the hub, not a server; write hub:owner/name"),
        (f"{MINE} ../my-model --model ../my-model/", "my-model: is given twice; name it once"),
        (f"{MINE} URL/many/v1#b --model URL/many/v1#b", "b: is given twice"),
        (f"{MINE} URL/many/v1#b --model ../b", "would both be called b; rename .*/b$"),
        (f"{MINE} data/trained/tiny_c", "no profile trains tiny_c, and data/trained"),
        (f"{MINE} data/trained", "data/trained: no such folder; give"),
        (f"{MINE} URL/many/v1", r"/many/v1: serves 2 models \(a, b\); choose one"),
        (f"{MINE} URL/many/v1#Nonsense-9B", "serves no model Nonsense-9B; .*a, b.*; correct the name after #"),
        (f"{MINE} URL/none", rf"/none/models: gives no list of models {FORM}"),
        (f"{MINE} URL/rows", rf"/rows/models: gives no list of models {FORM}"),
        (f"{MINE} URL/null", rf"/null/models: gives no list of models {FORM}"),
        (f"{MINE} URL/nameless", rf"/nameless/models: gives no list of models {FORM}"),
        (f"{MINE} URL/deep", rf"/deep/models: gives no list of models {FORM}"),
        (f"{MINE} URL/empty", "/empty: serves no models yet; load one there first, or write http"),
        (f"{MINE} URL/long", r"/long: serves 2 models \(b, l{80}\); choose one"),
        (f"{MINE} URL/long#c", "valid: b, l{80}; correct the name"),
        (f"{MINE} URL/null-name", rf"/null-name/models: gives no list of models {FORM}"),
        (f"{MINE} URL/list-name", rf"/list-name/models: gives no list of models {FORM}"),
        (f"{MINE} URL/escape", r"--model: name: a model's name has no control characters"),
        (f"{MINE} URL/half", r"--model: name: Input should be a valid string"),
        (f"{MINE} URL/blank", r"--model: name: a model's name has .* no blanks at its ends"),
        (f"{MINE} URL/no-name", r"--model: name: String should have at least 1 character"),
        (f"{MINE} URL/twice", r"serves 2 models \(b, c\)"),
        (f"{MINE} URL/501", r"/501/models: gives no list of models \(it answers 501\)"),
        (f"{MINE} http://127.0.0.1:99999/v1", "--model: url: give the server's address"),
        (f"{MINE} http://127.0.0.1:x/v1#b", "--model: url: give the server's address"),
        (f"{MINE} http://[::1/v1", "--model: url: give the server's address"),
        (f"{MINE} http://127.0.0.1:9/{'a' * 70_000}", "--model: url: give the server's address"),
        (f"{MINE} http://127.0.0.1:9/v1?key=planted", r"--model: url: give the server's address.*key=\[hidden\]"),
        (f"{MINE} http://me:planted@127.0.0.1:9/v1", r"--model: url: leave the key out .*\[hidden\]@"),
        (f"{MINE} http://127.0.0.1:9/v1", r"gives no list of models \(.+\); start the server"),
        (f"{MINE} URL/slow", r"/slow/models: gives no list of models \(no whole answer within 2 s\)"),
        (f"{MINE} ../signs", r"signs: holds questions \(items.jsonl\), not a model; give it with --data"),
        (f"{MINE} ../my-model/config.json", "config.json: is one file of a model; give its folder, ../my-model"),
        (f"{MINE} ../my-model/model.safetensors", "is one file of a model; give its folder"),
        (f"{MINE} ../gguf/m.gguf", "m.gguf: is GGUF, which llama.cpp runs: start `llama-server"),
        (f"{MINE} ../gguf", "gguf: is GGUF"),
        (f"{MINE} ../no-processor", r"no-processor: no image processor \(preprocessor_config.json\), but the model takes"),
        (f"{MINE} ../half-a-processor", "half-a-processor: no image processor"),
        (f"{MINE} ../no-tokenizer", "no-tokenizer: no tokenizer .*; copy it from the model that"),
        (f"{MINE} ../no-weights", "no-weights: no weights; save the model as"),
        (f"{MINE} ../images", "images: neither a model .* name another folder as models.images"),
        (f"{MINE} .", "models.checkout: holds this project"),
    ],
)  # fmt: skip
def test_what_is_refused_changes_nothing(
    here: Path, vouch: Vouch, server: str, monkeypatch: pytest.MonkeyPatch, words: str, claim: str
) -> None:
    monkeypatch.setattr("vouch.models.server.client.LIST_SECONDS", 2.0)
    known = "models:\n  known: {source: {kind: hub, repo: owner/known-7b, revision: null}}\n"
    Path("models.lock").write_text(known, "utf-8")
    before = Path("models.lock").read_bytes()
    shutil.copytree("../my-model", "../b")
    assert re.search(claim, vouch("new", *words.replace("URL", server).split(), status=1))
    assert not list(Path("profiles").iterdir()) and Path("models.lock").read_bytes() == before


@pytest.mark.parametrize(
    ("words", "claim"),
    [
        (
            "--data ../signs --model localhost:8000",
            "localhost:8000: write the address of a server with http://",
        ),
        ("--data ../signs --model 127.0.0.1:9/v1", "http:// before it"),
        (("--data", "../signs", "--model", ""), "argument --model/-m: is empty"),
        (("--data", "", "--model", "../my-model"), "argument --data/-d: is empty"),
    ],
)
def test_an_argument_that_is_none_is_one_line(
    here: Path, words: str | tuple[str, ...], claim: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = words.split() if isinstance(words, str) else words
    with pytest.raises(SystemExit) as ended:
        main(["new", "mine", *given])
    line = capsys.readouterr().err
    assert ended.value.code == 2 and claim in line and line.count("\n") == 1


def test_offline_the_advice_is_a_command_that_works(
    here: Path, vouch: Vouch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`vouch lock` adds the entry with --repo alone, and then nothing needs the network."""
    given = ("new", "mine", "--data", "../signs", "--model", "hub:owner/My-Model")
    repos = {"owner/My-Model": Repo({FIRST: files()}, {"main": FIRST})}
    with serving(repos, tmp_path / "cache", monkeypatch):
        with monkeypatch.context() as patched:
            patched.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
            advice = re.search("run `vouch (.+)` without", vouch(*given, status=1))
        assert advice and advice[1] == "lock my_model --repo owner/My-Model"
        vouch(*advice[1].split())
    vouch(*given)
    assert load(Path("profiles/mine.yaml"))["models"] == {"my_model": "models.lock"}


def test_a_profile_that_is_there_is_kept(here: Path, vouch: Vouch) -> None:
    words = ("new", "mine", "--data", "../signs", "--model", "../my-model")
    vouch(*words)
    assert "profiles/mine.yaml: exists already" in vouch(*words, status=1)


def test_a_model_of_the_hub_is_pinned_on_the_way(
    here: Path, vouch: Vouch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("models.lock").write_text(
        "models:\n  other: {source: {kind: hub, repo: a/b, revision: null}}\n", "utf-8"
    )
    with serving(
        {"owner/My-Model": Repo({FIRST: files()}, {"main": FIRST})}, tmp_path / "cache", monkeypatch
    ):
        vouch("new", "mine", "--data", "../signs", "--model", "hub:owner/My-Model")
        assert "no such repository" in vouch(
            "new", "again", "--data", "../signs", "--model", "hub:owner/nosuch", status=1
        )
        taken = vouch("new", "again", "--data", "../signs", "--model", "hub:fork/Other", status=1)
        assert "models.lock: other is another model; rename that entry" in taken
    entry = load(Path("models.lock"))["models"]["my_model"]
    assert entry["source"] == {"kind": "hub", "repo": "owner/My-Model", "revision": FIRST}
    assert "model.safetensors" in entry["files"] and load(Path("profiles/mine.yaml"))["models"] == {
        "my_model": "models.lock"
    }
