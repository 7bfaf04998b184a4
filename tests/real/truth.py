"""Vouch's answers against plain transformers, prompt by prompt, with real weights: `make real-tests`.

The language model answers questions in words and rewrites them, the vision model with untrained eyes answers the same
questions with an image; the encoder gives vectors and the similarity of texts.
"""

import io
import json
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from transformers import (
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForImageTextToText,
    AutoProcessor,
    AutoTokenizer,
)

from stages.embed import main as embed
from tests.metrics.simulated import project_run
from tests.models.encoders.models import by_hand
from tests.models.project import Project, image, prompt
from tests.prompts.conftest import Project as Rewriting
from tests.prompts.rows import item_row
from tools.real.weights import make_models
from vouch.models.encoders.config import ImageEncoderConfig
from vouch.models.encoders.pinned import load
from vouch.models.pins import pinned
from vouch.prompts.rewrites.content import instruction
from vouch.prompts.rewrites.table import RewriteTask
from vouch.tables.answered import TEXT, pin_path, text_path, write_pin
from vouch.tables.asked import PROMPTS, prompts_path
from vouch.tables.embedded import TEXT_SIMILARITY, TEXT_SIMILARITY_PATH

ITEMS = Path(__file__).parents[2] / "docs/examples/general/items.jsonl"
LETTERS, LIKELIHOODS, TEXTS, TOKENS = 19, 10, 15, 24  # prompts of four options each; tokens of a text
REWRITTEN = 1  # questions
IMAGES = [image(seed, (64, 48)) for seed in (1, 2, 3)]


@pytest.fixture(scope="module")
def models() -> Path:
    return make_models()


def questions() -> list[dict[str, Any]]:
    """Prompts of different lengths, with the options' texts; every third one without the request for a letter."""
    lines = [json.loads(line) for line in islice(ITEMS.open(encoding="utf-8"), 0, 64, 3)]
    asked = []
    for number, item in enumerate(lines[:LETTERS]):
        text = "\n".join(
            [item["question"], *(f"{k}. {o}" for k, o in zip("ABCD", item["options"], strict=True))]
        )
        ending = (
            "" if number % 3 == 2 else "\nAnswer with the option's letter from the given choices directly."
        )
        asked.append(prompt(f"{item['id']}/original", text + ending, options=item["options"]))
    return asked


