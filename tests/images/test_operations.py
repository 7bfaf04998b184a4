"""Operations on images and the recipes that name them: each against its formula, computed in another way."""

import hashlib
import io
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageChops, ImageFilter

from tests.images.test_opening import encoded, recipe
from tests.refusals import refused
from vouch.images import operations
from vouch.images.opening import pixel_digest, render
from vouch.images.operations import JOINING, LEVELLED, PLAIN, WITH_ARGUMENT, apply
from vouch.tables.asked import IMAGE_REVISIONS

LEVELS = range(5)


def drawn(width: int = 64, height: int = 48) -> Image.Image:
    """Bars in red, a slope down in green and one across in blue."""
    down, across = np.mgrid[:height, :width]
    values = np.stack([across // 8 % 2 * 200, down * 255 // height, across * 255 // width], axis=2)
    return Image.fromarray(values.astype(np.uint8))


def values(image: Image.Image) -> np.ndarray:
    return np.asarray(image, dtype=float)


def changed(operation: str, level: int, image: Image.Image) -> Image.Image:
    """level: from 0."""
    (after,) = apply([image], operation, level + 1)
    return after


# Beginnings of the digests: of levels 1, 3 and 5, or of what has none
DIGESTS = {
    "blur": ("add8413f1906bd91", "444c478e40b64dd1", "410838484a803358"),
    "brighten": ("a3940b4868a3b53d", "2066f3f9444c9d83", "4b049c161d1ac89f"),
    "contrast": ("11b2278da1103a5d", "2cfa173019489bf4", "96b9fa3033d45639"),
    "fog": ("a62744ebffff9db9", "ac3f99a0b895eb97", "b7af1738c11ada01"),
    "jpeg": ("382983a89ee5da20", "9e067cf75fe70eec", "e64dd0e0aa94c3eb"),
    "motion": ("187ef3ca8f5580e6", "49e3ac36d446628b", "5282d2af32a2e19a"),
    "noise": ("9df104aa7d100c31", "c9ce0ea3e6f74460", "b6f381ad3a32f105"),
    "pixelate": ("32dbb7ca8ce61438", "68153545bf07edb6", "c43a569e6e11362c"),
    "blank": ("36244d94c8ea626d",),
    "rotate": ("ca8eae8e7ec7fab5",),
    "write:7:red star": ("28e2fe191d0d4f5f",),
    "write:100:A longer text than one line": ("3afb223d98dc9567",),
    "merged": ("d716c62019645428",),
    "side_by_side": ("ccf20ea269f5cec9",),
}


@pytest.mark.parametrize("operation", DIGESTS)
def test_operations_keep_their_bytes_at_their_revision(operation: str) -> None:
    images = {"merged": [drawn(), drawn(30, 31)], "side_by_side": [drawn(), drawn(30, 48)]}
    severities = (1, 3, 5) if operation in LEVELLED else (0,)
    made = [apply(images.get(operation, [drawn()]), operation, severity) for severity in severities]
    drawn_now = tuple(pixel_digest(one)[:16] for one in made)
    assert drawn_now == DIGESTS[operation], (
        f'"{operation}": {drawn_now}, if the operation is new or was raised'
    )


def test_every_operation_has_digests() -> None:
    tested = {name.partition(":")[0] for name in DIGESTS}
    missing = {*LEVELLED, *PLAIN, *WITH_ARGUMENT, *JOINING} - tested
    assert not missing, f"add to DIGESTS above what {missing} draw"


@pytest.mark.parametrize("operation", LEVELLED)
def test_more_is_lost_with_every_level(operation: str) -> None:
    made = [changed(operation, level, drawn()) for level in LEVELS]
    lost = [np.abs(values(image) - values(drawn())).mean() for image in made]
    if operation not in ("fog", "pixelate"):  # the last levels of fog are rougher, and bars alias with pixels
        assert lost == sorted(set(lost))
    assert min(lost) > 0.25 and all(image.size == (64, 48) for image in made)
    assert changed(operation, 3, drawn()).tobytes() == made[3].tobytes()
    for severity in (0, 6):
        with refused(f"image severity {severity} is not from 1 to 5"):
            apply([drawn()], operation, severity)


def compressed(level: int) -> Image.Image:
    file = io.BytesIO()
    drawn().save(file, "JPEG", quality=(25, 18, 15, 10, 7)[level], subsampling=2)
    return Image.open(file).convert("RGB")


def faded(level: int) -> np.ndarray:
    mean = values(drawn()).mean(axis=(0, 1))
    return np.asarray((values(drawn()) - mean) * (0.4, 0.3, 0.2, 0.1, 0.05)[level] + mean)


def lighter(level: int) -> Image.Image:
    return ImageChops.add(drawn(), Image.new("RGB", (64, 48), ((26, 51, 76, 102, 128)[level],) * 3))


def blurred(level: int) -> Image.Image:
    return drawn().filter(ImageFilter.GaussianBlur(48 * (1, 2, 3, 4, 6)[level] / 224))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("operation", "formula", "error"),
    [("blur", blurred, 0), ("brighten", lighter, 0), ("jpeg", compressed, 0), ("contrast", faded, 1.5)],
)
def test_levels_are_those_of_the_formula(
    operation: str, formula: Callable[[int], Any], error: float, level: int
) -> None:
    assert np.abs(values(changed(operation, level, drawn())) - np.asarray(formula(level))).max() <= error


def test_a_blur_hurts_small_and_large_images_alike() -> None:
    def lost(side: int) -> float:
        half = Image.new("RGB", (side, side), "black")
        half.paste("white", (0, 0, side // 2, side))
        row = values(changed("blur", 4, half))[side // 2, :, 0]
        return float(((row > 10) & (row < 245)).mean())

    assert [lost(side) for side in (128, 256, 512)] == pytest.approx([lost(1024)] * 3, abs=0.02)


def test_an_image_is_turned_clockwise_and_a_blank_one_is_grey() -> None:
    (turned,), (blank,) = apply([drawn()], "rotate", 0), apply([drawn()], "blank", 0)
    assert np.array_equal(values(turned), np.rot90(values(drawn()), -1))
    assert blank.size == (64, 48) and blank.getcolors() == [(64 * 48, (128, 128, 128))]


@pytest.mark.parametrize("level", LEVELS)
def test_noise_has_the_moments_of_a_normal_one(level: int) -> None:
    noise = values(changed("noise", level, Image.new("RGB", (300, 200), (128, 128, 128)))) - 128
    spread = 255 * operations.NOISE[level]
    inside = math.erf(127 / spread / math.sqrt(2))
    assert abs(noise.mean()) < 4 * spread / math.sqrt(noise.size) + 0.5
    if inside > 0.999:  # nothing is cut off at black and white
        assert noise.std() == pytest.approx(spread, rel=0.01)
        assert (np.abs(noise) < spread).mean() == pytest.approx(math.erf(1 / math.sqrt(2)), abs=0.01)
    assert np.abs(np.corrcoef(noise.reshape(-1, 3).T) - np.eye(3)).max() < 0.02


def random_bits(image: Image.Image) -> np.random.SFC64:
    digest = hashlib.sha256(f"{image.size}".encode() + image.tobytes()).digest()
    return np.random.SFC64(int.from_bytes(digest[:16], "little"))


@pytest.mark.parametrize("level", LEVELS)
def test_motion_is_a_weighted_mean_along_a_line(level: int) -> None:
    image = drawn(60, 48)
    slope = int(random_bits(image).random_raw() % 17) - 8
    radius, sigma = operations.MOTION[level]
    before, total, weights = values(image), np.zeros((48, 60, 3)), 0.0
    for step in range(2 * radius + 1):
        shift, weight = step * 48 // 224, math.exp(-(step**2) / (2 * sigma**2))
        for row, column in np.ndindex(48, 60):
            source = before[min(max(row - shift * slope // 8, 0), 47), max(column - shift, 0)]
            total[row, column] += weight * source
        weights += weight
    assert np.abs(values(changed("motion", level, image)) - total / weights).max() <= 0.51


@pytest.mark.parametrize("level", LEVELS)
def test_fewer_pixels_are_means_of_blocks(level: int) -> None:
    share = operations.PIXELS[level]
    plain = values(changed("pixelate", level, Image.new("RGB", (50, 40), (9, 200, 30))))
    assert (plain == (9, 200, 30)).all() and plain.shape == (40, 50, 3)
    few = changed("pixelate", level, drawn()).getcolors(64 * 48)
    assert few and len(few) <= int(64 * share) * int(48 * share)
    large = changed("pixelate", level, drawn(896, 672)).getcolors(896 * 672)
    assert large and len(large) <= 300 * share * 225, "as many as an image of 224 pixels would keep"


def plasma(bits: np.random.SFC64, decay: float) -> np.ndarray:
    """Point by point, in the order in which the module draws."""
    heights, step, wibble = np.zeros((256, 256)), 256, 100.0
    while step >= 2:
        half = step // 2
        cells = [(y, x) for y in range(0, 256, step) for x in range(0, 256, step)]
        for dy, dx, around in (
            (half, half, [(-half, -half), (half, -half), (-half, half), (half, half)]),
            (0, half, [(half, 0), (-half, 0), (0, -half), (0, half)]),
            (half, 0, [(0, half), (0, -half), (-half, 0), (half, 0)]),
        ):
            middles = {}
            for y, x in ((y + dy, x + dx) for y, x in cells):
                near = [heights[(y + b) % 256, (x + a) % 256] for b, a in around]
                uniform = int(bits.random_raw() >> 32) / 2**31 - 1
                middles[y, x] = sum(near) / 4 + wibble**2 * uniform
            for point, height in middles.items():
                heights[point] = height
        step, wibble = half, wibble / decay
    return (heights - heights.min()) / (heights.max() - heights.min())


def test_fog_is_a_plasma_fractal_over_a_darkened_image() -> None:
    thickness, decay = operations.FOG[2]
    image = drawn(256, 256)
    cloud = plasma(random_bits(image), decay)
    np.testing.assert_allclose(operations.plasma(random_bits(image), decay), cloud)
    before = values(image) / 255
    most = before.max()
    expected = 255 * (before + thickness * cloud[..., None]) * most / (most + thickness)
    assert np.abs(values(changed("fog", 2, image)) - expected).max() < 1.5


def test_words_are_painted_on_the_same_sheet_whatever_they_say() -> None:
    looks = set()
    for look in range(operations.LOOKS):
        painted = [operations.paint_words(drawn(), text, look) for text in ("red triangle", "two")]
        masks = [(values(image) != values(drawn())).any(axis=2) for image in painted]
        corners = [np.argwhere(mask) for mask in masks]
        assert len({(*at.min(axis=0), *at.max(axis=0)) for at in corners}) == 1
        assert painted[0].tobytes() != painted[1].tobytes() and 0.1 < masks[0].mean() < 0.45
        looks.add(pixel_digest(painted[:1]))
        again = operations.paint_words(drawn(), "two", look + operations.LOOKS)
        assert again.tobytes() == painted[1].tobytes()
    assert len(looks) == operations.LOOKS == 108


def test_what_cannot_be_painted_is_refused() -> None:
    assert not any(map(operations.paintable, ("", " ", "größer", "红色", "a\nb")))
    for operation in ("write", "write:x:two", "write:3:", "write:3:红"):
        with refused("names no look and text"):
            apply([drawn()], operation, 0)
    assert apply([drawn()], "write:3:a:b", 0)[0].size == (64, 48)


# Recipes

RED = Image.new("RGB", (64, 48), "red")
SOURCES = {"l": encoded(drawn()), "r": encoded(RED), "low": encoded(Image.new("RGB", (30, 31), "blue"))}


def step(operation: str, severity: int = 0, revision: int = 1) -> dict[str, Any]:
    return {"operation": operation, "severity": severity, "revision": revision}


def rendered(images: str, *steps: dict[str, Any]) -> np.ndarray:
    return np.asarray(render(recipe(images=images.split(), steps=steps), SOURCES.__getitem__))


def test_merged_images_have_their_average_height_and_a_line_between_them() -> None:
    whole = rendered("r low", step("merged"))
    assert whole.shape == (39, 52 + 10 + 37, 3), "64 x 39/48 and 30 x 39/31, and the line"
    black, white = [(0, 0, 0)], [(255, 255, 255)]
    line = [*black, *white * 8, *black]
    assert [tuple(pixel) for pixel in whole[7]] == [(255, 0, 0)] * 52 + line + [(0, 0, 255)] * 37
    with refused("joins images of one height, these have 48 and 31 pixels"):
        rendered("l low", step("side_by_side"))


@pytest.mark.parametrize(("join", "gap"), [("side_by_side", 0), ("merged", 10)])
@pytest.mark.parametrize("before", [("rotate", 0), ("blur", 5), ("brighten", 2), ("blank", 0)])
def test_steps_before_a_joining_one_work_on_each_image(join: str, gap: int, before: tuple[str, int]) -> None:
    """What is done before joining leaves left and right where they are and does not reach across."""
    left, right = (rendered(name, step(*before)) for name in "lr")
    whole = rendered("l r", step(*before), step(join))
    width = left.shape[1]
    assert np.array_equal(whole[:, :width], left) and np.array_equal(whole[:, -width:], right)
    assert whole.shape[1] == 2 * width + gap
    assert np.array_equal(rendered("r l", step(*before), step(join))[:, :width], right)


def test_steps_are_done_in_their_order() -> None:
    assert rendered("l r", step("rotate"), step("side_by_side")).shape == (64, 96, 3)
    assert rendered("l r", step("side_by_side"), step("rotate")).shape == (128, 48, 3)
    assert np.array_equal(rendered("l", step("rotate"), step("rotate")), np.asarray(drawn())[::-1, ::-1])


@pytest.mark.parametrize(
    ("images", "steps", "message"),
    [
        ("l", [step("blurr")], "image operation blurr is unknown; did you mean blur"),
        ("l", [step("rotate", 0, 2)], "rotate is at revision 1, the prompts were made for 2"),
        ("l", [step("merged")], "merged joins two images, the recipe has 1; run"),
        ("l r", [], "recipe of 2 images gives 2 images instead of one; run"),
        ("", [], "recipe of 0 images gives 0 images"),
    ],
)
def test_recipes_that_cannot_be_rendered(images: str, steps: list[dict[str, Any]], message: str) -> None:
    with refused(message):
        rendered(images, *steps)


def test_recipes_of_an_earlier_revision_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(IMAGE_REVISIONS, "write", 2)
    with refused("write:3:two is at revision 2, the prompts were made for 1"):
        rendered("l", step("write:3:two"))
    assert rendered("l", step("write:3:two", revision=2)).shape == (48, 64, 3)
