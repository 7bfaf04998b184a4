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
from vouch.models.program.protocol import Broken, Ready, Request
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
    engine = ProgramEngine(Driver(pin.model, program, folder, parts, pin.dtype, config))
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
        wrong = sorted(name for name in {*now, *pinned} if now.get(name) != pinned.get(name))
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
    code = commit = None
    if own.code:
        code, commit = identity.code_digest(Path(own.code)), identity.commit(Path(own.code), changed=True)
    bare = Locked(driver=identity.driver_files(own.driver), code=code, commit=commit, packages=[])
    pin = identity.program_pin(name, own.model_copy(update={"locked": bare}), parts, whole=False)
    config = ExtractConfig(device="cpu")
    driver = Driver(name, pin, folder, parts, entry.dtype or "float32", config, known=False)
    child, ready = driver.start()
    child.close()
    facts = {"packages": identity.frozen(driver.versions), "probe": ready.probe}
    return bare.model_copy(update=facts), ready.outputs


class Driver:
    """The driver of a model: how it is started, what it is told, and what is checked of it.

    known: whether it was pinned. If not, it is started without weights, and what it says is not compared.
    versions: packages of its environment, by name, once it was started.
    """

    def __init__(
        self,
        model: str,
        program: ProgramPin,
        folder: Path,
        parts: dict[str, Path],
        dtype: str,
        config: ExtractConfig,
        known: bool = True,
    ) -> None:
        self.model, self.pin, self.name = model, program, program.driver
        self.versions: dict[str, str] = {}
        self._known = known
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
            "weights": known,
        }

    def start(self, again: bool = False) -> tuple[Child, Ready]:
        """A driver that is ready. Raises UserError if it does not come to that, or if its environment or the
        letters that it reads are not those pinned."""
        driver = str(Path(self.pin.driver).absolute())
        command = [str(self._python), str(_HELPER), driver]
        child = Child(self.model, command, self._limits, self._variables, again)
        try:
            self.versions = protocol.versions(self._received(child))
            if self._known:
                environment = self.pin.environment
                identity.check_packages(self.pin.packages, self.versions, environment, self.model)
            child.send(self._hello)  # only now is code of the model's run
            ready = protocol.ready(self._received(child))
            if self._known:
                self._check_probe(ready.probe)
        except Died as death:
            raise UserError(
                f"{self.name}: {self.model} does not start: {death}; correct the driver"
            ) from None
        except Broken as problem:
            child.close()
            raise UserError(self.broken(problem)) from None
        except BaseException:
            child.close()
            raise
        return child, ready

    def _received(self, child: Child) -> dict[str, Any]:
        """A message of a driver that is not ready yet. Raises UserError if it gives up, Died and Broken."""
        message = child.receive(starting=True)
        if "fatal" in message:
            raise UserError(self.fatal(message, child))
        return message

    def _check_probe(self, probe: ProbeAnswer | None) -> None:
        pinned = ProbeAnswer.model_validate(self.pin.probe) if self.pin.probe else None
        if pinned is not None and probe != pinned:
            raise UserError(
                f"{self.name}: {self.model} reads another prompt or other letters than those pinned; "
                f"`vouch lock {self.model}` pins them, `vouch plan --probe {self.model}` shows them"
            )

    def fatal(self, message: dict[str, Any], child: Child) -> str:
        """The line for a driver that gave up. Raises Broken if it does not say why."""
        child.close()
        return (
            f"{self.name}: {self.model}: {protocol.words(message, 'fatal')}; {child.log} has what it printed"
        )

    def broken(self, problem: Broken) -> str:
        """The line for a driver that breaks the protocol."""
        return f"{self.name}: breaks the protocol of programs ({problem}); correct the driver"


