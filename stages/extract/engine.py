"""What an engine gives to `extract`. An engine is a file stages/extract/engines/NAME.py that defines

REVISION: int
    raised by hand when the same question may get another answer; answers of another revision are
    not used again
def load(pin: Pin, config: Config) -> Engine
    the pinned model, checked and ready to answer; heavy imports happen in here, so that a run whose
    answers are all known never pays for them
"""

import importlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from stages.contracts.pins import Pin
from stages.extract.config import Config
from stages.runtime.errors import UserError, did_you_mean

if TYPE_CHECKING:
    from PIL.Image import Image

ENGINES = Path(__file__).parent / "engines"


@dataclass(frozen=True)
class Question:
    """One prompt with its pictures rendered. id: of the prompt, for messages; it changes no answer."""

    id: str
    system: str | None
    text: str
    marks: Sequence[str]
    pictures: Sequence["Image"] = ()


@dataclass(frozen=True)
class LetterAnswer:
    """What a model gives to the marks of a question. logits: one per mark; entropy in nats."""

    logits: Sequence[float]
    letter_mass: float
    entropy: float
    flags: Sequence[str] = field(default_factory=tuple)


class Engine(Protocol):
    """A loaded model. notes: facts for the side-car, complete once the answers are consumed."""

    device: str
    notes: dict[str, Any]

    def letters(self, questions: Iterable[Question]) -> Iterator[tuple[str, LetterAnswer]]:
        """(id, answer) for every question, in any order. Raises UserError naming a prompt that fails."""
        ...


class EngineFile(Protocol):
    """The module of an engine."""

    REVISION: int

    def load(self, pin: Pin, config: Config) -> Engine:
        """See the head of this file."""
        ...


def engine_file(name: str) -> EngineFile:
    """The module of an engine, without its heavy imports. Raises UserError with the valid names."""
    names = sorted(path.stem for path in ENGINES.glob("*.py") if path.stem != "__init__")
    if name not in names:
        raise UserError(f"models.lock: engine {name} is unknown; {did_you_mean(name, names)}")
    return cast(EngineFile, importlib.import_module(f"stages.extract.engines.{name}"))
