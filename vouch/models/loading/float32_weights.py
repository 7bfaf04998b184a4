"""A model's numbers in float32 for a while."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any

import psutil
import torch

from vouch.pipeline.out_of_memory import out_of_memory

SPARE = 2  # so many times the memory that it takes must be free


@contextmanager
def in_float32(model: Any) -> Iterator[bool]:
    """Raises all weights to float32 in place, afterwards every tensor is what it was, bit for bit.

    Gives False, and changes nothing, where memory does not allow it.
    """
    tensors = list(chain(model.parameters(), model.buffers()))
    coarse = [one for one in tensors if one.is_floating_point() and one.element_size() < 4]
    if not _fits(coarse):
        yield False
        return
    before = [one.dtype for one in coarse]
    try:
        yield _raised(coarse)
    finally:
        for one, dtype in zip(coarse, before, strict=True):
            one.data = one.data.to(dtype)


def _raised(tensors: Sequence[torch.Tensor]) -> bool:
    before = [one.dtype for one in tensors]
    try:
        for one in tensors:
            one.data = one.data.float()
    except (RuntimeError, MemoryError) as error:
        if not out_of_memory(error):
            raise
        for one, dtype in zip(tensors, before, strict=True):
            one.data = one.data.to(dtype)
        return False
    return True


def _fits(tensors: Sequence[torch.Tensor]) -> bool:
    more: dict[torch.device, int] = {}
    for one in tensors:
        if one.is_meta:
            return False
        more[one.device] = more.get(one.device, 0) + one.numel() * (4 - one.element_size())
    return all(SPARE * size <= _free(device) for device, size in more.items())


def _free(device: torch.device) -> int:
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    return int(psutil.virtual_memory().available)
