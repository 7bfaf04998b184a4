"""How a demo model learns: auxiliary losses, and the optimizers that move its weights.

On the answer's loss alone, models of this size stay near chance for as long as they are trained here: a
letter is no help until the model has found, all at once, what to look for, where it is, and which option
names it. Each auxiliary loss gives one of these steps its own gradient; nothing of them is in the saved
model. Muon moves the matrices and AdamW everything else, under one learning rate.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from vouch.demo.lessons import IGNORED
from vouch.demo.scenes.questions import CORNERS, SIDES, corner
from vouch.demo.scenes.scene import COLOURS, GRID, HALF, SHAPES
from vouch.demo.writing import NOTHING

if TYPE_CHECKING:
    from transformers import PreTrainedModel


_SHARPNESS = 8.0


class OptionHead(nn.Module):
    """Predicts from the last token of an option whether the option is correct."""

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
    """Deep supervision: one layer before the last, the answer's position must already predict its content.

    hidden [B, T, width] goes through the model's own last norm and output layer; contents [B, T].
    """
    chosen = contents != IGNORED
    return F.cross_entropy(head(norm(hidden[chosen])), contents[chosen])


class WordAlignment:
    """Pulls each projected patch towards the embeddings of the words for what its cell shows.

    The words are a shape, a colour (or, for both, the word for an empty cell), the quarter of the image, and
    the side, which distinguishes the two images of a pair.
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
        """patches [B, 16, width]; embeddings [vocabulary, width]; cells [B, 16, 2] as in Images."""

        def towards(words: Tensor, targets: Tensor) -> Tensor:
            scores = _SHARPNESS * patches @ embeddings[words].T
            return F.cross_entropy(scores.flatten(0, 1), targets.flatten())

        shape = towards(self._shapes, cells[..., 0])
        colour = towards(self._colours, cells[..., 1])
        quarter = towards(self._corners, self._quarter.expand(len(patches), -1))
        side = towards(self._sides, self._side.expand(len(patches), -1))
        return shape + colour + 0.5 * (quarter + side)


_RISING_STEPS = 50
_FALLING_SHARE = 0.35
_LOWEST = 0.02
_DECAY = 0.05
_ADAM_SHARE = 0.5
_MOMENTUM = 0.95
# Of the polynomial that brings singular values near 1 in five rounds (Jordan et al., 2024).
_ROUNDS, _POLYNOMIAL = 5, (3.4445, -4.7750, 2.0315)


def rate(step: int, steps: int) -> float:
    """Share of the full learning rate: it rises, stays, and falls linearly near the end."""
    rising = (step + 1) / _RISING_STEPS
    falling = max(_LOWEST, (1 - step / steps) / _FALLING_SHARE)
    return min(rising, falling, 1.0)


def orthogonal(matrices: Tensor) -> Tensor:
    """[n, rows, columns]: each matrix with its singular values brought near 1 (Newton-Schulz)."""
    tall = matrices.shape[1] > matrices.shape[2]
    x = matrices.mT if tall else matrices
    x = x / x.norm(dim=(1, 2), keepdim=True).clamp(min=1e-7)
    a, b, c = _POLYNOMIAL
    for _ in range(_ROUNDS):
        square = x @ x.mT
        x = a * x + (b * square + c * square @ square) @ x
    result: Tensor = x.mT if tall else x
    return result


class Muon:
    """Moves matrices along the orthogonalised momentum of their gradients (Jordan et al., 2024).

    torch's own Muon computes one matrix after the other in bfloat16, which on a CPU takes longer than the
    rest of a step; here all matrices of one shape are computed together, in float32.
    """

    def __init__(self, matrices: Sequence[Tensor]) -> None:
        groups: dict[torch.Size, list[Tensor]] = {}
        for matrix in matrices:
            groups.setdefault(matrix.shape, []).append(matrix)
        self._groups = [(group, torch.zeros(len(group), *shape)) for shape, group in groups.items()]

    @torch.no_grad()
    def step(self, learning_rate: float) -> None:
        """Moves every matrix that has a gradient, with Nesterov momentum."""
        for group, momentum in self._groups:
            moved = [i for i, matrix in enumerate(group) if matrix.grad is not None]
            if not moved:
                continue
            gradients = torch.stack([gradient for i in moved if (gradient := group[i].grad) is not None])
            recent = momentum[moved].lerp(gradients, 1 - _MOMENTUM)
            momentum[moved] = recent
            directions = orthogonal(gradients.lerp(recent, _MOMENTUM))
            rows, columns = group[0].shape
            size = learning_rate * max(1.0, rows / columns) ** 0.5
            for i, direction in zip(moved, directions, strict=True):
                group[i].mul_(1 - learning_rate * _DECAY).sub_(direction, alpha=size)


class Optimizers:
    """Muon moves the weights of linear layers: demo models learn far faster than by AdamW alone.

    AdamW moves what Muon is not made for: embeddings (and the output layer tied to them), the patch
    convolution, biases, norms, and the layers of the auxiliary losses.
    """

    def __init__(self, model: "PreTrainedModel", extra: nn.Module, full_rate: float) -> None:
        head = model.get_output_embeddings()
        linear = [part for part in model.modules() if isinstance(part, nn.Linear) and part is not head]
        matrices = [part.weight for part in linear]
        known = {id(weight) for weight in matrices}
        others = [w for w in [*model.parameters(), *extra.parameters()] if id(w) not in known]
        groups = [
            {"params": [w for w in others if w.ndim >= 2], "weight_decay": _DECAY},
            {"params": [w for w in others if w.ndim < 2], "weight_decay": 0.0},
        ]
        self._weights = matrices + others
        self._full_rate = full_rate
        self._muon = Muon(matrices)
        self._adam = torch.optim.AdamW(groups, lr=full_rate, betas=(0.9, 0.98), fused=True)

    def step(self, loss: Tensor, share: float) -> None:
        """Moves every weight against the gradient of the loss, at a share of the learning rate."""
        for weight in self._weights:
            weight.grad = None
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self._weights, 1.0)
        self._muon.step(self._full_rate * share)
        for group in self._adam.param_groups:
            group["lr"] = self._full_rate * share * _ADAM_SHARE
        self._adam.step()
