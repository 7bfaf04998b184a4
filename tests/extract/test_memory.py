"""Memory that runs out is a trouble of this run: no answer is taken for it, and the next run asks again."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from stages.contracts.prompts import LETTERS
from stages.extract.engine import Answered, Pack, Refusal
from stages.extract.reasons import is_memory, reason
from tests.extract.engines import answered, question, shared

_LIMITED = """
import io, resource
from PIL import Image
from stages.extract.asking import Member, Wanted
from stages.extract.questions import _shown, _Work
from tests.extract.project import prompt, recipe

sink = io.BytesIO()
Image.new("1", (9000, 9000)).save(sink, "PNG")
data = sink.getvalue()
row = {**prompt("q/original", "what", [data]), "system": None, "response": None, "max_tokens": 1}
pack = Wanted("letters", (Member(row, (b"k",)),))
work = _Work(pack, frozenset([b"k"]), {digest: data for digest in recipe(data)["images"]})
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 150_000_000,) * 2)
((answered, slots),) = _shown(work).refused
print(answered.answer.passing, answered.answer.problem, len(slots))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory hold on Linux only")
def test_a_picture_too_large_for_what_is_left() -> None:
    ran = subprocess.run([sys.executable, "-c", _LIMITED], capture_output=True, text=True, timeout=120)
    assert (ran.stdout, ran.returncode) == ("True no memory left to decode its pictures 1\n", 0), ran.stderr


def test_what_a_cpu_raises_is_known() -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.empty(10**14)
    assert is_memory(caught.value) and is_memory(MemoryError()) and is_memory(torch.OutOfMemoryError())
    assert not is_memory(RuntimeError("shapes differ"))


def test_rows_are_halved_on_a_cpu_as_well(tiny: Path) -> None:
    engine = shared(tiny, own=True, batch=8)

    def check(_module: object, _inputs: object, given: dict[str, torch.Tensor]) -> None:
        if len(given["input_ids"]) > 2:
            torch.empty(10**14)

    engine._forward.model.register_forward_pre_hook(check, with_kwargs=True)
    found = answered(engine, LETTERS, [[question(index, 5)] for index in range(8)])
    assert engine.notes["rows"] == 2 and {one.rows for one in found.values()} == {2}


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
    refusal = Refusal("no memory left to prepare it", passing=True)
    assert list(engine.answer([pack])) == [Answered(one.id, refusal) for one in pack.questions]


def test_reasons_hold_no_addresses() -> None:
    assert (
        reason(ValueError("no <_io.BytesIO object at 0x7f32e5f08720>\n here"))
        == "no <_io.BytesIO object> here"
    )
