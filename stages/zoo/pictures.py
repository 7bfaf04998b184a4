"""Pictures to learn and to be examined from, as tensors."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from torch import Tensor

from stages.scenes.scene import COLOURS, GRID, SHAPES, Scene, render


@dataclass(frozen=True)
class Pictures:
    """N scenes; pixels [N, 3, 64, 64] as bytes; cells [N, 16, 2].

    cells: 1-based shape and colour of each cell, row by row from the top; 0 where it is empty.
    """

    scenes: tuple[Scene, ...]
    pixels: Tensor
    cells: Tensor

    @classmethod
    def of(cls, scenes: Sequence[Scene]) -> Self:
        """The pictures of these scenes."""
        pixels = np.stack([np.asarray(render(scene)) for scene in scenes])
        cells = torch.stack([_cells(scene) for scene in scenes])
        return cls(tuple(scenes), torch.from_numpy(pixels).permute(0, 3, 1, 2).contiguous(), cells)

    def inputs(self, chosen: list[int]) -> Tensor:
        """[len(chosen), 3, 64, 64] float32 from -1 to 1, as the model's processor makes them."""
        return (self.pixels[chosen].float() / 255 - 0.5) / 0.5


def _cells(scene: Scene) -> Tensor:
    cells = torch.zeros(GRID * GRID, 2, dtype=torch.long)
    for thing in scene.things:
        names = (SHAPES.index(thing.shape) + 1, tuple(COLOURS).index(thing.colour) + 1)
        cells[GRID * thing.row + thing.column] = torch.tensor(names)
    return cells
