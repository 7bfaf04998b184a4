"""A model that takes no images: found when it is pinned, asked the same prompts without them, a question once.

Tiny models of random weights of several families, with and without a chat template, against plain transformers.
"""

import json
import random
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.models.engines import CONFIG, OPTIONS, alone, answered, letters_of, refusal, text_of
from tests.models.project import DATASET, MODEL, Project, image, prompt
from tests.models.tiny import SPOKEN, save_language_model, sentence
from tests.refusals import refused
from vouch.models.decoder.engine import load
from vouch.models.engine import Decoding, Engine, LikelihoodAnswer, Question
from vouch.models.kinds import sees_images, takes_images
from vouch.models.lock_entry import LockEntry
from vouch.models.packs import without_images
from vouch.models.pins import pinned
from vouch.tables.answered import Pin, Source, folder_digests, pin_path, read_json, read_pin
from vouch.tables.asked import LETTERS, LIKELIHOOD, OUTPUTS, TEXT

TOKENS = 9
SIZES: dict[str, dict[str, Any]] = {  # of families that differ: positions, windows, heads, what forward takes
    "llama": {},
    "gpt2": {"n_embd": 32, "n_layer": 2, "n_head": 4},
    "qwen2": {},
    "gemma2": {"head_dim": 8, "sliding_window": 8, "query_pre_attn_scalar": 8},
    "phi": {},
    "opt": {"ffn_dim": 64, "word_embed_proj_dim": 32},
    "bloom": {"n_layer": 2, "n_head": 4},
}


@dataclass(frozen=True)
class Model:
    """A saved model as transformers loads it, and Vouch's engine for it. chat: whether it has a template."""

    folder: Path
    chat: bool

    @property
    def pin(self) -> Pin:
        source = Source(kind="folder", path=str(self.folder))
        sees = takes_images(read_json(self.folder / "config.json"))
        files = folder_digests(self.folder)
        return Pin(model=MODEL, engine="transformers", source=source, files=files, sees=sees)

    def engine(self) -> Engine:
        return load(self.pin, CONFIG)

    def plain(self) -> tuple[Any, Any]:
        from transformers import AutoModelForCausalLM, AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(self.folder)
        return AutoModelForCausalLM.from_pretrained(self.folder).eval(), tokenizer


def written(model: Model, tokenizer: Any, text: str) -> str:
    if not model.chat:
        return text
    asked = [{"role": "user", "content": text}]
    return str(tokenizer.apply_chat_template(asked, add_generation_prompt=True, tokenize=False))


@cache
def questions() -> list[Question]:
    lengths = (3, 5, 12, 26, 7)
    return [
        Question(f"q{number}", None, sentence(random.Random(number), words), labels="ABC")
        for number, words in enumerate(lengths)
    ]


