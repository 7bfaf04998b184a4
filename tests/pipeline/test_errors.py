"""The one line that a person reads; memory that runs out: no answer is taken for it, and passes get smaller."""

import errno
from pathlib import Path

import pytest
import torch

from tests.models.engines import question, shared
from vouch.models.decoder.row_engine import RowLimits
from vouch.models.engine import Answered, Pack, Refusal
from vouch.pipeline.errors import UserError, did_you_mean, out_of_memory, reason, refused_by_system
from vouch.tables.asked import LETTERS


def test_quoted_names_cannot_break_the_line_or_reach_the_terminal():
    line = str(UserError("items.jsonl line 2:\n id a\x1b[31m\x00\u202eb\r\n\tis odd\ud800"))
    assert (
        line.isprintable()
        and line.startswith("items.jsonl line 2: id a")
        and line.count("\N{REPLACEMENT CHARACTER}") == 4
    )


def test_other_writing_systems_pass():
    assert str(UserError("data/Drachen/凧.jsonl: é “q”")) == "data/Drachen/凧.jsonl: é “q”"


def test_did_you_mean():
    assert did_you_mean("scoer", ["score", "pin"]) == "did you mean score? valid: pin, score"
    assert did_you_mean("x", []) == "valid: none"


def test_a_full_disk_is_told_with_what_to_do():
    full = OSError(errno.ENOSPC, "No space left on device", "data/items/left.parquet")
    assert refused_by_system(full) == (
        "data/items/left.parquet: no space left on the disk, or of your quota; make room, then run it again"
    )


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


def test_preparing_without_memory_is_asked_again(tiny: Path) -> None:
    engine = shared(tiny, own=True, workers=1)
    pack = Pack(LETTERS, [question(0, 5), question(1, 5)])

    class Full:
        needs = engine._preparer.needs

        def for_thread(self) -> "Full":
            return self

        def prepare(self, _question: object) -> None:
            bytearray(10**14)

    engine._preparer = Full()
    refusal = Refusal("no memory left to prepare it", transient=True)
    assert list(engine.answer([pack])) == [Answered(one.id, refusal) for one in pack.questions]


def test_reasons_hold_no_addresses() -> None:
    assert (
        reason(ValueError("no <_io.BytesIO object at 0x7f32e5f08720>\n here"))
        == "no <_io.BytesIO object> here"
    )
