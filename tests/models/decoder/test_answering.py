"""What both engines of transformers' models share: rows by shape, bits that no company moves, memory that ends."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.models.engines import answered, apart, packs_of, refusal, shared
from tests.models.tiny import save_blip
from tests.refusals import refused
from vouch.models.engine import Refusal

OUTPUTS = ("letters", "likelihood", "text")
TEMPLATE = Path("vouch/models/chat/templates/question_answer.jinja").read_text()


@dataclass(frozen=True)
class Kind:
    """make: an engine, by config. images: most that it shows in a question."""

    make: Callable[..., Any]
    images: int

    def packs(self, output: str) -> Any:
        return packs_of(output, self.images)


@pytest.fixture(scope="module", params=["llava", "blip_2", "instructblip"])
def kind(request: pytest.FixtureRequest, tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Kind:
    if request.param == "llava":
        return Kind(lambda **config: shared(tiny, **config), 2)
    blip = save_blip(tmp_path_factory.mktemp("blip") / "model", instruct=request.param == "instructblip")
    return Kind(lambda **config: apart(blip, TEMPLATE, **config), 1)


@pytest.mark.parametrize("bucket", [8, "geometric"])
@pytest.mark.parametrize("output", OUTPUTS)
def test_bits_do_not_depend_on_the_other_packs(kind: Kind, output: str, bucket: int | str) -> None:
    packs, engine = kind.packs(output), kind.make(bucket=bucket)
    whole = answered(engine, output, packs)
    assert not any(isinstance(one.answer, Refusal) for one in whole.values())
    assert answered(kind.make(bucket=bucket, workers=1), output, reversed(packs)) == whole
    shuffled = random.Random(1).sample(packs, len(packs))
    for part in (shuffled, packs[::2], *([pack] for pack in packs[:2])):
        assert answered(engine, output, part).items() <= whole.items()  # with what the engine still holds


class Memory:
    """Lets a model run out of memory above so many rows of a pass, a number of times."""

    def __init__(self, engine: Any, rows: int, times: float = inf, error: Exception | None = None) -> None:
        self.rows, self.seen, self.times = rows, list[int](), times
        self._error = error or torch.OutOfMemoryError("simulated")
        model = engine._forward.model if hasattr(engine, "_forward") else engine._model.language_model
        model.register_forward_pre_hook(self._check, with_kwargs=True)

    def _check(self, _module: Any, _inputs: Any, given: dict[str, Any]) -> None:
        self.seen.append(len(given["decoder_input_ids" if "decoder_input_ids" in given else "input_ids"]))
        if self.seen[-1] > self.rows and self.times > 0:
            self.times -= 1
            raise self._error


@pytest.mark.parametrize("output", OUTPUTS)
def test_rows_are_halved_where_memory_runs_out(kind: Kind, output: str) -> None:
    engine, packs = kind.make(own=True, batch=8), kind.packs(output)
    memory = Memory(engine, rows=2)
    answers = answered(engine, output, packs)
    assert engine.notes["rows"] == 8 and engine.notes["halved"] >= 2
    assert answers == answered(kind.make(batch=2), output, packs)
    assert {one.rows for one in answers.values()} == {2}
    memory.seen.clear()
    assert answered(engine, output, packs) == answers
    assert max(memory.seen) == 2  # never tries more rows of these shapes again


@pytest.mark.parametrize("said", [None, "DefaultCPUAllocator: can't allocate memory", "no such kernel"])
def test_memory_that_ran_out_once_changes_nothing(kind: Kind, said: str | None) -> None:
    engine, packs = kind.make(own=True), kind.packs("letters")
    whole = answered(engine, "letters", packs)
    memory = Memory(engine, 0, 1, RuntimeError(said) if said else None)
    if said == "no such kernel":
        with refused(rf": fails at q0 \(RuntimeError: {said}\); correct its config"):
            answered(engine, "letters", packs)
        return
    assert answered(engine, "letters", packs) == whole
    assert engine.notes["halved"] == 0 and memory.times == 0


@pytest.mark.parametrize("output", OUTPUTS)
def test_without_memory_for_one_row_questions_wait_for_another_run(kind: Kind, output: str) -> None:
    engine, packs = kind.make(own=True, batch=2), kind.packs(output)
    memory = Memory(engine, rows=0)
    answers = answered(engine, output, packs)
    assert answers.keys() == {one.id for pack in packs for one in pack}
    for one in answers.values():
        assert "no memory left" in refusal(one) and one.answer.transient  # type: ignore[union-attr]
    memory.rows = 1
    assert answered(engine, output, packs) == answered(kind.make(batch=1), output, packs)
