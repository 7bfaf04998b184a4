"""The engine of a model with code of its own: a driver is asked, and trouble with it is told apart.

    refused                     the question has no answer; remembered
    again, the driver's death   transient: the next run asks again
    fatal, a broken line        the run stops with one line; finished answers are kept

A driver that dies is started again, and the questions that it owed are asked one at a time. A question at
which it dies a second time is refused by name. DEATHS in a row without an answer in between stop the run.
"""

import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vouch.models.config import ExtractConfig
from vouch.models.engine import Answered, Engine, Pack, Refusal
from vouch.models.lock_entry import Locked, LockEntry, ProbeAnswer
from vouch.models.program import identity, protocol
from vouch.models.program.child import Child, Died, Limits
from vouch.models.program.protocol import Broken, Job, Ready
from vouch.models.thinking import Thinking
from vouch.models.unsupported import not_by_program
from vouch.pipeline.errors import UserError
from vouch.pipeline.locks import VISIBLE, lease
from vouch.tables.answered import Pin, ProgramPin
from vouch.tables.asked import TEXT

if TYPE_CHECKING:
    from PIL.Image import Image

DEATHS = 4  # in a row: two questions at which a driver dies, each twice
ENOUGH = 32  # questions in a row without an answer
_QUICK = 1  # of zlib
_HELPER = Path(__file__).resolve().parents[3] / "drivers/vouch_driver.py"


def load(pin: Pin, config: ExtractConfig) -> Engine:
    """The pinned model, its driver started. Raises UserError if anything is not as pinned."""
    program = pin.program
    assert program is not None
    folder, parts = check_files(pin)
    if config.device != "cpu":
        lease(everything=config.device == "split")
    engine = ProgramEngine(Program(pin.model, program, folder, parts, pin.dtype, config))
    return Thinking(engine, pin.reasoning) if pin.reasoning else engine


def check_files(pin: Pin) -> tuple[Path, dict[str, Path]]:
    """The model's folder and those of its parts, if every file of them, and all code, is as pinned."""
    assert pin.program is not None
    program = pin.program
    identity.check_code(pin.model, program.driver, program.driver_files, program.code, program.code_digest)
    folder = identity.source_folder(pin.source, pin.model)
    parts = {name: identity.source_folder(one, pin.model) for name, one in program.parts.items()}
    for where, now, pinned in (
        (str(folder), identity.model_files(folder), pin.files),
        (", ".join(map(str, parts.values())), identity.part_files(parts), program.part_files),
    ):
        wrong = sorted({*now, *pinned} - {name for name in now if now[name] == pinned.get(name)})
        if wrong:
            raise UserError(
                f"{where}: {wrong[0]} is not as pinned; restore it, or pin what is there now with "
                f"`dvc repro --force --single-item pin@{pin.model}`"
            )
    return folder, parts


def examined(name: str, entry: LockEntry, folder: Path, parts: dict[str, Path]) -> tuple[Locked, list[str]]:
    """What is to be pinned of a program, and the request types that it gives: its driver is started without
    weights. Raises UserError."""
    assert entry.program is not None
    own = entry.program
    code, commit = identity.code_digest(Path(own.code)) if own.code else (None, None)
    driver = identity.driver_files(own.driver)
    bare = Locked(driver=driver, code=code, commit=commit, packages=[])
    pin = identity.program_pin(name, own.model_copy(update={"locked": bare}), parts, whole=False)
    config = ExtractConfig(device="cpu")
    child, ready = Program(name, pin, folder, parts, entry.dtype or "float32", config, weights=False).start()
    child.close()
    locked = {"packages": identity.frozen(ready.versions), "probe": ready.probe}
    return bare.model_copy(update=locked), ready.outputs


