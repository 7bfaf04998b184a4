"""Corruptions of ImageNet-C and painted words: each against its formula, computed in another way."""

import hashlib
import math

import numpy as np
import pytest
from PIL import Image

from tests.images.test_images import drawn
from vouch.images import operations
from vouch.images.opening import pixel_digest
from vouch.images.operations import apply
from vouch.pipeline.errors import UserError

LEVELS = range(5)


def values(image: Image.Image) -> np.ndarray:
    return np.asarray(image, dtype=float)


@pytest.mark.parametrize(
    ("operation", "severity", "digest"),
    [
        ("blank", 0, "36244d94c8ea626d"),
        ("blur", 1, "add8413f1906bd91"),
        ("blur", 3, "444c478e40b64dd1"),
        ("blur", 5, "410838484a803358"),
        ("brighten", 1, "a3940b4868a3b53d"),
        ("brighten", 3, "2066f3f9444c9d83"),
        ("brighten", 5, "4b049c161d1ac89f"),
        ("contrast", 1, "11b2278da1103a5d"),
        ("contrast", 3, "2cfa173019489bf4"),
        ("contrast", 5, "96b9fa3033d45639"),
        ("fog", 1, "a62744ebffff9db9"),
        ("fog", 3, "ac3f99a0b895eb97"),
        ("fog", 5, "b7af1738c11ada01"),
        ("jpeg", 1, "382983a89ee5da20"),
        ("jpeg", 3, "9e067cf75fe70eec"),
        ("jpeg", 5, "e64dd0e0aa94c3eb"),
        ("motion", 1, "187ef3ca8f5580e6"),
        ("motion", 3, "49e3ac36d446628b"),
        ("motion", 5, "5282d2af32a2e19a"),
        ("noise", 1, "9df104aa7d100c31"),
        ("noise", 3, "c9ce0ea3e6f74460"),
        ("noise", 5, "b6f381ad3a32f105"),
        ("pixelate", 1, "32dbb7ca8ce61438"),
        ("pixelate", 3, "68153545bf07edb6"),
        ("pixelate", 5, "c43a569e6e11362c"),
        ("rotate", 0, "ca8eae8e7ec7fab5"),
        ("write:7:red star", 0, "28e2fe191d0d4f5f"),
        ("write:100:A longer text than one line", 0, "3afb223d98dc9567"),
    ],
)
def test_operations_keep_their_bytes_at_their_revision(operation: str, severity: int, digest: str) -> None:
    assert pixel_digest(apply([drawn()], operation, severity, 1))[:16] == digest


@pytest.mark.parametrize("level", LEVELS)
def test_noise_has_the_moments_of_a_normal_one(level: int) -> None:
    grey = Image.new("RGB", (300, 200), (128, 128, 128))
    found = values(operations.noise(grey, level)) - 128
    spread = 255 * operations.NOISE[level]
    inside = math.erf(127 / spread / math.sqrt(2))
    assert abs(found.mean()) < 4 * spread / math.sqrt(found.size) + 0.5
    if inside > 0.999:  # nothing is cut off at black and white
        assert found.std() == pytest.approx(spread, rel=0.01)
        assert (np.abs(found) < spread).mean() == pytest.approx(math.erf(1 / math.sqrt(2)), abs=0.01)
    assert np.abs(np.corrcoef(found.reshape(-1, 3).T) - np.eye(3)).max() < 0.02


@pytest.mark.parametrize("level", LEVELS)
def test_contrast_is_that_of_the_formula(level: int) -> None:
    before = values(drawn())
    mean = before.mean(axis=(0, 1))
    expected = (before - mean) * operations.CONTRAST[level] + mean
    assert np.abs(values(operations.contrast(drawn(), level)) - expected).max() <= 1.5