class Plain:
    """A model folder as transformers loads it, asked one prompt at a time."""

    def __init__(self, folder: Path, sees: bool) -> None:
        auto = AutoModelForImageTextToText if sees else AutoModelForCausalLM
        self.model = auto.from_pretrained(folder, dtype=torch.float32).eval()
        self.processor = AutoProcessor.from_pretrained(folder) if sees else None
        self.tokenizer = self.processor.tokenizer if self.processor else AutoTokenizer.from_pretrained(folder)

    def inputs(self, text: str, shown: Sequence[bytes], answer: str = "") -> dict[str, torch.Tensor]:
        content: Any = text
        if self.processor:
            content = [*({"type": "image"} for _ in shown), {"type": "text", "text": text}]
        message, template = [{"role": "user", "content": content}], self.processor or self.tokenizer
        words = template.apply_chat_template(message, tokenize=False, add_generation_prompt=True) + answer
        if not self.processor:
            return dict(self.tokenizer(words, return_tensors="pt", add_special_tokens=False))
        images = [Image.open(io.BytesIO(data)).convert("RGB") for data in shown]
        return dict(
            self.processor(text=[words], images=[images], return_tensors="pt", add_special_tokens=False)
        )

    @torch.inference_mode()
    def logits(self, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
        return self.model(**inputs).logits[0].double()

    def nll(self, text: str, shown: Sequence[bytes], option: str) -> tuple[float, int]:
        """Of an option after the prompt, and how many tokens it has."""
        before = self.inputs(text, shown)["input_ids"].shape[1]
        inputs = self.inputs(text, shown, option)
        logprobs = self.logits(inputs).log_softmax(-1)
        tokens = inputs["input_ids"][0, before:]
        return -float(logprobs[before - 1 : -1].gather(1, tokens[:, None]).sum()), len(tokens)

    @torch.inference_mode()
    def text(self, text: str, shown: Sequence[bytes] = ()) -> str:
        inputs = self.inputs(text, shown)
        tokens = self.model.generate(**inputs, max_new_tokens=TOKENS, do_sample=False)
        return str(self.tokenizer.decode(tokens[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True))


@pytest.mark.parametrize(("name", "sees"), [("smollm2", False), ("smollm2_untrained_eyes", True)])
def test_answers_are_those_of_plain_transformers(
    name: str, sees: bool, models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made = Project(tmp_path, models / name)
    made.params["extract"].update(batch=8, bucket=32, max_tokens=TOKENS)
    made.pin()
    rows = questions()
    for number, row in enumerate(rows):
        row["images"] = prompt("x/original", "", [IMAGES[number % 3]])["images"] if sees else []
        row["outputs"] = ["letters"]
        row["outputs"] += ["likelihood"] * (number < LIKELIHOODS) + ["text"] * (number < TEXTS)
    made.ask(rows, IMAGES)
    made.extract()

    plain = Plain(models / name, sees)
    shown = {row["id"]: [IMAGES[number % 3]] if sees else [] for number, row in enumerate(rows)}
    asked = {row["id"]: row["text"] for row in rows}
    letters = [plain.tokenizer.convert_tokens_to_ids(letter) for letter in "ABCD"]  # after a line break
    answered = made.rows("letters")
    assert len(answered) == LETTERS
    for row in answered:
        last = plain.logits(plain.inputs(asked[row["prompt"]], shown[row["prompt"]]))[-1]
        assert row["logits"] == pytest.approx(last[letters].tolist(), abs=1e-4), row["prompt"]
    answered = made.rows("likelihood")
    assert len(answered) == 4 * LIKELIHOODS
    options = {row["id"]: row["options"] for row in rows}
    for row in answered:
        option = options[row["prompt"]][row["option"]]
        nll, tokens = plain.nll(asked[row["prompt"]], shown[row["prompt"]], option)
        assert (row["nll"], row["tokens"]) == (pytest.approx(nll, abs=1e-3), tokens), (row["prompt"], option)
    answered = made.rows("text")
    assert len(answered) == TEXTS
    for row in answered:
        assert row["text"] == plain.text(asked[row["prompt"]], shown[row["prompt"]]), row["prompt"]


def test_vectors_are_those_of_plain_transformers(models: Path) -> None:
    folder = models / "minilm"
    encoder = load(pinned("minilm", str(folder), {}), ImageEncoderConfig(encoder="data/models/minilm.json"))
    texts = [json.loads(line)["question"] for line in ITEMS.open(encoding="utf-8")]
    assert encoder.questions is not None
    vectors = encoder.questions(texts)
    model, tokenizer = AutoModel.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    for text, vector in zip(texts, vectors, strict=True):
        with torch.inference_mode():
            states = model(**tokenizer(text, return_tensors="pt")).last_hidden_state
        assert vector == pytest.approx(states[0].mean(0).numpy(), abs=1e-5), text


# what PARC asks a language model (A7.2): the first and the last words of its instruction
INSTRUCTIONS = {
    "lr_i": ("Rewrite the given phrases into instructions.", "do NOT give additional explanations."),
    "ls_n": (
        "Change the following questions to ask for the opposite",
        "Do NOT give additional explanations.",
    ),
}


def test_rewrites_are_those_of_plain_transformers(
    models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PARC's prompts to a real Llama of 135 million parameters; what it cannot do is refused in words."""
    monkeypatch.chdir(tmp_path)
    project, folder = Rewriting(tmp_path), models / "smollm2"
    write_pin(pin_path("smollm2"), pinned("smollm2", str(folder), {}))
    project.rewrite = {"rewriter": "data/models/smollm2.json", "device": "cpu", "max_tokens": TOKENS}
    items = [json.loads(line) for line in islice(ITEMS.open(encoding="utf-8"), 3, 3 + REWRITTEN)]
    project.items(*(item_row(item["id"], item["question"], options=item["options"]) for item in items))
    rows = project.rows()
    assert [(row["original"], row["kind"]) for row in rows] == [
        (item["question"], kind) for item in items for kind in INSTRUCTIONS
    ]
    plain = Plain(folder, sees=False)
    for row in rows:
        assert (row["status"] == "accepted") == (not row["reason"]), "every refusal has its words"
        kind = row["kind"]
        first, last = INSTRUCTIONS[kind]
        head, examples = instruction(kind).head.strip(), instruction(kind).examples
        assert head.startswith(first) and head.endswith(last) and len(examples) == 4
        shown = "".join(f'Q: "{one.q}"\nA: "{one.a}"\n' for one in examples)
        said = plain.text(f'{head}\n{shown}Q: "{row["original"]}"\nA:')
        if row["rewrite"] is None:
            assert row["reason"] == "the answer is longer than rewrite.max_tokens"
        else:
            assert row["rewrite"] == RewriteTask(row["original"], kind).read(said)
    accepted = sum(row["status"] == "accepted" for row in rows)
    assert 0 < accepted < len(rows)
    assert len(project.prompts()) == REWRITTEN + accepted, "no prompt of a rewrite that was refused"


SENTENCE = "The capital of France is Paris."
SAMPLED: list[
    tuple[str, list[str], str, list[str]]
] = [  # prompt, its options, the greedy text and the samples
    ("1/original", ["Paris", "Rome"], "A", ["(b).", "A"]),
    ("2/original", [], SENTENCE, ["It is Paris, of course.", "Rome", "unbelievably"]),
]


def test_similarities_of_samples_are_the_formula_by_plain_transformers(
    models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sample_BERT and Sample*_BERT of Tu et al.: BERTScore's F1 with the greedy text, by a real encoder."""
    folder, run = models / "minilm", project_run(tmp_path, monkeypatch, "embed")
    write_pin(pin_path("minilm"), pinned("minilm", str(folder), {}))
    run._params["params.yaml"]["embed.texts"] = {"encoder": "data/models/minilm.json", "device": "cpu"}
    prompts: list[dict[str, Any]] = []
    texts: list[dict[str, Any]] = []
    for name, options, greedy, samples in SAMPLED:
        labels, order = list("AB"[: len(options)]), list(range(len(options)))
        prompts.append(
            {"id": name, "variation": "original", "options": options, "labels": labels, "order": order}
        )
        drawn = [(0.0, 0, greedy), *((0.7, number, text) for number, text in enumerate(samples, 1))]
        texts += [
            {"prompt": name, "temperature": heat, "sample": number, "text": text}
            for heat, number, text in drawn
        ]
    for dataset in ("left", "right"):
        PROMPTS.write(prompts_path(dataset), prompts)
        for model in ("tiny_a", "tiny_b"):
            TEXT.write(text_path(model, dataset), texts if (model, dataset) == ("tiny_a", "left") else [])
    embed(run)
    one, two = TEXT_SIMILARITY.read(TEXT_SIMILARITY_PATH).to_pylist()

    def mean(greedy: str, *samples: str) -> float:
        return sum(by_hand(folder, text, greedy)[0] for text in samples) / len(samples)

    assert one["sample_bert"] == pytest.approx(mean("A", "(b).", "A"), abs=1e-5)
    spelled = mean("A. Paris", "B. Rome", "A. Paris")
    assert one["sample_bert_expanded"] == pytest.approx(spelled, abs=1e-5) != one["sample_bert"]
    expected = mean(SENTENCE, *SAMPLED[1][3])
    assert two["sample_bert"] == two["sample_bert_expanded"] == pytest.approx(expected, abs=1e-5)
