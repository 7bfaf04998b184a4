"""`vouch plan --probe`: what it shows is what extract asks, and no weights are read."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.cli.conftest import Vouch
from tests.models.engines import shared
from tests.models.loopback_server import NAME, Loopback, StandIn, serving
from tests.models.project import DATASET, MODEL, Project, image, prompt
from tests.models.tiny import CHAT, byte_pairs, llava_processor, pieces, save_blip
from vouch.cli.main import main
from vouch.cli.probe import visible
from vouch.models import sandbox
from vouch.models.engine import Question
from vouch.models.probe import token_texts
from vouch.tables.asked import OUTPUTS

LOOPS = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"


def made(path: Path, model: Path) -> Project:
    """A project with prompts of every kind; the model's weights are gone."""
    project = Project(path, model)
    project.params["datasets"].pop("other")
    data = image(1)
    rows = [prompt("q/original", "what is shown", [data], outputs=OUTPUTS)]
    rows += [prompt("r/original", "what is here", [data], outputs=OUTPUTS)]
    project.ask(rows, [data])
    project.save()
    return project


@pytest.fixture
def folder(tiny: Path, tmp_path: Path) -> Path:
    """The tiny model without its weights."""
    return shutil.copytree(tiny, tmp_path / "model", ignore=shutil.ignore_patterns("*.safetensors"))


@pytest.fixture
def project(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(tmp_path)
    return made(tmp_path, folder)


def probed(vouch: Vouch) -> dict[str, Any]:
    """What the probe found, by request type."""
    (dataset,) = json.loads(vouch("plan", "--probe", MODEL, "--json"))["datasets"]
    assert dataset["dataset"] == DATASET
    return {one["output"]: one for one in dataset["prompts"]}


def ids(runs: list[dict[str, Any]]) -> list[int]:
    return [run["id"] for run in runs for _ in range(run["count"])]


def test_the_tokens_are_those_that_extract_reads(project: Project, tiny: Path, vouch: Vouch) -> None:
    found = probed(vouch)
    ready = shared(tiny)._preparer
    asked = Question("q", None, "what is shown", images=[Image.open(BytesIO(image(1))).convert("RGB")])
    letters = ready.prepare(replace(asked, labels="ABCD"))
    options = found["likelihood"]["options"]
    scored = ready.prepare(replace(asked, options=[one["option"] for one in options]))
    for output, one in (("letters", letters), ("likelihood", scored), ("text", letters)):
        assert ids(found[output]["tokens"]) == list(one.ids)
        assert (found[output]["length"], found[output]["prefix"]) == (len(one.ids), one.prefix)
        assert found[output]["padded"] > found[output]["rest"] and found[output]["padded"] % 8 == 0
    assert [one["id"] for one in found["letters"]["letters"]] == list(letters.letters.read)
    assert [tuple(one["ids"]) for one in options] == list(scored.options)
    assert found["letters"]["prompt"] == "q/original"


def test_the_screen_names_the_tokens(project: Project, vouch: Vouch) -> None:
    out = vouch("plan", "--probe", MODEL)
    assert f"{DATASET}, letters, prompt q/original\n" in out
    assert "<image> x 4·" in out and "what· is" not in out, "this tokenizer has words without spaces"
    assert "| USER·:·<image> x 4·what·is·shown·ASSISTANT·:\n" in out
    assert "read, spelled ` ` + label" in out and out.count("those of letters") == 2
    assert f"    A: {ids_of(project, 'A')} `A`" in out
    assert all(len(line) <= 80 or " " not in line.strip() for line in out.splitlines()), "a path stays whole"


def ids_of(project: Project, token: str) -> int:
    words = json.loads((project.model / "tokenizer.json").read_text("utf-8"))["model"]["vocab"]
    return int(words[token])


def save_words(folder: Path, words: Any, chat: str | None = CHAT) -> None:
    """Puts another tokenizer into a model folder."""
    (folder / "chat_template.jinja").unlink(missing_ok=True)
    for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"):
        (folder / name).unlink(missing_ok=True)
    llava_processor(words, chat).save_pretrained(folder)


def refused(capsys: pytest.CaptureFixture[str]) -> str:
    """What the probe prints if a prompt would not be answered: its exit status is 1."""
    capsys.readouterr()
    assert main(["plan", "--probe", MODEL]) == 1
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("labels", "response", "claims"),
    [
        # the space after `is:` is read first, as a token of its own
        ("12", "is:", ["! the prompt's end changes, so that each letter is one token: nothing becomes ` `", "spelled"]),
        # the space that the prompt ends with belongs to the letters
        ("AB", "is: ", ["one token: ` ` becomes nothing", "A: ", "` A`"]),
        (["10", "11"], "is: ", ["one token: nothing becomes `1`", "! 2 labels are not spelled as the token that is read: 10 is `0`", "11: 16 `1`"]),
    ],
)  # fmt: skip
def test_surprises_of_a_tokenizer_are_named(
    folder: Path, project: Project, vouch: Vouch, labels: Any, response: str, claims: list[str]
) -> None:
    save_words(folder, byte_pairs(CHAT))
    data = image(1)
    project.ask([prompt("q/original", "x", [data], labels=labels, response=response)], [data])
    out = vouch("plan", "--probe", MODEL)
    flat = " ".join(out.split())
    assert all(" ".join(claim.split()) in flat for claim in claims), out