@pytest.mark.parametrize("level", LEVELS)
def test_motion_is_a_weighted_mean_along_a_line(level: int) -> None:
    image = drawn(96, 80)
    digest = hashlib.sha256(f"{image.size}".encode() + image.tobytes()).digest()
    slope = int(np.random.SFC64(int.from_bytes(digest[:16], "little")).random_raw() % 17) - 8
    radius, sigma = operations.MOTION[level]
    before, total, weights = values(image), np.zeros((80, 96, 3)), 0.0
    for step in range(2 * radius + 1):
        shift, weight = step * 80 // 224, math.exp(-(step**2) / (2 * sigma**2))
        for row in range(80):
            for column in range(96):
                source = before[min(max(row - shift * slope // 8, 0), 79), max(column - shift, 0)]
                total[row, column] += weight * source
        weights += weight
    assert np.abs(values(operations.motion(image, level)) - total / weights).max() <= 0.51


@pytest.mark.parametrize("level", LEVELS)
def test_fewer_pixels_are_means_of_blocks(level: int) -> None:
    found = values(operations.pixelate(Image.new("RGB", (50, 40), (9, 200, 30)), level))
    assert (found == (9, 200, 30)).all() and found.shape == (40, 50, 3)
    half = operations.pixelate(drawn(), level)
    small = int(64 * operations.PIXELS[level]) * int(48 * operations.PIXELS[level])
    assert len(half.getcolors(64 * 48) or ()) <= small
    large = operations.pixelate(drawn(896, 672), level)  # as many pixels as an image of 224 would keep
    assert len(large.getcolors(896 * 672) or ()) <= (300 * operations.PIXELS[level]) * 225


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
            found = {}
            for y, x in cells:
                y, x = y + dy, x + dx
                near = [heights[(y + b) % 256, (x + a) % 256] for b, a in around]
                uniform = int(bits.random_raw() >> 32) / 2**31 - 1
                found[y, x] = sum(near) / 4 + wibble**2 * uniform
            for place, height in found.items():
                heights[place] = height
        step, wibble = half, wibble / decay
    return (heights - heights.min()) / (heights.max() - heights.min())


def test_fog_is_a_plasma_fractal_over_a_darkened_image() -> None:
    thickness, decay = operations.FOG[2]
    np.testing.assert_allclose(
        operations.plasma(np.random.SFC64(5), decay), plasma(np.random.SFC64(5), decay)
    )
    image = drawn(256, 256)
    digest = hashlib.sha256(f"{image.size}".encode() + image.tobytes()).digest()
    cloud = plasma(np.random.SFC64(int.from_bytes(digest[:16], "little")), decay)
    before = values(image) / 255
    most = before.max()
    expected = 255 * (before + thickness * cloud[..., None]) * most / (most + thickness)
    assert np.abs(values(operations.fog(image, 2)) - expected).max() < 1.5


@pytest.mark.parametrize("kind", ["contrast", "fog", "motion", "noise", "pixelate"])
def test_more_is_lost_with_every_level(kind: str) -> None:
    before = values(drawn())
    made = [apply([drawn()], kind, level, 1)[0] for level in range(1, 6)]
    lost = [np.abs(values(image) - before).mean() for image in made]
    if kind not in ("fog", "pixelate"):  # the last levels of fog are rougher, and bars alias with pixels
        assert lost == sorted(lost) and len(set(lost)) == 5
    assert min(lost) > 0.5 and all(image.size == (64, 48) for image in made)
    again = apply([drawn()], kind, 4, 1)[0]
    assert again.tobytes() == made[3].tobytes()
    for level in (0, 6):
        with pytest.raises(UserError, match=f"image severity {level} is not from 1 to 5"):
            apply([drawn()], kind, level, 1)


def test_words_are_painted_on_the_same_sheet_whatever_they_say() -> None:
    looks = {}
    for look in range(operations.LOOKS):
        one, other = (operations.paint_words(drawn(), text, look) for text in ("red triangle", "two"))
        before = values(drawn())
        changed = [(values(image) != before).any(axis=2) for image in (one, other)]
        box = [np.argwhere(mask) for mask in changed]
        assert (box[0].min(axis=0) == box[1].min(axis=0)).all() and (
            box[0].max(axis=0) == box[1].max(axis=0)
        ).all()
        assert one.tobytes() != other.tobytes() and 0.1 < changed[0].mean() < 0.45
        looks[look] = pixel_digest([one])
    assert len(set(looks.values())) == operations.LOOKS == 108
    assert (
        operations.paint_words(drawn(), "two", 3).tobytes()
        == operations.paint_words(drawn(), "two", 3 + 108).tobytes()
    )


def test_what_cannot_be_painted_is_refused() -> None:
    assert not any(map(operations.paintable, ("", " ", "größer", "红色", "a\nb")))
    for said in ("write", "write:x:two", "write:3:", "write:3:红"):
        with pytest.raises(UserError, match="names no look and text"):
            apply([drawn()], said, 0, 1)
    assert apply([drawn()], "write:3:a:b", 0, 1)[0].size == (64, 48)
