"""`vouch publish export`, and what comes back when its logs are ingested."""

import gzip
import hashlib
import json
import math

import pytest
from scipy.special import log_softmax

from vouch.cli.main import main
from vouch.models.pins import pinned
from vouch.models.released.answers import write_released
from vouch.tables.answered import LETTERS, LIKELIHOOD, TEXT, letters_path, likelihood_path, text_path
from vouch.tables.asked import ITEMS, PROMPTS, items_path, prompts_path

EXPORT = ("publish", "export", "m", "toy", "--form", "lm_eval")
FORMS = ("lm_eval", "lmms_eval")
OPTIONS = ["an ant", "a bee", "ein Käfer"]
LOGITS = [[0.5, 3.25, -1.0, 9.0], [1e-3, 2e-3, 700.0, 9.0], [-2.0, float("-inf"), 1.0, 9.0]]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A checkout with three items of three options, nothing answered yet."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stages").mkdir()
    for name, text in (("dvc.yaml", "stages: {}"), ("params.yaml", "profile: toy")):
        (tmp_path / name).write_text(f"{text}\n", "utf-8")
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
    return tmp_path


def answer(letters=(), likelihood=(), text=()):
    """Writes the three tables of responses."""
    LETTERS.write(letters_path("m", "toy"), letters)
    LIKELIHOOD.write(likelihood_path("m", "toy"), likelihood)
    TEXT.write(text_path("m", "toy"), text)


def of_letters(variation="original"):
    return [
        {"prompt": f"q{place}/{variation}", "logits": logits} for place, logits in enumerate(LOGITS, start=1)
    ]


NLL = {("q1", 0): 1 / 3, ("q1", 1): 0.0, ("q1", 2): 1e-300, ("q2", 0): 17.25, ("q2", 1): math.inf,
       ("q2", 2): 0.1, ("q3", 0): 5e5, ("q3", 1): 2 / 7, ("q3", 2): 3.0}  # fmt: skip


def of_likelihood():
    return [
        {"prompt": f"{item}/original", "option": option, "nll": nll} for (item, option), nll in NLL.items()
    ]


def of_text():
    samples = [{"prompt": "q2/original", "temperature": 0.7, "sample": 1, "text": "sampled"}]
    texts = {"q1": "A bee.", "q2": "", "q3": "Zwei\nKäfer \U0001f41e "}
    greedy = [
        {"prompt": f"{item}/original", "temperature": 0.0, "sample": 0, "text": text}
        for item, text in texts.items()
    ]
    return [*samples, *greedy]


def export(form, *more, out="log.jsonl"):
    assert main(["publish", "export", "m", "toy", "--form", form, "--out", out, *more]) == 0


def lines(path):
    data = path.read_bytes()
    data = gzip.decompress(data) if path.suffix == ".gz" else data
    return [json.loads(line) for line in data.decode().splitlines()]


def back(file, form, **more):
    """Reads a log as the model n and reads likelihood and text."""
    index = {"toy": {"file": file.name, "form": form, **more}}
    (file.parent / "answers.yaml").write_text(json.dumps(index), "utf-8")
    write_released(pinned("n", str(file.parent), {}), "toy")
    nll = {
        (row["prompt"].split("/")[0], row["option"]): row["nll"]
        for row in LIKELIHOOD.read(likelihood_path("n", "toy")).to_pylist()
    }
    text = {row["prompt"]: row["text"] for row in TEXT.read(text_path("n", "toy")).to_pylist()}
    return nll, text


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("keys", [{}, {"key": "doc.id"}, {"key": "doc.source_id"}])
@pytest.mark.parametrize("out", ["log.jsonl", "log.jsonl.gz"])
def test_likelihoods_come_back_as_they_were(folder, form, keys, out):
    answer(likelihood=of_likelihood())
    export(form, out=out)
    assert back(folder / out, form, **keys) == (NLL, {})


@pytest.mark.parametrize("form", FORMS)
def test_texts_come_back_as_they_were(folder, form):
    answer(text=of_text())
    export(form)
    expected = {row["prompt"]: row["text"] for row in of_text() if row["sample"] == 0}
    assert back(folder / "log.jsonl", form) == ({}, expected)


@pytest.mark.parametrize("form", FORMS)
def test_letters_become_log_softmax_over_the_options(folder, form):
    answer(letters=of_letters())
    export(form)
    nll, _ = back(folder / "log.jsonl", form)
    for place, logits in enumerate(LOGITS, start=1):
        expected = -log_softmax(logits[:3])
        assert [nll[f"q{place}", option] for option in range(3)] == pytest.approx(
            expected.tolist(), rel=1e-12
        )
    written = [pair[0] for line in lines(folder / "log.jsonl") for pair in line["filtered_resps"]]
    assert [-float(value) for value in written] == list(nll.values()), "not one bit is lost"


