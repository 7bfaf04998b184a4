"""Speed of rendering pictures: `python -m benchmarks.rendering` from the root.

Blurred, lit, compressed and rotated ones, from the bytes of a JPEG to pixels, against the same calls of
Pillow. Processor time, because neighbours on a shared machine count less in it.
"""

import io
import statistics
import time
from collections.abc import Callable

import numpy as np
from PIL import Image, ImageFilter, ImageOps

from benchmarks._figure import figure
from vouch.images.opening import render
from vouch.images.operations import BLUR, LIGHT, QUALITY, SIDE
from vouch.tables.asked import FORMATS

SIZE, PICTURES, ROUNDS = (640, 480), 24, 5
STEPS = ["", "blur", "brighten", "jpeg", "rotate"]


def alone(data: bytes, operation: str, severity: int) -> Image.Image:
    """What Pillow does for one picture, and nothing else."""
    with Image.open(io.BytesIO(data), formats=FORMATS) as file:
        file.load()
        image = ImageOps.exif_transpose(file)
    if operation == "blur":
        sigma = BLUR[severity - 1] * min(image.size) / SIDE
        return image.filter(ImageFilter.GaussianBlur(sigma))
    if operation == "brighten":
        more = round(255 * LIGHT[severity - 1])
        return image.point([min(255, value + more) for value in range(256)] * 3)
    if operation == "jpeg":
        packed = io.BytesIO()
        image.save(packed, "JPEG", quality=QUALITY[severity - 1], subsampling="4:2:0")
        with Image.open(packed) as opened:
            return opened.convert("RGB")
    return image.transpose(Image.Transpose.ROTATE_270) if operation == "rotate" else image


def main() -> None:
    """Prints the figure; fails where both sides come to other pixels."""
    drawn = np.random.default_rng(0)
    images: dict[str, bytes] = {}
    for number in range(PICTURES):
        coarse = drawn.integers(0, 256, (12, 16, 3), dtype=np.uint8)
        file = io.BytesIO()
        Image.fromarray(coarse).resize(SIZE, Image.Resampling.BICUBIC).save(file, "JPEG", quality=95)
        images[str(number)] = file.getvalue()
    asked = [
        (name, operation, 1 + index % 5 if operation not in ("", "rotate") else 0)
        for index, name in enumerate(images)
        for operation in STEPS
    ]
    recipes = [
        {
            "images": [name],
            "steps": [{"operation": operation, "severity": severity, "revision": 1}] if operation else [],
        }
        for name, operation, severity in asked
    ]
    for recipe, (name, operation, severity) in zip(recipes, asked, strict=True):
        assert render(recipe, images.__getitem__) == alone(images[name], operation, severity)
    pairs = []
    for _ in range(ROUNDS):
        theirs = _seconds(lambda: [alone(images[name], what, how) for name, what, how in asked])
        pairs.append((_seconds(lambda: [render(one, images.__getitem__) for one in recipes]), theirs))
    mine, other = (len(asked) / statistics.median(pair[side] for pair in pairs) for side in (0, 1))
    ratio = statistics.median(there / here for here, there in pairs)
    figure("rendered_pictures", mine, "pictures/s of one core", "the calls of Pillow alone", other, ratio)


def _seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


if __name__ == "__main__":
    main()
