"""What asks a model for texts. An engine is a file vouch/prompts/asking/engines/NAME.py that defines

REVISION: int
    raised by hand when the same prompt may get another reply
def load(pin: Pin, settings: Settings) -> Engine
    ready to ask; heavy imports happen in here

Replies are remembered by what was asked (cached.py), so a finished one is never asked again.
"""

import importlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

from vouch.pipeline.errors import UserError, did_you_mean
from vouch.tables.pins import Pin

ENGINES = Path(__file__).parent / "engines"


class Settings(Protocol):
    """How a model is asked. where: the parameter that holds the others, for messages."""

    @property
    def where(self) -> str:
        """See above."""
        ...

    @property
    def device(self) -> str:
        """auto | cpu | cuda | split."""
        ...

    @property
    def threads(self) -> int:
        """Of the processor."""
        ...

    @property
    def max_tokens(self) -> int:
        """Most tokens of a reply."""
        ...


class Asked(Protocol):
    """One thing to ask; hashable, and `str` names it in a message."""

    @property
    def prompt(self) -> str:
        """The whole text that the model gets."""
        ...

    @property
    def start_is_enough(self) -> bool:
        """Whether a reply that max_tokens cuts short is one."""
        ...

    def read(self, said: str) -> str:
        """What is kept of a reply."""
        ...


T = TypeVar("T")
A = TypeVar("A", bound=Asked)


@dataclass(frozen=True)
class Text:
    """A prompt as it stands; see Asked."""

    prompt: str
    start_is_enough: bool = False

    def __str__(self) -> str:
        return ascii(self.prompt[:80])

    def read(self, said: str) -> str:
        """The whole reply."""
        return said.strip()


@dataclass(frozen=True)
class Reply:
    """What a model wrote, or None and why it is none. transient: a trouble of this run, worth another."""

    text: str | None
    reason: str = ""
    transient: bool = False


class Engine(Protocol[T]):
    """Something that replies. notes: measures for the run record."""

    @property
    def notes(self) -> Mapping[str, Any]:
        """See above."""
        ...

    def ask(self, asked: Sequence[T]) -> Iterator[tuple[T, Reply]]:
        """A reply to each, in any order. Raises UserError for what would fail every one."""
        ...


class EngineFile(Protocol):
    """The module of an engine."""

    REVISION: int

    def load(self, pin: Pin, settings: Settings) -> Engine[Any]:
        """See the head of this file."""
        ...


def engine_file(name: str) -> EngineFile:
    """The module of an engine, without its heavy imports. Raises UserError with the valid names."""
    names = sorted(path.stem for path in ENGINES.glob("*.py") if path.stem != "__init__")
    if name not in names:
        raise UserError(f"models.lock: engine {name} does not write; {did_you_mean(name, names)}")
    return cast(EngineFile, importlib.import_module(f"vouch.prompts.asking.engines.{name}"))


def too_long(settings: Settings) -> Reply:
    """For a reply that is no reply, as its end is missing."""
    return Reply(None, f"the answer is longer than {settings.where}.max_tokens")
