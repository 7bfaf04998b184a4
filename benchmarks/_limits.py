"""What asking a LLaVA takes at least: by operations the ratio to the loop, by a machine's rates the time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from benchmarks._asking import option_tokens, suffix_tokens
from benchmarks._clock import seconds
from benchmarks._llava import Shape
from vouch.models.engine import Question
from vouch.models.packs import PACK_PROMPTS

BYTES = 2  # of a weight in bfloat16


@dataclass(frozen=True)
class Rates:
    """What a machine reaches: operations a second in bfloat16, bytes a second read and written."""

    peak: float
    bandwidth: float


def packs(asked: Sequence[Question]) -> list[Sequence[Question]]:
    """The questions about one picture as they share passes."""
    return [asked[start : start + PACK_PROMPTS] for start in range(0, len(asked), PACK_PROMPTS)]


def pack_size(pack: Sequence[Question]) -> tuple[int, int]:
    """Tokens of a pack after the picture, and places whose logits are read."""
    options = [count for one in pack for count in option_tokens(one)]
    tokens = sum(map(suffix_tokens, pack)) + sum(count - 1 for count in options)
    return tokens, sum(options) or len(pack)


def limit(shape: Shape, asked: Sequence[Question]) -> float:
    """The loop's operations for the questions about one picture over ours."""
    loop = sum(
        shape.loop_flops(suffix_tokens(one) + extra) for one in asked for extra in (option_tokens(one) or [0])
    )
    sizes = map(pack_size, packs(asked))
    ours = sum(shape.flops(tokens, shape.prefix, rows, masked=True) for tokens, rows in sizes)
    return loop / (shape.prefix_flops() + ours)


def floor(shape: Shape, rates: Rates, asked: Sequence[Question]) -> float:
    """Least seconds for the questions about one picture: every pass by operations or by bytes moved."""
    weights = BYTES * (shape.linear + shape.head)
    state = BYTES * 2 * shape.layers * shape.width * shape.prefix

    def once(operations: float, moved: float) -> float:
        return max(operations / rates.peak, moved / rates.bandwidth)

    shared = once(shape.prefix_flops(), weights + BYTES * shape.vision)
    for tokens, rows in map(pack_size, packs(asked)):
        shared += once(shape.flops(tokens, shape.prefix, rows), weights + state)
    if any(option_tokens(one) for one in asked):
        return shared
    alone = (shape.flops(shape.prefix + suffix_tokens(one)) + shape.vision_flops() for one in asked)
    return min(shared, sum(once(operations, weights + BYTES * shape.vision) for operations in alone))


def measured_rates(device: str, side: int) -> Rates:
    """From a product of two square matrices and a copy of one that no cache holds."""
    left, right = (torch.randn(side, side, device=device, dtype=torch.bfloat16) for _ in range(2))
    many = torch.empty(side * side * 32, device=device, dtype=torch.bfloat16)
    other = torch.empty_like(many)

    def best(work: Callable[[], object]) -> float:
        def ten() -> None:
            for _ in range(10):
                work()

        ten()
        return min(seconds(ten, device)[0] for _ in range(5)) / 10

    peak = 2 * side**3 / best(lambda: left @ right)
    return Rates(peak, 2 * BYTES * many.numel() / best(lambda: other.copy_(many)))