@pytest.mark.parametrize(
    ("labels", "claims"),
    [
        (["10", "9"], ["no distinct single token for each of 10, 9", "10: 2 tokens `1·0`", "9: 1 token `9`"]),
        (["Ä", "Ω"], ["no distinct single token", "Ä: 2 tokens", "Ω: 2 tokens"]),
        (["A", "A"], ["A has none of its own there"]),
    ],
)
def test_labels_that_cannot_be_read_are_named_and_fail(
    folder: Path,
    project: Project,
    capsys: pytest.CaptureFixture[str],
    labels: list[str],
    claims: list[str],
) -> None:
    save_words(folder, byte_pairs(CHAT))
    data = image(1)
    project.ask([prompt("q/original", "x", [data], labels=labels, response="is: ")], [data])
    flat = " ".join(refused(capsys).split())
    assert all(claim in flat for claim in claims), flat


def test_text_that_the_vocabulary_lacks_and_tokens_in_the_question(project: Project, vouch: Vouch) -> None:
    data = image(1)
    project.ask([prompt("q/original", "wie heißt </s> das", [data])], [data])
    out = vouch("plan", "--probe", MODEL)
    assert "! 3 of these tokens stand for text that the vocabulary lacks" in out
    assert "! the question's own text holds a special token" in out and "<unk>·<unk>·</s>·<unk>" in out


@pytest.mark.parametrize(
    ("template", "claims"),
    [
        ("{{ raise_exception('no images\x1b[31m') }}", ["! the model's processor refuses it (no images"]),
        ("{% for m in messages %}{{ m.nothing.at.all }}{% endfor %}", ["! ", "correct it"]),
        ("{% if", ["! ", "correct it"]),
        ("<image> only this", ["! the model's chat template drops the text"]),
        ("{{ messages }}" * 3, ["! "]),
    ],
)
def test_a_template_that_is_broken_is_named_with_each_prompt(
    folder: Path, project: Project, capsys: pytest.CaptureFixture[str], template: str, claims: list[str]
) -> None:
    (folder / "chat_template.jinja").write_text(template, "utf-8")
    flat = " ".join(refused(capsys).split())
    assert all(claim in flat for claim in claims), flat


def test_a_template_without_end_stops_the_probe(
    folder: Path, project: Project, vouch: Vouch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox, "SECONDS", 0.5)
    (folder / "chat_template.jinja").write_text(LOOPS, "utf-8")
    assert "does not come to an end within 0.5 s" in vouch("plan", "--probe", MODEL, status=1)


def test_a_tokenizer_without_special_tokens(folder: Path, project: Project, vouch: Vouch) -> None:
    """That of a base model: no begin token, no unknown one; and a text without an image."""
    words = byte_pairs(CHAT)
    words.eos_token = words.pad_token = None
    save_words(folder, words)
    project.ask([prompt("q/original", "x\ty 数", [], labels="AB")], [])
    found = probed(vouch)["letters"]
    assert (found["unknown"], found["prefix"], found["flags"]) == (0, 0, [])
    texts = "".join(run["text"] * run["count"] for run in found["tokens"])
    assert texts.startswith("USER: x\ty ") and "æ" in texts, (
        "pieces of a character as the vocabulary has them"
    )
    assert "x·\\t·y" in vouch("plan", "--probe", MODEL)


def test_a_model_with_a_decoder_of_its_own(tmp_path: Path, project: Project, vouch: Vouch) -> None:
    model = save_blip(tmp_path / "blip")
    (model / "model.safetensors").unlink()
    project.entry = {"source": {"kind": "folder", "path": str(model)}, "template": "question_answer"}
    data = image(1)
    project.ask([prompt("q/original", "what is shown", [data], response="the", outputs=OUTPUTS)], [data])
    project.save()
    found = probed(vouch)
    assert found["letters"]["padded"] is None and found["letters"]["decoder"]
    assert "the decoder has read `" in vouch("plan", "--probe", MODEL)


@pytest.mark.parametrize(
    ("wanted", "claim"),
    [
        ("tny", "params.yaml: no model tny; did you mean tiny?"),
        ("", "params.yaml: no model ; "),
    ],
)
def test_a_model_that_is_not_there(project: Project, vouch: Vouch, wanted: str, claim: str) -> None:
    assert claim in vouch("plan", "--probe", wanted, status=1)


