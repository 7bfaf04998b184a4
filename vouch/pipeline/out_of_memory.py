"""Running out of memory, by whatever name a device calls it, and the rows that passes are left with."""

from collections.abc import Hashable

import torch

# What libraries below torch say in a plain RuntimeError.
_SAID = (
    "DefaultCPUAllocator",
    "can't allocate memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_ALLOC_FAILED",
)


def out_of_memory(error: BaseException) -> bool:
    """Whether an error means that memory ran out."""
    if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
        return True
    return isinstance(error, RuntimeError) and any(said in str(error) for said in _SAID)


class RowLimits:
    """Rows of the passes for which memory ran out, by their shape; all other passes keep theirs."""

    def __init__(self) -> None:
        self._rows: dict[Hashable, int] = {}

    def of(self, shape: Hashable, rows: int) -> int:
        """Rows of a pass that should have so many."""
        return min(rows, self._rows.get(shape, rows))

    def halve(self, shape: Hashable, rows: int) -> bool:
        """From now on half the rows for a shape; False where it is down to one."""
        if rows > 1:
            self._rows[shape] = rows // 2
        return rows > 1