@pytest.mark.parametrize(
    ("family", "chat"),
    [
        *[(name, SPOKEN) for name in ("llama", "qwen2", "gemma2", "bloom")],
        *[(name, None) for name in ("llama", "gpt2", "phi", "opt")],
    ],
    ids=lambda value: value if value in SIZES else "chat" if value else "base",
)
def test_each_family_gives_its_own_numbers(
    family: str, chat: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Letters, likelihoods and greedy texts, each of a prompt by itself in plain transformers."""
    monkeypatch.chdir(tmp_path)
    model = Model(save_language_model(tmp_path / "model", family, chat, **SIZES[family]), bool(chat))
    assert not model.pin.sees
    engine, (own, tokenizer) = model.engine(), model.plain()
    vocabulary = max(tokenizer.get_vocab().values()) + 1

    def ids(question: Question, more: str = "") -> torch.Tensor:
        text = written(model, tokenizer, question.text) + more
        inputs = tokenizer(text, return_tensors="pt", add_special_tokens=not chat)["input_ids"]
        return torch.as_tensor(inputs)

    @torch.no_grad()
    def logits(tokens: torch.Tensor) -> torch.Tensor:
        return torch.as_tensor(own(tokens).logits[0, :, :vocabulary])

    found = answered(engine, LETTERS, [questions()])
    for question in questions():
        answer, last = letters_of(found[question.id]), logits(ids(question))[-1]
        tokens = [int(ids(question, f"{answer.spelling}{label}")[0, -1]) for label in question.labels]
        assert answer.logits == pytest.approx(last[tokens].tolist(), abs=1e-4)

    scored = [replace(one, labels=(), options=OPTIONS) for one in questions()]
    found = answered(engine, LIKELIHOOD, [scored])
    for question in scored:
        given = found[question.id].answer
        assert isinstance(given, LikelihoodAnswer)
        start = ids(question).shape[1]
        for option, nll in zip(OPTIONS, given.nll, strict=True):
            whole = ids(question, f" {option}")
            shares = logits(whole).log_softmax(dim=-1)[start - 1 : -1]
            expected = -shares.gather(1, whole[0, start:, None]).sum()
            assert nll == pytest.approx(float(expected), abs=1e-3)

    asked = [replace(one, labels=(), max_tokens=TOKENS, decodings=(Decoding(),)) for one in questions()]
    texts = alone(engine, TEXT, asked)
    for question in asked:
        before = ids(question)
        with torch.no_grad():
            whole = own.generate(
                before,
                attention_mask=torch.ones_like(before),
                max_new_tokens=TOKENS,
                do_sample=False,
                suppress_tokens=list(range(vocabulary, own.config.vocab_size)) or None,
            )
        expected = tokenizer.decode(whole[0, before.shape[1] :], skip_special_tokens=True)
        assert text_of(texts[question.id, 0.0, 0]).text == expected
    assert engine.notes["rows"] == CONFIG.batch and engine.notes["self_check"]["plain"]["positions"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_language_model(tmp_path_factory.mktemp("language"), "llama", SPOKEN)


def test_an_image_is_refused_and_never_dropped_in_silence(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What asks the engine leaves the images out."""
    from PIL import Image

    monkeypatch.chdir(tmp_path)
    shown = replace(questions()[0], images=[Image.new("RGB", (8, 8))])
    (found,) = answered(Model(folder, True).engine(), LETTERS, [[shown]]).values()
    assert "shows images, and this model takes none" in refusal(found)


def test_a_text_goes_on_where_the_tokenizer_would_end_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A base model, whose tokenizer begins a text with one token and ends it with another."""
    from tokenizers import Tokenizer
    from tokenizers.processors import TemplateProcessing

    monkeypatch.chdir(tmp_path)
    model = Model(save_language_model(tmp_path / "model", "llama", None), chat=False)
    file = str(model.folder / "tokenizer.json")
    tokens = Tokenizer.from_file(file)
    ends = [("<s>", tokens.token_to_id("<s>")), ("</s>", tokens.token_to_id("</s>"))]
    tokens.post_processor = TemplateProcessing(single="<s> $A </s>", special_tokens=ends)
    tokens.save(file)
    own, tokenizer = model.plain()
    asked = questions()[0]
    ids = tokenizer(asked.text)["input_ids"]
    assert (ids[0], ids[-1]) == (ends[0][1], ends[1][1])
    (found,) = answered(model.engine(), LETTERS, [[asked]]).values()
    with torch.no_grad():
        last = own(torch.tensor([ids[:-1]])).logits[0, -1]
    wanted = last[tokenizer.convert_tokens_to_ids(list(asked.labels))].tolist()
    assert letters_of(found).logits == pytest.approx(wanted, abs=1e-4)


# Pins


@pytest.mark.parametrize(
    ("config", "sees"),
    [
        ({"model_type": "llama", "architectures": ["LlamaForCausalLM"]}, False),
        ({"model_type": "gemma3_text", "architectures": ["Gemma3ForCausalLM"]}, False),
        ({"model_type": "llava", "architectures": ["LlavaForConditionalGeneration"]}, True),
        ({"model_type": "gemma3", "architectures": ["Gemma3ForConditionalGeneration"]}, True),
        # types of which transformers has a class for either: the saved one decides, else the whole
        ({"model_type": "qwen3_5", "architectures": ["Qwen3_5ForConditionalGeneration"]}, True),
        ({"model_type": "qwen3_5", "architectures": ["Qwen3_5ForCausalLM"]}, False),
        ({"model_type": "llama4", "architectures": ["Llama4ForCausalLM"], "vision_config": {}}, False),
        ({"model_type": "mllama"}, True),
        ({"model_type": "fuyu", "architectures": ["FuyuForCausalLM"]}, True),
        ({"model_type": "git", "architectures": ["GitForCausalLM"]}, True),
        # it takes images, though only by a class for texts
        ({"model_type": "phi4_multimodal", "architectures": ["Phi4MultimodalForCausalLM"], "vision_config": {}}, True),
        ({"model_type": "clip"}, True),
        ({"model_type": "t5"}, True),
        ({"model_type": "none_such"}, True),
        ({"model_type": ["llama"], "architectures": "LlamaForCausalLM"}, True),
        ({"model_type": "llama", "architectures": []}, False),
        ({"model_type": "llama", "architectures": [7]}, False),
        ({"model_type": None}, True),
        ({}, True),
    ],
)  # fmt: skip
def test_what_a_config_says_of_images(config: dict[str, Any], sees: bool) -> None:
    assert takes_images(config) is sees


@pytest.fixture
def project(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(tmp_path)
    return Project(tmp_path, folder)


def test_a_pin_says_it_and_keeps_its_digest(project: Project, tiny: Path) -> None:
    """The files say it already, and prompts lack their images: replies of a rewriter stay what they are."""
    project.pin()
    pin = read_pin(pin_path(MODEL))
    assert not pin.sees and json.loads(pin_path(MODEL).read_text("utf-8"))["sees"] is False
    assert pin.digest == pin.model_copy(update={"sees": True}).digest
    project.model, project.entry["source"]["path"] = tiny, str(tiny)
    project.pin()
    assert "sees" not in json.loads(pin_path(MODEL).read_text("utf-8"))


def test_an_entry_must_not_contradict_the_files(project: Project, tiny: Path) -> None:
    project.entry["sees"] = False
    project.pin()
    project.entry["sees"] = True
    with refused(
        r"models.lock: tiny: says sees: true, but .*config.json is .* takes no images \(Llama.*; leave"
    ):
        project.pin()
    project.entry = {"source": {"kind": "folder", "path": str(tiny)}, "sees": False}
    with refused("says sees: false, but .* takes images .Llava.*; leave sees out"):
        project.pin()


def test_what_no_file_can_say_the_entry_says(project: Project, tmp_path: Path) -> None:
    source = {"kind": "server", "url": "http://127.0.0.1:8000/v1", "name": "tiny-1"}
    project.entry = {"source": source, "engine": "openai"}
    project.pin()
    before = read_pin(pin_path(MODEL))
    project.entry["sees"] = False
    project.pin()
    pin = read_pin(pin_path(MODEL))
    assert before.sees and not pin.sees and pin.digest == before.digest
    (tmp_path / "answers").mkdir()
    (tmp_path / "answers" / f"{DATASET}.csv").write_text("id,text\nq1,A\n", "utf-8")
    entry = {"source": {"kind": "hub", "repo": "owner/tiny", "revision": None}}
    found = [pinned(MODEL, "answers", {MODEL: entry | more}) for more in ({}, {"sees": False})]
    assert [one.sees for one in found] == [True, False] and found[0].engine == "released"


def test_what_says_whether_a_model_takes_images(project: Project, tmp_path: Path) -> None:
    """Its entry, else its pin if it is of that source, else config.json; what cannot be read says nothing."""
    llama, llava = (tmp_path / name for name in ("llama", "llava"))
    for folder in (llama, llava):
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps({"model_type": folder.name}), "utf-8")
    assert [sees_images("new", str(folder)) for folder in (llama, llava, tmp_path)] == [False, True, True]
    assert sees_images("new", None) and sees_images("new", "models.lock")
    server: Any = {"source": {"kind": "server", "url": "http://127.0.0.1:8000/v1", "name": "tiny-1"}}
    blind = LockEntry.model_validate({**server, "engine": "openai", "sees": False})
    assert not sees_images("new", "models.lock", blind)
    project.pin()
    own = project.entry["source"]["path"]
    assert not sees_images(MODEL, own) and not sees_images(MODEL, None)
    assert sees_images(MODEL, str(llava)), "the pin is of another folder"
    pin_path(MODEL).write_text("{", "utf-8")
    assert not sees_images(MODEL, own) and sees_images(MODEL, None)


@pytest.mark.parametrize(
    ("family", "changes", "problem"),
    [
        ("t5", {"d_model": 16, "num_layers": 1, "d_kv": 8, "d_ff": 16, "num_heads": 2}, "of type t5"),
        ("bart", {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1}, "of type bart"),
        ("bert", {}, "of type bert"),
        ("mamba", {}, "padding the model's prompts to one length changes its answers"),
    ],
)
def test_what_does_not_go_on_from_its_prompt(
    project: Project, tmp_path: Path, family: str, changes: dict[str, Any], problem: str
) -> None:
    saved = save_language_model(tmp_path / "other", family, SPOKEN, **changes)
    project.entry["source"]["path"] = str(saved)
    project.pin()
    project.ask([prompt("q1/original", "what is it")], [])
    with refused(problem):
        project.extract()


def test_settings_of_an_image_processor_are_refused(project: Project) -> None:
    project.entry["processor"] = {"do_resize": False}
    project.pin()
    project.ask([prompt("q1/original", "what is it")], [])
    with refused("processor: this model reads no images; leave the settings out"):
        project.extract()


# Prompts


def test_images_are_left_out_and_a_question_is_asked_once(project: Project) -> None:
    """Whatever is done to the images of a question; other words and other options are another question."""
    project.params["extract"]["sampling"] = [{"temperature": 0.7, "samples": 2}]
    one, other = image(1), image(2)
    step = {"operation": "blur", "severity": 3, "revision": 1}
    blurred = prompt("q1/vr_b", "what is red", [one], outputs=OUTPUTS)
    blurred["images"][0]["steps"] = [step]
    rows = [
        prompt("q1/original", "what is red", [one], outputs=OUTPUTS),
        blurred,
        prompt("q1/vs_e", "what is red", [other], outputs=OUTPUTS),
        prompt("q1/text_only", "what is red", outputs=OUTPUTS),
        prompt("q1/lr_i", "what is blue", [one], outputs=OUTPUTS),
        prompt("q2/original", "what is red", outputs=OUTPUTS),
    ]
    project.pin()
    project.ask(rows, [one, other])
    run = project.extract()
    assert run.measured["answers"] == {"known": 0, "asked": 2 * (1 + 1 + 3)}
    for output in OUTPUTS:
        answers: dict[str, list[dict[str, Any]]] = {}
        for row in project.rows(output):
            assert row["problem"] is None and row["pixels"] == ""
            answers.setdefault(row.pop("prompt"), []).append(row)
        assert list(answers) == [row["id"] for row in rows]
        same = [answers[row["id"]] for row in rows if row["text"] == "what is red"]
        assert all(one == same[0] for one in same) and answers["q1/lr_i"] != same[0]
    assert project.extract().measured["answers"]["asked"] == 0


@pytest.mark.parametrize(
    ("images", "text", "options", "expected", "words"),
    [
        (1, "What is it?", ["a"], "What is it?", ["a"]),
        (1, "What is it? <image 1>\nA. a", ["a"], "What is it?\nA. a", ["a"]),
        (1, "See <image 1> here.\nA. a", ["a"], "See image 1 here.\nA. a", ["a"]),
        (1, "Which?\nA. <image 1>", ["<image 1>"], "Which?\nA. image 1", ["image 1"]),
        (2, "<image 1>\n<image 2>\nWhich?", ["a"], "Which?", ["a"]),
        (2, "<image 2>\nIs it <image 1>?", ["<image 1>", "b"], "Is it image 1?", ["image 1", "b"]),
        (0, "Is it <image>, <image 1> or <image x>?", [], "Is it <image>, image 1 or <image x>?", []),
        (1, "", [], "", []),
    ],
)
def test_marks_of_images_that_are_not_there(
    images: int, text: str, options: Sequence[str], expected: str, words: Sequence[str]
) -> None:
    recipes = [{"images": [str(number)], "steps": []} for number in range(images)]
    given = prompt("q1/original", text, turns=[(text, "<image 1>")])
    before = json.dumps(given)
    bare = without_images({**given, "images": recipes, "options": options})
    assert (bare["text"], bare["options"], bare["images"]) == (expected, words, [])
    assert bare["turns"] == [{"question": expected, "answer": "<image 1>"}], "an answer is nobody's mark"
    assert json.dumps(given) == before


def test_a_pack_of_prompts_that_become_the_same(project: Project) -> None:
    """Twelve prompts of a variation that show other images: each has its row, and texts are asked once."""
    shown = [image(number) for number in range(12)]
    rows = [
        prompt(f"q1/many/{number}", "what is red", [one], outputs=(TEXT,)) for number, one in enumerate(shown)
    ]
    project.pin()
    project.ask(rows, shown)
    assert project.extract().measured["answers"]["asked"] == 1
    assert len({row["text"] for row in project.rows(TEXT)}) == 1 and len(project.rows(TEXT)) == 12


def test_items_without_an_image_are_asked_of_every_model(
    tiny: Path, project: Project, tmp_path: Path
) -> None:
    for path in (tiny, project.model):
        project.entry["source"]["path"] = str(path)
        project.pin()
        project.ask([prompt("q1/original", "what is red", outputs=OUTPUTS)], [])
        project.extract()
        assert [row["problem"] for output in OUTPUTS for row in project.rows(output)] == [None] * 6


def test_a_copy_of_the_folder_has_the_same_answers(project: Project, tmp_path: Path) -> None:
    project.pin()
    project.ask([prompt("q1/original", "what is red", [image(1)], outputs=OUTPUTS)], [image(1)])
    project.extract()
    before = project.bytes()
    project.entry["source"]["path"] = str(shutil.copytree(project.model, tmp_path / "copy"))
    project.pin()
    assert project.extract().measured["answers"]["asked"] == 0 and project.bytes() == before