class ProgramEngine:
    """See Engine in vouch/models/engine.py."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._child, self._ready = driver.start()
        self.device = self._ready.device
        self.notes: dict[str, Any] = {"driver": driver.name, "batch": self._ready.batch, "restarts": 0}
        self._last, self._answering = 0, False

    def answer(self, packs: Iterable[Pack]) -> Iterator[Answered]:
        """See Engine.answer."""
        asked = _Round(self, self._requests(packs))
        try:
            yield from asked.answers()
        except Broken as problem:
            self._child.close()
            raise UserError(self._driver.broken(problem)) from None
        finally:
            if asked.under_way:  # nobody waits for these answers any more
                self._child.close()

    def _requests(self, packs: Iterable[Pack]) -> Iterator[Request | Answered]:
        """A request for each answer, a refusal for what the driver does not offer."""
        for pack in packs:
            for question in pack.questions:
                if question.known:
                    continue
                if pack.output not in self._ready.outputs:
                    reason = not_by_program(self._ready.outputs)
                    yield Answered(question.id, Refusal(reason, unsupported=True))
                    continue
                for decoding in question.decodings if pack.output == TEXT else (None,):
                    yield Request(pack.output, question, decoding)

    @property
    def ahead(self) -> int:
        """How many questions the driver may be sent before it answers one."""
        return self._ready.batch

    def send(self, request: Request) -> int:
        """Asks for one answer; its number. Raises Died."""
        self._last += 1
        images = [self._png(self._last, index, one) for index, one in enumerate(request.question.images)]
        self._child.send(protocol.line(self._last, request, images))
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
            raise UserError(self._driver.fatal(message, self._child))
        return message

    def done(self, number: int, request: Request) -> None:
        """Removes the images of a question."""
        for index in range(len(request.question.images)):
            (self._child.folder / f"{number}-{index}.png").unlink(missing_ok=True)

    def restart(self) -> None:
        """Starts the driver anew after its death. Raises UserError."""
        self._child.close()
        self.notes["restarts"] += 1
        self._child, _ = self._driver.start(again=True)

    def deadly(self, request: Request, death: Died) -> Refusal:
        """The refusal of a question at which the driver died twice.

        As long as it has answered nothing, it may die at every question: then this one is asked again.
        """
        problem = f"{self._driver.name} ends at this question, twice: {death}"
        return Refusal(problem, transient=not self._answering, unproven=not self._answering)

    def count(self, answered: bool) -> None:
        """Notes whether the driver has answered a question."""
        self._answering |= answered

    def stop(self, why: str) -> UserError:
        """Ends the driver for good; the error to raise."""
        self._child.close()
        return UserError(
            f"{self._driver.name}: {self._driver.model}: {why}; finished answers are kept, correct the driver"
        )


class _Round:
    """Asks a sequence of requests; knows which are under way, and which the driver owed when it died."""

    def __init__(self, engine: ProgramEngine, requests: Iterator[Request | Answered]) -> None:
        self._engine, self._requests = engine, requests
        self._flight: dict[int, Request] = {}
        self._owed: deque[Request] = deque()  # asked one at a time
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
        """Sends as many requests as may be under way. Raises Died."""
        while len(self._flight) < (1 if self._owed or self._careful else self._engine.ahead):
            request = self._owed.popleft() if self._owed else next(self._requests, None)
            if request is None:
                return
            if isinstance(request, Answered):
                yield request
                continue
            self._flight[-1] = request  # until it has a number, so that a death meanwhile does not lose it
            number = self._engine.send(request)
            self._flight[number] = self._flight.pop(-1)

    @property
    def under_way(self) -> bool:
        """Whether the driver owes answers."""
        return bool(self._flight)

    @property
    def _careful(self) -> bool:
        """Whether a question that the driver owed at its death is under way."""
        return any(_key(request) in self._struck for request in self._flight.values())

    def _read(self, message: dict[str, Any]) -> Answered:
        """The answer in a message. Raises Broken if nobody asked for it, UserError after many without one."""
        number = message.get("id")
        request = self._flight.pop(number, None) if type(number) is int else None  # not a bool
        if request is None or not isinstance(number, int):
            raise Broken(f"it answers {number!r:.40}, which it was not asked or has answered")
        answer, flags = protocol.answer(message, request)
        self._engine.done(number, request)
        self._deaths = 0
        again = isinstance(answer, Refusal) and answer.transient
        self._unanswered = self._unanswered + 1 if again else 0
        self._engine.count(not isinstance(answer, Refusal))
        if again and self._unanswered >= ENOUGH:
            assert isinstance(answer, Refusal)
            raise self._engine.stop(f"{ENOUGH} questions in a row have no answer ({answer.problem})")
        return Answered(request.question.id, answer, request.decoding, flags)

    def _after(self, death: Died) -> Iterator[Answered]:
        """Starts the driver again. A question that was alone with it at two deaths is refused by name."""
        self._deaths += 1
        owed: Sequence[Request] = list(self._flight.values())
        self._flight.clear()
        if len(owed) == 1 and _key(owed[0]) in self._struck:
            yield Answered(owed[0].question.id, self._engine.deadly(owed[0], death), owed[0].decoding)
            owed = []
        self._struck.update(map(_key, owed))
        self._owed.extendleft(reversed(owed))
        if self._deaths >= DEATHS:
            raise self._engine.stop(f"it ended {DEATHS} times in a row without an answer; {death}")
        self._engine.restart()


def _key(request: Request) -> tuple[str, Any]:
    return request.question.id, request.decoding
