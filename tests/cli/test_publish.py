"""`vouch publish export`, whose logs are ingested again, and `vouch publish hub`."""

import base64
import gzip
import hashlib
import json
import math
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, ClassVar

import datasets
import pandas as pd
import pytest
from scipy.special import log_softmax

from tests.cli.conftest import Vouch
from tests.datasets.test_fetch import listening
from vouch.cli.main import main
from vouch.library.estimates import results
from vouch.models.pins import pinned
from vouch.models.released.answers import write_released
from vouch.tables.answered import LETTERS, LIKELIHOOD, TEXT, letters_path, likelihood_path, text_path
from vouch.tables.asked import ITEMS, PROMPTS, items_path, prompts_path

EXPORT = ("publish", "export", "m", "toy", "--form", "lm_eval")
FORMS = ("lm_eval", "lmms_eval")
OPTIONS = ["an ant", "a bee", "ein Käfer"]
LOGITS = [[0.5, 3.25, -1.0, 9.0], [1e-3, 2e-3, 700.0, 9.0], [-2.0, float("-inf"), 1.0, 9.0]]
NLL = {("q1", 0): 1 / 3, ("q1", 1): 0.0, ("q1", 2): 1e-300, ("q2", 0): 17.25, ("q2", 1): math.inf,
       ("q2", 2): 0.1, ("q3", 0): 5e5, ("q3", 1): 2 / 7, ("q3", 2): 3.0}  # fmt: skip
TEXTS = {"q1/original": "A bee.", "q2/original": "", "q3/original": "Zwei\nKäfer \U0001f41e "}
OF_LIKELIHOOD = [{"prompt": f"{item}/original", "option": k, "nll": nll} for (item, k), nll in NLL.items()]
OF_TEXT = [{"prompt": "q2/original", "temperature": 0.7, "sample": 1, "text": "sampled"}] + [
    {"prompt": prompt, "temperature": 0.0, "sample": 0, "text": text} for prompt, text in TEXTS.items()
]


def of_letters(variation: str = "original") -> list[dict[str, Any]]:
    return [{"prompt": f"q{n}/{variation}", "logits": logits} for n, logits in enumerate(LOGITS, start=1)]


@pytest.fixture
def folder(bare: Path) -> Path:
    """A checkout with three items of three options, nothing answered yet."""
    ids = ("q1", "q2", "q3")
    ITEMS.write(
        items_path("toy"),
        [{"id": n, "source_id": f"s/{n}", "question": f"What of {n}?", "references": ["it"]} for n in ids],
    )
    prompts = [
        {
            **{"id": f"{item}/{variation}", "item": item, "variation": variation, "answers": answers},
            **{"text": f"What of {item}?\nA. a…", "options": OPTIONS, "labels": ["A", "B", "C"]},
            "outputs": ["letters"],
        }
        for item in ids
        for variation, answers in (("original", [1]), ("rotated", [0, 2]))
    ]
    PROMPTS.write(prompts_path("toy"), prompts)
    answer()
    return bare


def answer(letters: Any = (), likelihood: Any = (), text: Any = ()) -> None:
    """Writes the three tables of responses."""
    LETTERS.write(letters_path("m", "toy"), letters)
    LIKELIHOOD.write(likelihood_path("m", "toy"), likelihood)
    TEXT.write(text_path("m", "toy"), text)


def export(form: str, *more: str, out: str = "log.jsonl") -> list[dict[str, Any]]:
    """The lines of the log that is written."""
    assert main(["publish", "export", "m", "toy", "--form", form, "--out", out, *more]) == 0
    data = Path(out).read_bytes()
    return [json.loads(line) for line in (gzip.decompress(data) if out.endswith("gz") else data).splitlines()]


