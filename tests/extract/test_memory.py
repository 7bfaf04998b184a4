"""Errors that mean that memory ran out, and what passes are left with."""

import pytest
import torch

from stages.extract.memory import RowLimits, out_of_memory


def test_a_real_allocation_that_fails() -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.empty(2**58, dtype=torch.uint8)
    assert type(caught.value) is RuntimeError and out_of_memory(caught.value)


@pytest.mark.parametrize(
    ("error", "means"),
    [
        (torch.OutOfMemoryError("CUDA out of memory"), True),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate(handle)"), True),
        (RuntimeError("shapes cannot be multiplied"), False),
        (ValueError("DefaultCPUAllocator"), False),
    ],
)
def test_errors(error: Exception, means: bool) -> None:
    assert out_of_memory(error) == means


def test_rows_are_halved_by_shape() -> None:
    limits = RowLimits()
    assert limits.of("a", 8) == 8
    assert limits.halve("a", 8) and limits.halve("a", 4)
    assert (limits.of("a", 8), limits.of("a", 1), limits.of("b", 8)) == (2, 1, 8)
    assert not limits.halve("b", 1)
