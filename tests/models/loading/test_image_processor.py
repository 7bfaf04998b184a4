"""Settings of the image processor, against the formulas of the models' authors on real images."""

import json
import math
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image

from tests.models.engines import CONFIG
from tests.refusals import refused
from vouch.models.decoder.engine import load_model, with_settings
from vouch.models.loading import image_processor
from vouch.models.lock_entry import LockEntry
from vouch.params.project import Models
from vouch.pipeline.yaml12 import load

ROOT = Path(__file__).parents[3]
ENTRIES: dict[str, LockEntry] = Models.model_validate(load(ROOT / "models.lock"), strict=True).models
REAL = ROOT.parent / "shared/reference/realdata"

Values = npt.NDArray[np.float64]
MEAN, STD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)  # OpenAI's CLIP
CLIP_336 = {
    "image_processor_type": "CLIPImageProcessor",
    "size": {"shortest_edge": 336},
    "crop_size": {"height": 336, "width": 336},
    "do_center_crop": True,
    "image_mean": MEAN,
    "image_std": STD,
    "resample": 3,
}  # what the converted repository of LLaVA-1.5 says
PAD = ENTRIES["llava_v1_5_7b"].processor


def folder_of(folder: Path, config: Mapping[str, Any]) -> Path:
    (folder / "preprocessor_config.json").write_text(json.dumps(config), "utf-8")
    return folder


def pixels(folder: Path, image: Image.Image, settings: Mapping[str, Any]) -> Values:
    made = image_processor(folder, settings)(images=[image], return_tensors="np")
    return np.asarray(made["pixel_values"][0])