class Program:
    """How a driver is started, and what it is told of its model."""

    def __init__(
        self,
        model: str,
        program: ProgramPin,
        folder: Path,
        parts: dict[str, Path],
        dtype: str,
        config: ExtractConfig,
        weights: bool = True,
    ) -> None:
        self.model, self.pin = model, program
        self.name = program.driver
        self._variables = {VISIBLE: ""} if config.device == "cpu" else {}
        self._python, self._limits = identity.interpreter(program.environment), Limits.of(os.environ)
        self._hello = {
            "hello": 1,
            "folder": str(folder.absolute()),
            "parts": {name: str(path.absolute()) for name, path in parts.items()},
            "code": str(Path(program.code).absolute()) if program.code else None,
            "settings": program.settings,
            "dtype": dtype,
            "device": config.device,
            "threads": config.threads,
            "weights": weights,
        }

    def start(self) -> tuple[Child, Ready]:
        """A driver that is ready. Raises UserError if it does not come to that."""
        driver = str(Path(self.pin.driver).absolute())
        child = Child(self.model, [str(self._python), str(_HELPER), driver], self._limits, self._variables)
        try:
            child.send(self._hello)
            message = child.receive(starting=True)
            if "fatal" in message:
                raise UserError(self.fatal(message, child))
            return child, protocol.ready(message)
        except Died as death:
            raise UserError(
                f"{self.name}: {self.model} does not start: {death}; correct the driver"
            ) from None
        except Broken as problem:
            child.close()
            raise UserError(self.broken(problem)) from None
        except KeyboardInterrupt:
            child.close()
            raise

    def fatal(self, message: dict[str, Any], child: Child) -> str:
        """The line for a driver that gave up."""
        child.close()
        return f"{self.name}: {self.model}: {message['fatal']!s:.500}; {child.log} has what it printed"

    def broken(self, problem: Broken) -> str:
        """The line for a driver that breaks the protocol."""
        return f"{self.name}: breaks the protocol of programs ({problem}); correct the driver"

    def check(self, ready: Ready) -> None:
        """Raises UserError if a driver runs in another environment, or reads other letters, than those
        pinned."""
        identity.check_packages(self.pin.packages, ready.versions, self.pin.environment, self.model)
        known = ProbeAnswer.model_validate(self.pin.probe) if self.pin.probe else None
        if known is not None and ready.probe != known:
            raise UserError(
                f"{self.name}: {self.model} reads another prompt or other letters than those pinned; "
                f"`vouch lock {self.model}` pins them, `vouch plan --probe {self.model}` shows them"
            )


