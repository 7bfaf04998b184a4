"""The time of a call."""

import time
from collections.abc import Callable
from typing import TypeVar

import torch

T = TypeVar("T")


def seconds(work: Callable[[], T], device: str) -> tuple[float, T]:
    """Time of a call, of the processor (so that neighbours on a shared machine count less) or the wall."""
    if device == "cpu":
        start = time.process_time()
        found = work()
        return time.process_time() - start, found
    torch.cuda.synchronize()
    start = time.perf_counter()
    found = work()
    torch.cuda.synchronize()
    return time.perf_counter() - start, found
