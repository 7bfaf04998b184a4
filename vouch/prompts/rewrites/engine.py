"""What an engine gives to `rewrite`. An engine is a file vouch/prompts/rewrites/engines/NAME.py that defines

REVISION: int
    raised by hand when the same question may get another rewrite
def load(pin: Pin | None, config: Config) -> Engine
    ready to write; heavy imports happen in here. pin: None for `rules`, which is no model

Of a model, rewrites are remembered by what was asked (remembered.py), so a finished one is never
asked again; rules are run anew each time.
"""

import importlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, cast

from vouch.pipeline.errors import UserError, did_you_mean
from vouch.prompts.rewrites.config import Config
from vouch.tables.pins import Pin

ENGINES = Path(__file__).parent / "engines"


@dataclass(frozen=True)
class Task:
    """A question to be rewritten. kind: one of vouch.tables.rewrites.KINDS."""

    question: str
    kind: str


@dataclass(frozen=True)
class Proposal:
    """A rewrite, or None and why there is none. transient: a trouble of this run, worth another."""

    text: str | None
    reason: str = ""
    transient: bool = False


class Engine(Protocol):
    """Something that rewrites. notes: measures for the run record."""

    @property
    def notes(self) -> Mapping[str, Any]:
        """See above."""
        ...

    def propose(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, Proposal]]:
        """A proposal for every task, in any order. Raises UserError for what would fail every task."""
        ...


class EngineFile(Protocol):
    """The module of an engine."""

    REVISION: int

    def load(self, pin: Pin | None, config: Config) -> Engine:
        """See the head of this file."""
        ...


def engine_file(name: str) -> EngineFile:
    """The module of an engine, without its heavy imports. Raises UserError with the valid names."""
    names = sorted(path.stem for path in ENGINES.glob("*.py") if path.stem != "__init__")
    if name not in names:
        raise UserError(f"models.lock: engine {name} does not rewrite; {did_you_mean(name, names)}")
    return cast(EngineFile, importlib.import_module(f"vouch.prompts.rewrites.engines.{name}"))