class ProgramEngine:
    """See Engine in vouch/models/engine.py."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._child, self._ready = program.start()
        try:
            program.check(self._ready)
        except UserError:
            self._child.close()
            raise
        self.device = self._ready.device
        self.notes: dict[str, Any] = {"driver": program.name, "batch": self._ready.batch, "restarts": 0}
        self._last, self._answering = 0, False

    def answer(self, packs: Iterable[Pack]) -> Iterator[Answered]:
        """See Engine.answer."""
        asked = _Round(self, self._jobs(packs))
        try:
            yield from asked.answers()
        except Broken as problem:
            self._child.close()
            raise UserError(self._program.broken(problem)) from None
        finally:
            if asked.under_way:  # nobody waits for these answers any more
                self._child.close()

    def _jobs(self, packs: Iterable[Pack]) -> Iterator[Job | Answered]:
        """A job for each answer, a refusal for what the driver does not offer."""
        for pack in packs:
            for question in pack.questions:
                if question.known:
                    continue
                if pack.output not in self._ready.outputs:
                    reason = not_by_program(self._ready.outputs)
                    yield Answered(question.id, Refusal(reason, unsupported=True))
                    continue
                for decoding in question.decodings if pack.output == TEXT else (None,):
                    yield Job(pack.output, question, decoding)

    @property
    def ahead(self) -> int:
        """How many questions the driver may be sent before it answers one."""
        return self._ready.batch

    def send(self, job: Job) -> int:
        """Asks for one answer; its number. Raises Died."""
        self._last += 1
        images = [self._png(self._last, index, one) for index, one in enumerate(job.question.images)]
        self._child.send(protocol.request(self._last, job, images))
        return self._last

    def _png(self, number: int, index: int, image: "Image") -> str:
        """The path of an image as a PNG: its pixels and nothing else."""
        path = self._child.folder / f"{number}-{index}.png"
        bare = image.copy()
        bare.info = {}
        bare.save(path, "PNG", compress_level=_QUICK)
        return str(path)

    def receive(self) -> dict[str, Any]:
        """The next message about a question. Raises Died, Broken, and UserError if the driver gives up."""
        message = self._child.receive()
        if "fatal" in message:
            raise UserError(self._program.fatal(message, self._child))
        return message

    def done(self, number: int, job: Job) -> None:
        """Removes the images of a question."""
        for index in range(len(job.question.images)):
            (self._child.folder / f"{number}-{index}.png").unlink(missing_ok=True)

    def restart(self) -> None:
        """Starts the driver anew after its death. Raises UserError."""
        self._child.close()
        self.notes["restarts"] += 1
        self._child, ready = self._program.start()
        self._program.check(ready)

    def deadly(self, job: Job, death: Died) -> Refusal:
        """The refusal of a question at which the driver died twice.

        As long as it has answered nothing, it may die at every question: then this one is asked again.
        """
        problem = f"{self._program.name} ends at this question, twice: {death}"
        return Refusal(problem, transient=not self._answering, unproven=not self._answering)

    def count(self, answered: bool) -> None:
        """Notes whether the driver has answered a question."""
        self._answering |= answered

    def stop(self, why: str) -> UserError:
        """Ends the driver for good; the error to raise."""
        self._child.close()
        return UserError(
            f"{self._program.name}: {self._program.model}: {why}; finished answers are kept, correct the "
            "driver"
        )


class _Round:
    """Asks a sequence of jobs; knows which are under way, and which the driver owed when it died."""

    def __init__(self, engine: ProgramEngine, jobs: Iterator[Job | Answered]) -> None:
        self._engine, self._jobs = engine, jobs
        self._flight: dict[int, Job] = {}
        self._owed: deque[Job] = deque()  # asked one at a time
        self._struck: set[tuple[str, Any]] = set()
        self._deaths = self._unanswered = 0

    def answers(self) -> Iterator[Answered]:
        """The answers as they come. Raises UserError and Broken."""
        while True:
            try:
                yield from self._fill()
                if not self._flight:
                    return
                message = self._engine.receive()
            except Died as death:
                yield from self._after(death)
                continue
            yield self._read(message)

    def _fill(self) -> Iterator[Answered]:
        """Sends as many jobs as may be under way. Raises Died."""
        while len(self._flight) < (1 if self._owed or self._careful else self._engine.ahead):
            job = self._owed.popleft() if self._owed else next(self._jobs, None)
            if job is None:
                return
            if isinstance(job, Answered):
                yield job
                continue
            self._flight[-1] = job  # until it has a number, so that a death meanwhile does not lose it
            number = self._engine.send(job)
            self._flight[number] = self._flight.pop(-1)

    @property
    def under_way(self) -> bool:
        """Whether the driver owes answers."""
        return bool(self._flight)

    @property
    def _careful(self) -> bool:
        """Whether a question that the driver owed at its death is under way."""
        return any(_key(job) in self._struck for job in self._flight.values())

    def _read(self, message: dict[str, Any]) -> Answered:
        """The answer in a message. Raises Broken if nobody asked for it, UserError after many without one."""
        number = message.get("id")
        job = self._flight.pop(number, None) if isinstance(number, int) else None
        if job is None or not isinstance(number, int):
            raise Broken(f"it answers {number!r:.40}, which it was not asked or has answered")
        answer, flags = protocol.answer(message, job)
        self._engine.done(number, job)
        self._deaths = 0
        again = isinstance(answer, Refusal) and answer.transient
        self._unanswered = self._unanswered + 1 if again else 0
        self._engine.count(not isinstance(answer, Refusal))
        if again and self._unanswered >= ENOUGH:
            assert isinstance(answer, Refusal)
            raise self._engine.stop(f"{ENOUGH} questions in a row have no answer ({answer.problem})")
        return Answered(job.question.id, answer, job.decoding, flags)

    def _after(self, death: Died) -> Iterator[Answered]:
        """Starts the driver again. A question that was alone with it at two deaths is refused by name."""
        self._deaths += 1
        owed: Sequence[Job] = list(self._flight.values())
        self._flight.clear()
        if len(owed) == 1 and _key(owed[0]) in self._struck:
            yield Answered(owed[0].question.id, self._engine.deadly(owed[0], death), owed[0].decoding)
            owed = []
        self._struck.update(map(_key, owed))
        self._owed.extendleft(reversed(owed))
        if self._deaths >= DEATHS:
            raise self._engine.stop(f"it ended {DEATHS} times in a row without an answer; {death}")
        self._engine.restart()


def _key(job: Job) -> tuple[str, Any]:
    return job.question.id, job.decoding