def back(form: str, out: str = "log.jsonl", **more: str) -> tuple[dict[Any, float], dict[str, str]]:
    """Reads a log as the model n and reads likelihood and text."""
    index = {"toy": {"file": out, "form": form, **more}}
    Path("answers.yaml").write_text(json.dumps(index), "utf-8")
    write_released(pinned("n", str(Path.cwd()), {}), "toy")
    nll = {
        (row["prompt"].split("/")[0], row["option"]): row["nll"]
        for row in LIKELIHOOD.read(likelihood_path("n", "toy")).to_pylist()
    }
    return nll, {row["prompt"]: row["text"] for row in TEXT.read(text_path("n", "toy")).to_pylist()}


@pytest.mark.parametrize("form", FORMS)
def test_answers_come_back_as_they_were(folder: Path, form: str) -> None:
    answer(likelihood=OF_LIKELIHOOD)
    for out in ("log.jsonl", "log.jsonl.gz"):
        export(form, out=out)
        for key in ({}, {"key": "doc.id"}, {"key": "doc.source_id"}):
            assert back(form, out, **key) == (NLL, {})
    answer(text=OF_TEXT)
    export(form)
    assert back(form) == ({}, TEXTS)
    answer(letters=of_letters())
    written = [pair[0] for line in export(form) for pair in line["filtered_resps"]]
    nll, _ = back(form)
    assert [-float(value) for value in written] == list(nll.values()), "not one bit is lost"
    for number, logits in enumerate(LOGITS, start=1):
        found = [nll[f"q{number}", option] for option in range(3)]
        assert found == pytest.approx((-log_softmax(logits[:3])).tolist(), rel=1e-12)


def test_the_lines_are_those_of_the_harnesses(folder: Path) -> None:
    answer(letters=of_letters())
    line, *others = export("lm_eval")
    pairs = line["filtered_resps"]
    assert [pair[1] for pair in pairs] == ["False"] * 3 and all(isinstance(pair[0], str) for pair in pairs)
    assert line["resps"] == [[pair] for pair in pairs]
    prompt = "What of q1?\nA. a…"
    assert line["arguments"] == {
        f"gen_args_{n}": {"arg_0": prompt, "arg_1": mark} for n, mark in enumerate("ABC")
    }
    assert (line["doc_id"], line["target"], line["filter"], line["metrics"]) == (0, "1", "none", ["acc"])
    question = {"id": "q1", "source_id": "s/q1", "question": "What of q1?", "hint": None}
    assert line["doc"] == {**question, "references": ["it"], "options": OPTIONS, "answers": [1]}
    text = json.dumps(line["doc"], indent=2, ensure_ascii=False)
    assert line["doc_hash"] == hashlib.sha256(text.encode()).hexdigest()
    assert line["target_hash"] == hashlib.sha256(b"1").hexdigest()
    assert [each["acc"] for each in (line, *others)] == [1.0, 0.0, 0.0]
    scored = export("lmms_eval")
    assert [line["score"] for line in scored] == [line["acc"] for line in scored] == [1.0, 0.0, 0.0]
    assert scored[0]["target"] == "1", "the number of a choice"
    answer(text=OF_TEXT)
    line, *_ = export("lmms_eval")
    assert (line["input"], line["resps"], line["filtered_resps"]) == (prompt, [["A bee."]], ["A bee."])
    assert "arguments" not in line and "acc" not in line and "score" not in line
    assert line["target"] == "B", "the correct option's label, as a model would say it"
    answer(letters=of_letters("rotated"))
    rotated = export("lm_eval", "--variation", "rotated")
    assert [line["target"] for line in rotated] == ["[0, 2]"] * 3
    assert [line["acc"] for line in rotated] == [0.0, 1.0, 1.0]


@pytest.mark.parametrize("out", ["log.jsonl", "log.jsonl.gz"])
def test_same_answers_same_bytes_where_the_user_stands(
    folder: Path, monkeypatch: pytest.MonkeyPatch, out: str
) -> None:
    (folder / "below").mkdir()
    written = []
    for letters in (of_letters(), of_letters()[::-1]):
        answer(letters=letters)
        monkeypatch.chdir(folder / "below")
        assert main([*EXPORT, "--out", out]) == 0
        monkeypatch.chdir(folder)
        written.append((folder / "below" / out).read_bytes())
    assert written[0] == written[1]


