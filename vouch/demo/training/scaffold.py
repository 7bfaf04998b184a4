"""Losses that help a demo model to see, used in training only: nothing of them is in the saved model.

On the answer's loss alone models of this size stay near chance for as long as they are trained here:
a letter says nothing about a picture until the model has found, all at once, what to look for, where
it is, and which option names it. Each loss here gives one of these steps a gradient of its own.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from vouch.demo.scenes.pairs import SIDES
from vouch.demo.scenes.questions import CORNERS, corner
from vouch.demo.scenes.scene import COLOURS, GRID, HALF, SHAPES
from vouch.demo.training.batches import IGNORED
from vouch.demo.training.vocabulary import NOTHING

_SHARPNESS = 8.0


class OptionHead(nn.Module):
    """Tells from the last token of an option whether the option is right."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, 1)

    def loss(self, hidden: Tensor, options: Tensor) -> Tensor:
        """Binary cross entropy. hidden [B, T, width]; options [B, T] as in Batch."""
        chosen = options != IGNORED
        if not chosen.any():
            return hidden.new_zeros(())
        return F.binary_cross_entropy_with_logits(
            self.linear(hidden[chosen]).squeeze(-1), options[chosen].to(hidden.dtype)
        )


def content_loss(norm: nn.Module, head: nn.Module, hidden: Tensor, contents: Tensor) -> Tensor:
    """Deep supervision: one layer before the last, the answer's place must already name its content.

    hidden [B, T, width] goes through the model's own last norm and output layer; contents [B, T].
    """
    chosen = contents != IGNORED
    return F.cross_entropy(head(norm(hidden[chosen])), contents[chosen])


class WordAlignment:
    """Pulls each projected patch towards the embeddings of the words for what its cell shows.

    The words are a shape, a colour (or for both that nothing is there), the quarter of the picture
    and the side, which tells the two pictures of a pair apart.
    """

    def __init__(self, tokenizer: object) -> None:
        word = tokenizer.convert_tokens_to_ids  # type: ignore[attr-defined]
        self._shapes = torch.tensor(word([NOTHING, *SHAPES]))
        self._colours = torch.tensor(word([NOTHING, *COLOURS]))
        self._corners, self._sides = torch.tensor(word(list(CORNERS))), torch.tensor(word(list(SIDES)))
        cells = [(column, row) for row in range(GRID) for column in range(GRID)]
        self._quarter = torch.tensor([CORNERS.index(corner(*cell)) for cell in cells])
        self._side = torch.tensor([int(column >= HALF) for column, _ in cells])

    def loss(self, patches: Tensor, embeddings: Tensor, cells: Tensor) -> Tensor:
        """patches [B, 16, width]; embeddings [vocabulary, width]; cells [B, 16, 2] as in Pictures."""

        def towards(words: Tensor, targets: Tensor) -> Tensor:
            scores = _SHARPNESS * patches @ embeddings[words].T
            return F.cross_entropy(scores.flatten(0, 1), targets.flatten())

        shape = towards(self._shapes, cells[..., 0])
        colour = towards(self._colours, cells[..., 1])
        quarter = towards(self._corners, self._quarter.expand(len(patches), -1))
        side = towards(self._sides, self._side.expand(len(patches), -1))
        return shape + colour + 0.5 * (quarter + side)
