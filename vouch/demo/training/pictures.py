"""Pictures to learn and to be examined from, as tensors."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from PIL import Image, ImageEnhance
from torch import Tensor

from vouch.demo.scenes.pairs import Pair, render_pair
from vouch.demo.scenes.scene import COLOURS, GRID, HALF, SHAPES, render
from vouch.demo.training.lessons import Sight

_MOST_DEGREES = 10.0
_BRIGHTNESS = (0.5, 1.3)


@dataclass(frozen=True)
class Pictures:
    """N scenes or pairs; pixels [N, 3, 64, 64] as bytes; cells [N, 16, 2].

    cells: 1-based shape and colour of each cell, row by row from the top; 0 where it is empty.
    """

    sights: tuple[Sight, ...]
    pixels: Tensor
    cells: Tensor

    @classmethod
    def of(cls, sights: Sequence[Sight], wear: random.Random | None = None) -> Self:
        """The pictures of these sights; with a generator, some of them tilted, darker or lighter.

        Without such pictures a model takes a dimmed one for another world.
        """
        images = [_shown(sight) if wear is None else _worn(wear, sight) for sight in sights]
        pixels = torch.from_numpy(np.stack([np.asarray(image) for image in images]))
        cells = torch.stack([_cells(sight) for sight in sights])
        return cls(tuple(sights), pixels.permute(0, 3, 1, 2).contiguous(), cells)

    def inputs(self, chosen: Sequence[int]) -> Tensor:
        """[len(chosen), 3, 64, 64] float32 from -1 to 1, as the model's processor makes them."""
        return (self.pixels[list(chosen)].float() / 255 - 0.5) / 0.5


def _shown(sight: Sight) -> Image.Image:
    return render_pair(sight) if isinstance(sight, Pair) else render(sight)


def _worn(rng: random.Random, sight: Sight) -> Image.Image:
    image = _shown(sight)
    if rng.random() < 0.5:
        angle = rng.uniform(-_MOST_DEGREES, _MOST_DEGREES)
        behind = sight.left.background if isinstance(sight, Pair) else sight.background
        image = image.rotate(angle, resample=Image.Resampling.BILINEAR, fillcolor=behind)
    if rng.random() < 0.5:
        image = ImageEnhance.Brightness(image).enhance(rng.uniform(*_BRIGHTNESS))
    return image


def _cells(sight: Sight) -> Tensor:
    if isinstance(sight, Pair):
        halves = [_cells(half).view(GRID, GRID, 2)[:, :HALF] for half in (sight.left, sight.right)]
        return torch.cat(halves, dim=1).reshape(GRID * GRID, 2)
    cells = torch.zeros(GRID * GRID, 2, dtype=torch.long)
    for thing in sight.things:
        names = (SHAPES.index(thing.shape) + 1, tuple(COLOURS).index(thing.colour) + 1)
        cells[GRID * thing.row + thing.column] = torch.tensor(names)
    return cells