def llava_1_5(image: Image.Image) -> Values:
    """llava/mm_utils.py: a square of the mean colour, the image in its middle, then CLIP at 336 pixels."""
    width, height = image.size
    side = max(width, height)
    square = Image.new("RGB", (side, side), tuple(int(one * 255) for one in MEAN))
    square.paste(image, ((side - width) // 2, (side - height) // 2))
    small = np.asarray(square.resize((336, 336), Image.Resampling.BICUBIC), dtype=np.float64) / 255
    return ((small - MEAN) / STD).transpose(2, 0, 1)


def real_images() -> Iterator[Path]:
    """Four of every real set, wide and high."""
    for folder in sorted(REAL.glob("*")):
        found = sorted(folder.glob("images/**/*.*"))
        yield from found[:: max(1, len(found) // 4)][:4]


def ramp(width: int, height: int) -> Image.Image:
    """Grey that says how far to the right a column is."""
    columns = np.linspace(0, 255, width).round().astype(np.uint8)
    return Image.fromarray(np.broadcast_to(columns[None, :, None], (height, width, 3)).copy())


def surviving(values: Values) -> tuple[float, float]:
    """The first and the last column of a ramp that the model sees, 0 to 1; bars above and below left out."""
    red = values[0, values.shape[1] // 2] * STD[0] + MEAN[0]
    return float(red.min()), float(red.max())


def test_a_wide_canvas_keeps_all_of_its_columns(tmp_path: Path) -> None:
    """Two images of 640 x 480 side by side, as PARC shows a pair: cropping leaves 37 % of the columns."""
    folder, canvas = folder_of(tmp_path, CLIP_336), ramp(1280, 480)
    first, last = surviving(pixels(folder, canvas, {}))
    assert (first, last) == (pytest.approx(0.31, abs=0.01), pytest.approx(0.69, abs=0.01))
    first, last = surviving(pixels(folder, canvas, PAD))
    assert first < 0.005 and last > 0.995


@pytest.mark.parametrize("size", [(1280, 480), (480, 1280), (333, 500), (336, 336), (31, 90)])
def test_llava_1_5_pads_as_its_authors_do(tmp_path: Path, size: tuple[int, int]) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    image, folder = Image.fromarray(noise), folder_of(tmp_path, CLIP_336)
    assert np.allclose(pixels(folder, image, PAD), llava_1_5(image), atol=1e-5)


@pytest.mark.skipif(not REAL.is_dir(), reason="needs the real images in ../shared")
def test_llava_1_5_pads_real_images_as_its_authors_do(tmp_path: Path) -> None:
    folder, differ, count = folder_of(tmp_path, CLIP_336), 0, 0
    for path in real_images():
        image = Image.open(path).convert("RGB")
        right = llava_1_5(image)
        assert np.allclose(pixels(folder, image, PAD), right, atol=1e-5), path
        differ += not np.allclose(pixels(folder, image, {}), right, atol=1e-5)
        count += 1
    assert count >= 16 and differ > count // 2  # without the settings the model saw other pixels


GRID = [[336, 672], [672, 336], [672, 672], [1008, 336], [336, 1008]]


def llava_1_6(image: Image.Image) -> Values:
    """llava/mm_utils.py: the whole image squeezed into a square; then tiles of the canvas, width first in GRID,
    that shows most of it and wastes least, black where the image ends."""

    def fit(canvas: list[int]) -> tuple[int, int]:
        scale = min(canvas[0] / image.width, canvas[1] / image.height)
        shown = int(image.width * scale) * int(image.height * scale)
        shown = min(shown, image.width * image.height)
        return shown, shown - canvas[0] * canvas[1]

    width, height = max(GRID, key=fit)
    if width / image.width < height / image.height:
        size = (width, min(math.ceil(image.height * (width / image.width)), height))
    else:
        size = (min(math.ceil(image.width * (height / image.height)), width), height)
    canvas = Image.new("RGB", (width, height))
    canvas.paste(image.resize(size), ((width - size[0]) // 2, (height - size[1]) // 2))
    boxes = [(x, y, x + 336, y + 336) for y in range(0, height, 336) for x in range(0, width, 336)]
    tiles = [image.resize((336, 336)), *(canvas.crop(box) for box in boxes)]
    return np.stack([((np.asarray(tile) / 255 - MEAN) / STD).transpose(2, 0, 1) for tile in tiles])


@pytest.mark.parametrize(("size", "same"), [((1280, 480), True), ((375, 500), True), ((300, 90), False)])
def test_llava_1_6_cuts_the_tiles_of_its_authors(tmp_path: Path, size: tuple[int, int], same: bool) -> None:
    """But for images of at most 336 pixels: of two canvases that show all, each takes its own first one."""
    folder = folder_of(
        tmp_path,
        {**CLIP_336, "image_processor_type": "LlavaNextImageProcessor", "image_grid_pinpoints": GRID},
    )
    image, right = ramp(*size), llava_1_6(ramp(*size))
    found = pixels(folder, image, ENTRIES["llava_v1_6_34b"].processor)
    assert found.shape == right.shape and np.allclose(found[0], right[0], atol=1e-5)
    assert np.allclose(found, right, atol=1e-5) is same


def bilinear(image: Image.Image, side: int) -> Values:
    """tf.image.resize(..., "bilinear", antialias=True) of big_vision, then value_range(-1, 1)."""

    def weights(size: int) -> Values:
        scale = size / side
        centres = (np.arange(side) + 0.5) * scale
        distance = np.abs(np.arange(size)[None] + 0.5 - centres[:, None])
        found = np.maximum(0, 1 - distance / max(scale, 1))
        return np.asarray(found / found.sum(axis=1, keepdims=True))

    values = np.asarray(image, dtype=np.float64).transpose(2, 0, 1)
    return np.asarray(weights(image.height) @ values @ weights(image.width).T / 127.5 - 1)


@pytest.mark.skipif(not REAL.is_dir(), reason="needs the real images in ../shared")
def test_paligemma_resizes_real_images_as_its_authors_do(tmp_path: Path) -> None:
    """Pillow rounds on the way, so a value may be a level of 255 off; bicubic is off by 17 to 44."""
    config = {"image_processor_type": "SiglipImageProcessor", "size": {"height": 224, "width": 224}}
    folder, level, worst = folder_of(tmp_path, {**config, "resample": 3}), 1 / 127.5, 0.0
    for path in real_images():
        image = Image.open(path).convert("RGB")
        right = bilinear(image, 224)
        found = pixels(folder, image, ENTRIES["paligemma_3b_mix_224"].processor)
        assert np.abs(found - right).max() < 2 * level, path
        worst = max(worst, float(np.abs(pixels(folder, image, {}) - right).max()))
    assert worst > 20 * level


def test_a_processor_without_its_sizes_gets_those_of_the_model(tiny: Path, tmp_path: Path) -> None:
    """As Mantis' class saves it: the tokens of an image are counted all the same."""
    folder = Path(shutil.copytree(tiny, tmp_path / "copy"))
    file = folder / "processor_config.json"
    kept = json.loads(file.read_text("utf-8"))
    assert kept.pop("patch_size") and kept.pop("num_additional_image_tokens")
    del kept["vision_feature_select_strategy"]
    file.write_text(json.dumps(kept), "utf-8")
    white = Image.new("RGB", (32, 32), "white")
    rows = [
        load_model(one, "float32", None, CONFIG).processor(text="<image>", images=[white])["input_ids"]
        for one in (tiny, folder)
    ]
    assert rows[0] == rows[1]


@pytest.mark.parametrize("name", ["llava_v1_5_7b", "llava_v1_5_13b"])
def test_the_lock_pads(name: str) -> None:
    assert ENTRIES[name].processor == {"image_processor_type": "LlavaImageProcessor", "do_pad": True}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"do_padd": True}, "CLIPImageProcessorPil has no setting do_padd; did you mean do_pad[?] valid: "),
        ({**PAD, "crops": 2}, "LlavaImageProcessorPil has no setting crops; "),
        ({"image_processor_type": "LavaImageProcessor"}, "did you mean LlavaImageProcessor[?] valid: "),
        ({**PAD, "do_pad": "always"}, "do_pad.*bool"),
        ({"image_processor_type": 3}, "no image_processor_type 3 for Pillow"),
    ],
)
def test_unknown_settings(tiny: Path, settings: dict[str, Any], message: str) -> None:
    with refused(f"^models.lock: processor: .*{message}"):
        load_model(tiny, "float32", None, CONFIG, settings)


def test_settings_come_before_defaults_of_the_processor(tiny: Path) -> None:
    """transformers lets some processors overrule their image processor: InternVL's always cuts tiles."""
    from transformers import LlavaProcessor

    white = Image.new("RGB", (32, 32), "white")
    for settings, brightest in (({}, 2.15), ({"do_normalize": False}, 1.0)):
        processor = LlavaProcessor.from_pretrained(tiny)
        processor.images_kwargs = {"do_normalize": True}
        asked = with_settings(processor, tiny, settings)(text="<image>", images=[white], return_tensors="np")
        assert float(asked["pixel_values"].max()) == pytest.approx(brightest, abs=0.01)
