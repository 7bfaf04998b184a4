"""Pictures to learn and to be examined from, as tensors."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from PIL import Image, ImageEnhance
from torch import Tensor

from stages.scenes.scene import COLOURS, GRID, SHAPES, Scene, render

_MOST_DEGREES = 10.0
_BRIGHTNESS = (0.5, 1.3)


@dataclass(frozen=True)
class Pictures:
    """N scenes; pixels [N, 3, 64, 64] as bytes; cells [N, 16, 2].

    cells: 1-based shape and colour of each cell, row by row from the top; 0 where it is empty.
    """

    scenes: tuple[Scene, ...]
    pixels: Tensor
    cells: Tensor

    @classmethod
    def of(cls, scenes: Sequence[Scene], wear: random.Random | None = None) -> Self:
        """The pictures of these scenes; with a generator, some of them tilted, darker or lighter.

        Without such pictures a model takes a dimmed one for another world.
        """
        images = [render(scene) if wear is None else _worn(wear, scene) for scene in scenes]
        pixels = torch.from_numpy(np.stack([np.asarray(image) for image in images]))
        cells = torch.stack([_cells(scene) for scene in scenes])
        return cls(tuple(scenes), pixels.permute(0, 3, 1, 2).contiguous(), cells)

    def inputs(self, chosen: Sequence[int]) -> Tensor:
        """[len(chosen), 3, 64, 64] float32 from -1 to 1, as the model's processor makes them."""
        return (self.pixels[list(chosen)].float() / 255 - 0.5) / 0.5


def _worn(rng: random.Random, scene: Scene) -> Image.Image:
    image = render(scene)
    if rng.random() < 0.5:
        angle = rng.uniform(-_MOST_DEGREES, _MOST_DEGREES)
        image = image.rotate(angle, resample=Image.Resampling.BILINEAR, fillcolor=scene.background)
    if rng.random() < 0.5:
        image = ImageEnhance.Brightness(image).enhance(rng.uniform(*_BRIGHTNESS))
    return image


def _cells(scene: Scene) -> Tensor:
    cells = torch.zeros(GRID * GRID, 2, dtype=torch.long)
    for thing in scene.things:
        names = (SHAPES.index(thing.shape) + 1, tuple(COLOURS).index(thing.colour) + 1)
        cells[GRID * thing.row + thing.column] = torch.tensor(names)
    return cells