def test_prompts_without_a_whole_answer_are_left_out(folder: Path, vouch: Vouch) -> None:
    rows = of_letters()
    rows[1] = {"prompt": "q2/original", "problem": "HTTP 500"}
    answer(letters=rows)
    text = vouch(*EXPORT, "--out", "log.jsonl")
    assert "2 samples of letters" in text and "left out 1 prompts without an answer" in text
    assert [line["doc_id"] for line in export("lm_eval")] == [0, 2]
    answer(
        likelihood=[row | ({"nll": None} if row["prompt"][1] == "2" else {}) for row in OF_LIKELIHOOD[:-1]]
    )
    assert [line["doc"]["id"] for line in export("lm_eval")] == ["q1"]


@pytest.mark.parametrize(
    ("responses", "options", "claim"),
    [
        ({}, [], "no answers of any kind to original"),
        ({"letters": [{"prompt": "q1/original", "problem": "no"}]}, [], "no answers of any kind"),
        ({"letters": of_letters()}, ["--output", "text"], "no answers of text to original"),
        ({"letters": of_letters(), "text": OF_TEXT}, [], "holds letters and text; choose one of them with --output"),
        ({"letters": of_letters()}, ["--variation", "orignal"], "did you mean original?"),
    ],
)  # fmt: skip
def test_refusals_leave_nothing(
    folder: Path, vouch: Vouch, responses: dict[str, Any], options: list[str], claim: str
) -> None:
    answer(**responses)
    assert claim in vouch(*EXPORT, "--out", "log.jsonl", *options, status=1)
    assert not list(folder.glob("*log.jsonl*"))


def test_what_a_shell_passes_is_refused_or_shown_as_text(folder: Path, vouch: Vouch, capsys: Any) -> None:
    answer(letters=of_letters())
    vouch(*EXPORT, "--out", "log\x1b[31m.jsonl")
    (folder / "there").mkdir()
    text = vouch(*EXPORT, "--out", "there", status=1)
    assert "there: Is a directory" in text and ".part" not in text
    assert "argument 3, '\\udcff': is not UTF-8" in vouch("publish", "export", "\udcff", status=1)
    text = vouch("publish", "export", "nosuch", *EXPORT[3:], "--out", "x", status=1)
    assert text == "vouch: data/responses/toy: no model nosuch; valid: m\n"
    with pytest.raises(SystemExit):
        main(["publish", "export", "m", "toy", "--form", "parquet", "--out", "x"])
    assert "lm_eval" in capsys.readouterr().err


TABLES = {
    "headline": pd.DataFrame({"model": ["a", "é"], "items": [7, 8], "ece": [0.1, None], "f1": [None, None]}),
    "differences": pd.DataFrame({"first": ["a"], "p": [1e-300], "low": [-0.1]}),
    "rejects": pd.DataFrame({"dataset": [], "reason": []}),
}
FILES = ["README.md", "tables/differences.parquet", "tables/headline.parquet"]


@pytest.fixture
def reported(bare: Path) -> Path:
    """A checkout with the tables of a report, one of them empty."""
    (bare / "reports/tables").mkdir(parents=True)
    for name, table in TABLES.items():
        table.to_csv(bare / f"reports/tables/{name}.csv", index=False)
    return bare


