"""Asks a pinned model for texts: rewrites, verdicts of a judge, wrong answers.

An engine is a file NAME.py of this folder that defines

REVISION: int
    raised by hand when the same prompt may get another reply
def load(pin: Pin, settings: Settings) -> Engine
    an engine that is ready to ask; heavy imports belong in here

`CachedModel` keeps replies in the work cache of `extract`, so nothing is asked twice: not after a killed run,
nor after another decision, check or variation. The key of a reply covers the model's pin, the engine's
REVISION, the whole prompt and the most tokens of a reply."""

import hashlib
import importlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar, cast

import pyarrow as pa

from vouch.models.work_cache import ROOT, WorkCache
from vouch.pipeline.errors import UserError, did_you_mean
from vouch.pipeline.files import canonical_json
from vouch.tables.answered import Pin

ENGINES = Path(__file__).parent


class ReplySettings(Protocol):
    """How a model is asked. where: the key in params.yaml that has these settings, such as `rewrite`. device:
    auto, cpu, cuda or split. threads: of the processor. max_tokens: of a reply."""

    @property
    def where(self) -> str: ...
    @property
    def device(self) -> str: ...
    @property
    def threads(self) -> int: ...
    @property
    def max_tokens(self) -> int: ...


class Proposal(Protocol):
    """Something to ask. It is hashable, and `str` names it in messages.

    prompt: the text that the model replies to. system, turns: the system message and the (question, answer)
    pairs before it, if any. start_is_enough: whether a reply that max_tokens cuts short can be used."""

    @property
    def prompt(self) -> str: ...
    @property
    def system(self) -> str | None: ...
    @property
    def turns(self) -> Sequence[tuple[str, str]]: ...
    @property
    def start_is_enough(self) -> bool: ...

    def read(self, reply: str) -> str:
        """The part of a reply that is kept."""
        ...


T = TypeVar("T")
A = TypeVar("A", bound=Proposal)


@dataclass(frozen=True)
class PlainText:
    """A prompt whose whole reply is kept."""

    prompt: str
    start_is_enough: bool = False
    system: str | None = None
    turns: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return ascii(self.prompt[:80])

    def read(self, reply: str) -> str:
        """The whole reply."""
        return reply.strip()


@dataclass(frozen=True)
class Reply:
    """A reply, or None and the reason. transient: whether another run may get a reply."""

    text: str | None
    reason: str = ""
    transient: bool = False


class Responder(Protocol[T]):
    """Something that replies. notes: measures for the run record."""

    @property
    def notes(self) -> Mapping[str, Any]: ...

    def ask(self, asked: Sequence[T]) -> Iterator[tuple[T, Reply]]:
        """A reply to each prompt, in any order. Raises UserError if all of them would fail."""
        ...


class EngineFile(Protocol):
    """The module of an engine."""

    REVISION: int

    def load(self, pin: Pin, settings: ReplySettings) -> Responder[Any]: ...


def engine_file(name: str) -> EngineFile:
    """The module of an engine, which loads no heavy libraries yet. Raises UserError with the valid names."""
    names = sorted(path.stem for path in ENGINES.glob("*.py") if path.stem != "__init__")
    if name not in names:
        raise UserError(f"models.lock: engine {name} does not write; {did_you_mean(name, names)}")
    return cast(EngineFile, importlib.import_module(f"vouch.prompts.asking.{name}"))


def too_long(settings: ReplySettings) -> Reply:
    """The `Reply` in place of a text whose end is missing."""
    return Reply(None, f"the answer is longer than {settings.where}.max_tokens")


LISTED = 20  # at most this many questions without a reply are listed one by one
_FIELDS = pa.schema([("text", pa.string()), ("reason", pa.string())])


class CachedModel(Generic[A]):
    """A pinned model as an Engine that remembers its replies. The model is loaded when it is first needed.

    asked: how many prompts it has answered.
    """

    def __init__(self, pin: Pin, settings: ReplySettings, dataset: str) -> None:
        self._pin, self._settings, self._file = pin, settings, engine_file(pin.engine)
        self.name = f"{pin.engine}/{self._file.REVISION} {pin.model} {pin.digest[:12]}"
        folder = ROOT / "rewrite-1" / f"{pin.engine}-{self._file.REVISION}" / pin.digest[:16] / dataset
        self._cache = WorkCache(folder, _FIELDS)
        self._engine: Responder[A] | None = None
        self.asked = 0

    @property
    def notes(self) -> dict[str, Any]:
        """Measures for the run record."""
        return {"asked": self.asked, **(self._engine.notes if self._engine else {})}

    def ask(self, asked: Sequence[A]) -> Iterator[tuple[A, Reply]]:
        """The remembered replies first, then those of the model as they come.

        Raises UserError if something got no reply.
        """
        keys = {one: self._key(one) for one in asked}
        with self._cache.claim():
            self._cache.look_up(set(keys.values()))
            known = [one for one in asked if keys[one] in self._cache]
            unknown = [one for one in asked if keys[one] not in self._cache]
            replies = self._cache.fetch([keys[one] for one in known])
            for one, reply in zip(known, replies, strict=True):
                yield one, Reply(reply["text"], reply["reason"])
            if unknown:
                yield from self._ask(unknown, keys)

    def _ask(self, asked: Sequence[A], keys: dict[A, bytes]) -> Iterator[tuple[A, Reply]]:
        self._engine = self._engine or self._file.load(self._pin, self._settings)
        left = dict.fromkeys(asked, "not asked any more")
        try:
            for one, reply in self._engine.ask(asked):
                if reply.transient:
                    left[one] = reply.reason
                else:
                    del left[one]
                    self.asked += 1
                    self._cache.add(keys[one], {"text": reply.text, "reason": reply.reason})
                    yield one, reply
        except UserError as error:
            _list(left)
            raise UserError(
                f"{error} ({len(asked) - len(left)} of {len(asked)} are there and kept)"
            ) from None
        finally:
            self._cache.flush()
        if left:
            _list(left)
            raise UserError(
                f"{self._pin.model}: no answer to {len(left)} of {len(asked)} questions "
                f"({next(iter(left.values()))}); run the stage again, the others are kept"
            )

    def _key(self, one: A) -> bytes:
        covered = {
            "pin": self._pin.digest,
            "engine": f"{self._pin.engine}/{self._file.REVISION}",
            "max_tokens": self._settings.max_tokens,
            "prompt": one.prompt,
        }
        if one.system or one.turns:
            covered |= {"system": one.system, "turns": one.turns}
        return hashlib.sha256(canonical_json(covered).encode()).digest()


def _list(left: dict[A, str]) -> None:
    """Prints prompts without a reply to stderr, one a line."""
    for one, reason in islice(left.items(), LISTED):
        print(f"unanswered: {one}: {reason}", file=sys.stderr)
    if len(left) > LISTED:
        print(f"unanswered: and {len(left) - LISTED} more", file=sys.stderr)