@pytest.mark.parametrize(
    ("entry", "claim"),
    [
        ({"source": {"kind": "folder", "path": "nowhere"}}, "nowhere: no such model folder"),
        (
            {"source": {"kind": "hub", "repo": "a/b", "revision": "0" * 40}},
            "not whole in the local cache; run `dvc repro pin@tiny`",
        ),
        ({"source": {"kind": "hub", "repo": "a/b", "revision": None}}, "is not pinned"),
        ({"source": {"kind": "folder", "path": "model"}, "template": "chatm"}, "no template chatm"),
        ({"source": {"kind": "folder", "path": "model"}, "template_kwargs": {"x": 1}}, "reads no x"),
        ({"source": {"kind": "folder", "path": "model"}, "processor": {"nope": 1}}, "has no setting nope"),
    ],
)
def test_a_model_that_cannot_be_opened(
    project: Project, vouch: Vouch, entry: dict[str, Any], claim: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    project.entry = entry
    project.save()
    assert claim in vouch("plan", "--probe", MODEL, status=1)


@pytest.mark.parametrize(
    "cut", ["tokenizer.json", "config.json", "preprocessor_config.json", "processor_config.json"]
)
def test_a_folder_with_a_file_cut_short(folder: Path, project: Project, vouch: Vouch, cut: str) -> None:
    path = folder / cut
    if path.exists():
        path.write_bytes(path.read_bytes()[:100])
        assert str(folder) in vouch("plan", "--probe", MODEL, status=1)


def test_long_prompts_lose_their_middle_on_the_screen_alone(
    project: Project, vouch: Vouch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = image(1)
    project.ask([prompt("q/original", "one two cat " * 60, [data])], [data])
    out, found = vouch("plan", "--probe", MODEL), probed(vouch)["letters"]
    assert out.count("·cat") < 40 and "more …" in out and out.rstrip().count("ASSISTANT·:\n") == 1
    assert len(ids(found["tokens"])) == found["length"] > 180
    project.ask([prompt("q/original", "one two cat " * 5000, [data])], [data])
    assert "! its 15" in refused(capsys), "longer than its context"


def test_what_is_not_asked_or_not_made_yet(project: Project, vouch: Vouch) -> None:
    (Path("data/prompts") / f"{DATASET}.parquet").unlink()
    assert f"{DATASET}: no prompts here yet; `dvc repro vary@{DATASET}` makes them" in vouch(
        "plan", "--probe", MODEL
    )
    project.params["extract"]["datasets_of"] = {MODEL: []}
    project.save()
    assert "not asked of this model (extract.datasets_of)" in vouch("plan", "--probe", MODEL)


def test_answers_that_others_released_are_one_line(project: Project, vouch: Vouch) -> None:
    Path("theirs").mkdir()
    project.entry = {"source": {"kind": "folder", "path": "theirs"}}
    project.save()
    out = vouch("plan", "--probe", MODEL)
    assert out == f"{MODEL}: answers that others released (theirs); no prompt is rendered, nothing is asked\n"


def test_a_model_that_thinks_is_shown_after_its_thought(project: Project, vouch: Vouch) -> None:
    project.entry |= {"reasoning": {"tokens": 9, "closes": "</think>"}}
    project.save()
    out = vouch("plan", "--probe", MODEL)
    assert "thinks: prompts are shown after the end of a thought" in " ".join(out.split())


@pytest.fixture
def server() -> Iterator[Loopback]:
    with serving(StandIn()) as running:
        yield running


def test_a_server_gets_the_requests_that_are_shown(
    server: Loopback, project: Project, vouch: Vouch, capsys: pytest.CaptureFixture[str]
) -> None:
    project.entry = {"source": {"kind": "server", "url": server.url, "name": NAME}, "engine": "openai"}
    project.entry |= {"template_kwargs": {"a": 1}}
    project.save()
    found = probed(vouch)
    assert server.requests == [], "none is sent"
    project.pin()
    project.extract()
    for one in found.values():
        assert one["requests"][0] in server.requests
    assert (
        len(found["likelihood"]["requests"]) == 1 + 4
        and found["letters"]["requests"][0]["top_logprobs"] == 20
    )
    screen = vouch("plan", "--probe", MODEL)
    assert '"top_logprobs": 20' in screen and "data:image/png;base64," in screen and len(screen) < 6000
    project.entry |= {"reasoning": {"tokens": 9}}
    project.save()
    assert "! letters of a model that thinks cannot be read from a server" in refused(capsys)


def test_tokens_in_one_line() -> None:
    assert visible("a\n\tb\x1b\u202e数 ") == "a\\n\\tb\\x1b\\u202e数 "


def test_words_with_a_mark_for_the_space_before_them() -> None:
    """As SentencePiece has them: `▁red` is ` red`, and within a word there is none."""
    from vouch.models.decoder.preparing import InputNeeds, Preparer

    ready = Preparer(llava_processor(pieces(), CHAT), CHAT, InputNeeds())
    known = ready._encode(["what is red."])[0]
    assert "".join(token_texts(ready.tokenizer, known)) == " what is red."
