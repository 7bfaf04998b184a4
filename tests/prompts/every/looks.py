"""What a picture must look like, computed by Pillow and numpy alone and by other ways than the stages take."""

import io
from collections.abc import Callable, Sequence

import numpy as np
from PIL import Image, ImageChops, ImageFilter

from vouch.images import operations

Look = Callable[[Sequence[Image.Image]], list[Image.Image]]

# By level, 1 to 5; docs/variations.md has the table.
SIGMA = (1, 2, 3, 4, 6)  # pixels where the shorter side has 224
LIGHT = (26, 51, 76, 102, 128)  # of 255
QUALITY = (25, 18, 15, 10, 7)


def same(images: Sequence[Image.Image]) -> list[Image.Image]:
    return list(images)


def nothing(images: Sequence[Image.Image]) -> list[Image.Image]:
    return []


def each(change: Callable[[Image.Image], Image.Image]) -> Look:
    return lambda images: [change(image) for image in images]


def blurred(level: int) -> Look:
    return each(
        lambda image: image.filter(ImageFilter.GaussianBlur(min(image.size) * SIGMA[level - 1] / 224))
    )


def lighter(level: int) -> Look:
    return each(lambda image: ImageChops.add(image, Image.new("RGB", image.size, (LIGHT[level - 1],) * 3)))


def compressed(level: int) -> Look:
    def change(image: Image.Image) -> Image.Image:
        file = io.BytesIO()
        image.save(file, "JPEG", quality=QUALITY[level - 1], subsampling=2)
        return Image.open(file).convert("RGB")

    return each(change)


def disturbed(kind: str, level: int) -> Look:
    """What is drawn is checked in tests/images/test_corruptions.py; here, which it is, and its level."""
    return each(lambda image: getattr(operations, kind)(image, level - 1))


turned = each(lambda image: Image.fromarray(np.rot90(np.asarray(image), -1)))
grey = each(lambda image: Image.fromarray(np.full_like(np.asarray(image), 128)))


def joined(look: Look = same) -> Look:
    """Two pictures side by side, after what is done to each."""
    return lambda images: [Image.fromarray(np.hstack([np.asarray(image) for image in look(images)]))]
