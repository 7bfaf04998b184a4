"""Images and questions become rows of numbers: by a file of the stage, by a pinned model, or by nobody."""

import hashlib
import io
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image
from pydantic import ValidationError

from stages.embed import main
from tests.metrics.simulated import project_run
from tests.models.encoders.models import pin, save_bert, save_clip
from tests.refusals import refused
from vouch.models.encoders.config import Pictures
from vouch.pipeline.run import Run
from vouch.tables.answered import pin_path, write_pin
from vouch.tables.asked import IMAGES as SHOWN
from vouch.tables.asked import ITEMS, images_path, items_path
from vouch.tables.results import EMBEDDED, EMBEDDINGS, IMAGES, QUESTIONS, embeddings_path

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
    run._params["params.yaml"]["embed.pictures"] = {"encoder": encoder} | changes


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
        Pictures(encoder=f"vouch/models/encoders/{name}.py")


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