def test_a_folder_that_load_dataset_and_the_library_read(reported: Path, vouch: Vouch) -> None:
    """A configuration for each table with a row; the same tables give the same bytes."""
    text = vouch("publish", "hub", "--folder", "../out")
    folder = (reported / "../out").resolve()
    assert text == f"hub: 2 tables in {reported}/../out\n"
    written = {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
    assert [path.relative_to(folder).as_posix() for path in written] == FILES
    of_report, found = results(reported / "reports"), results(folder)
    assert list(found) == ["differences", "headline"] and set(of_report) - set(found) == {"rejects"}
    assert datasets.get_dataset_config_names(str(folder)) == ["differences", "headline"]
    for name, table in found.items():
        pd.testing.assert_frame_equal(table, of_report[name])
        loaded = datasets.load_dataset(str(folder), name, split="train", cache_dir=str(reported / "cache"))
        pd.testing.assert_frame_equal(loaded.to_pandas(), of_report[name])
    first = datasets.load_dataset(str(folder), split="train", cache_dir=str(reported / "cache"))
    assert first.column_names == list(TABLES["headline"])
    vouch("publish", "hub", "--folder", "../out")
    assert {path: path.read_bytes() for path in written} == written


class Hub(BaseHTTPRequestHandler):
    """Takes one commit; `sent` has what came, by path. status: the answer to the question for a repository."""

    sent: ClassVar[dict[str, Any]] = {}
    status: ClassVar[int] = 200

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        old = {"type": "file", "path": "tables/old.parquet", "size": 1, "oid": "1" * 40}
        about = {"id": "me/results", "sha": "0" * 40, "siblings": []}
        self._answer([old] if "/tree/" in self.path else about)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.sent |= {self.path: body, "token": self.headers["Authorization"]}
        address = f"http://127.0.0.1:{self.server.server_address[1]}/datasets/me/results"
        if self.path == "/api/repos/create":
            self._answer({"url": address}, self.status)
        elif "/preupload/" in self.path:
            modes = {"uploadMode": "regular", "shouldIgnore": False}
            self._answer({"files": [modes | {"path": one["path"]} for one in json.loads(body)["files"]]})
        elif "/commit/" in self.path:
            self._answer({"commitUrl": f"{address}/commit/0", "commitOid": "0" * 40})
        else:
            self._answer({"errors": [], "warnings": []})

    def _answer(self, value: Any, status: int = 200) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Hub]]:
    with listening(Hub) as address:
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", address)
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
        monkeypatch.setattr(Hub, "sent", {})
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        monkeypatch.setenv("HF_TOKEN", "hf_of_the_environment")
        yield Hub


def test_what_is_sent(vouch: Vouch, hub: type[Hub], reported: Path) -> None:
    """One commit to a private repository, with the token of the environment; the files are those of --folder."""
    assert vouch("publish", "hub", "me/results").endswith("/datasets/me/results\n")
    made = json.loads(hub.sent["/api/repos/create"])
    assert (made["name"], made["organization"], made["type"]) == ("results", "me", "dataset")
    assert made["visibility"] == "private" and hub.sent["token"] == "Bearer hf_of_the_environment"
    lines = [json.loads(line) for line in hub.sent["/api/datasets/me/results/commit/main"].splitlines()]
    assert [line["value"]["path"] for line in lines if line["key"] == "deletedFile"] == ["tables/old.parquet"]
    files = {line["value"]["path"]: line["value"] for line in lines if line["key"] == "file"}
    assert sorted(files) == FILES
    vouch("publish", "hub", "--folder", "results")
    for name in FILES[1:]:
        assert base64.b64decode(files[name]["content"]) == (reported / "results" / name).read_bytes()
    assert '"me/results", "headline"' in base64.b64decode(files["README.md"]["content"]).decode()


def test_what_cannot_be_sent(
    vouch: Vouch, hub: type[Hub], reported: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "status", 500)
    assert "me/results at main: the hub answered 500" in vouch("publish", "hub", "me/results", status=1)
    monkeypatch.delenv("HF_TOKEN")
    assert "me/results: no token; set HF_TOKEN" in vouch("publish", "hub", "me/results", status=1)
    for path in Path("reports/tables").glob("*.csv"):
        path.unlink()
    assert "'reports' has no tables" in vouch("publish", "hub", "--folder", "results", status=1)