def test_the_line_of_lm_eval(folder):
    answer(letters=of_letters())
    export("lm_eval")
    line = lines(folder / "log.jsonl")[0]
    pairs = line["filtered_resps"]
    assert [pair[1] for pair in pairs] == ["False"] * 3 and all(isinstance(pair[0], str) for pair in pairs)
    assert line["resps"] == [[pair] for pair in pairs]
    assert line["arguments"] == {
        f"gen_args_{n}": {"arg_0": "What of q1?\nA. a…", "arg_1": mark} for n, mark in enumerate("ABC")
    }
    assert (line["doc_id"], line["target"], line["filter"], line["metrics"]) == (0, "1", "none", ["acc"])
    question = {"id": "q1", "source_id": "s/q1", "question": "What of q1?", "hint": None}
    assert line["doc"] == {**question, "references": ["it"], "options": OPTIONS, "answers": [1]}
    text = json.dumps(line["doc"], indent=2, ensure_ascii=False)
    assert line["doc_hash"] == hashlib.sha256(text.encode()).hexdigest()
    assert line["target_hash"] == hashlib.sha256(b"1").hexdigest()
    assert [line["acc"] for line in lines(folder / "log.jsonl")] == [1.0, 0.0, 0.0]


def test_the_line_of_lmms_eval(folder):
    answer(text=of_text())
    export("lmms_eval")
    line = lines(folder / "log.jsonl")[0]
    assert (line["input"], line["resps"], line["filtered_resps"]) == (
        "What of q1?\nA. a…",
        [["A bee."]],
        ["A bee."],
    )
    assert "arguments" not in line and "acc" not in line and "score" not in line
    assert line["target"] == "B", "the right option's letter, as a model would say it"
    answer(letters=of_letters())
    export("lmms_eval")
    scored = lines(folder / "log.jsonl")
    assert [line["score"] for line in scored] == [line["acc"] for line in scored] == [1.0, 0.0, 0.0]
    assert scored[0]["target"] == "1", "the number of a choice"


def test_another_variation(folder):
    answer(letters=of_letters("rotated"))
    export("lm_eval", "--variation", "rotated")
    assert [line["target"] for line in lines(folder / "log.jsonl")] == ["[0, 2]"] * 3
    assert [line["acc"] for line in lines(folder / "log.jsonl")] == [0.0, 1.0, 1.0]


@pytest.mark.parametrize("out", ["log.jsonl", "log.jsonl.gz"])
def test_same_answers_same_bytes_where_the_user_stands(folder, monkeypatch, out):
    (folder / "below").mkdir()
    written = []
    for letters in (of_letters(), of_letters()[::-1]):
        answer(letters=letters)
        monkeypatch.chdir(folder / "below")
        export("lm_eval", out=out)
        monkeypatch.chdir(folder)
        written.append((folder / "below" / out).read_bytes())
    assert written[0] == written[1]


def test_prompts_without_a_whole_answer_are_left_out(folder, vouch):
    rows = of_letters()
    rows[1] = {"prompt": "q2/original", "problem": "HTTP 500"}
    answer(letters=rows)
    said = vouch(*EXPORT, "--out", "log.jsonl")
    assert [line["doc_id"] for line in lines(folder / "log.jsonl")] == [0, 2]
    assert "2 samples of letters" in said and "left out 1 prompts without an answer" in said
    answer(
        likelihood=[row | ({"nll": None} if row["prompt"][1] == "2" else {}) for row in of_likelihood()][:-1]
    )
    export("lm_eval")
    assert [line["doc"]["id"] for line in lines(folder / "log.jsonl")] == ["q1"]


@pytest.mark.parametrize(
    ("responses", "options", "words"),
    [
        ({}, [], "no answers of any kind to original"),
        ({"letters": [{"prompt": "q1/original", "problem": "no"}]}, [], "no answers of any kind"),
        ({"letters": of_letters()}, ["--output", "text"], "no answers of text to original"),
        ({"letters": of_letters(), "text": of_text()}, [], "holds letters and text; choose one of them with --output"),
        ({"letters": of_letters()}, ["--variation", "orignal"], "did you mean original?"),
    ],
)  # fmt: skip
def test_refusals_leave_nothing(folder, vouch, responses, options, words):
    answer(**responses)
    assert words in vouch(*EXPORT, "--out", "log.jsonl", *options, status=1)
    assert not list(folder.glob("*log.jsonl*"))


def test_what_a_shell_passes_is_refused_or_shown_as_text(folder, vouch, capsys):
    answer(letters=of_letters())
    vouch(*EXPORT, "--out", "log\x1b[31m.jsonl")
    (folder / "there").mkdir()
    told = vouch(*EXPORT, "--out", "there", status=1)
    assert "there: Is a directory" in told and ".part" not in told
    assert "argument 3, '\\udcff': is not UTF-8" in vouch("publish", "export", "\udcff", status=1)
    told = vouch("publish", "export", "nosuch", *EXPORT[3:], "--out", "x", status=1)
    assert told == "vouch: data/responses/toy: no model nosuch; valid: m\n"
    with pytest.raises(SystemExit):
        main(["publish", "export", "m", "toy", "--form", "parquet", "--out", "x"])
    assert "lm_eval" in capsys.readouterr().err
