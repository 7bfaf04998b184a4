"""What models wrote, found again by what was asked, in the work cache of `extract`.

A key covers the model's pin, the engine's REVISION, the whole text that the model got and the most
tokens of a rewrite. A killed run loses little, and another decision, check or variation asks nothing anew.
"""

import hashlib
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import pyarrow as pa

from vouch.models.requests.work_cache import ROOT, WorkCache
from vouch.pipeline.errors import UserError
from vouch.pipeline.files import canonical_json
from vouch.prompts.rewrites.config import Config
from vouch.prompts.rewrites.engine import Engine, Proposal, Task, engine_file
from vouch.prompts.rewrites.instruction import prompt
from vouch.tables.pins import Pin

LISTED = 20  # questions without an answer that are named one by one
_FIELDS = pa.schema([("text", pa.string()), ("reason", pa.string())])


class Remembered:
    """A pinned model as an Engine that asks only what is unknown; it is loaded when first needed.

    asked: how many tasks the model answered.
    """

    def __init__(self, pin: Pin, config: Config, dataset: str) -> None:
        self._pin, self._config, self._file = pin, config, engine_file(pin.engine)
        self.name = f"{pin.engine}/{self._file.REVISION} {pin.model} {pin.digest[:12]}"
        folder = ROOT / "rewrite-1" / f"{pin.engine}-{self._file.REVISION}" / pin.digest[:16] / dataset
        self._cache = WorkCache(folder, _FIELDS)
        self._engine: Engine | None = None
        self.asked = 0

    @property
    def notes(self) -> dict[str, Any]:
        """Measures for the run record."""
        return {"asked": self.asked, **(self._engine.notes if self._engine else {})}

    def propose(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, Proposal]]:
        """What is known first, then what the model writes, as it comes; see vouch/prompts/rewrites/engine.py.

        Raises UserError where a task got no answer.
        """
        keys = {task: self._key(task) for task in tasks}
        with self._cache.claim():
            self._cache.look_up(set(keys.values()))
            known = [task for task in tasks if keys[task] in self._cache]
            unknown = [task for task in tasks if keys[task] not in self._cache]
            answers = self._cache.fetch([keys[task] for task in known])
            for task, answer in zip(known, answers, strict=True):
                yield task, Proposal(answer["text"], answer["reason"])
            if unknown:
                yield from self._ask(unknown, keys)

    def _ask(self, tasks: Sequence[Task], keys: dict[Task, bytes]) -> Iterator[tuple[Task, Proposal]]:
        self._engine = self._engine or self._file.load(self._pin, self._config)
        left = dict.fromkeys(tasks, "not asked any more")
        try:
            for task, proposal in self._engine.propose(tasks):
                if proposal.transient:
                    left[task] = proposal.reason
                else:
                    del left[task]
                    self.asked += 1
                    self._cache.add(keys[task], {"text": proposal.text, "reason": proposal.reason})
                    yield task, proposal
        except UserError as error:
            _list(left)
            raise UserError(
                f"{error} ({len(tasks) - len(left)} of {len(tasks)} are there and kept)"
            ) from None
        finally:
            self._cache.flush()
        if left:
            _list(left)
            raise UserError(
                f"{self._pin.model}: no answer to {len(left)} of {len(tasks)} questions "
                f"({next(iter(left.values()))}); run the stage again, the others are kept"
            )

    def _key(self, task: Task) -> bytes:
        asked = {
            "pin": self._pin.digest,
            "engine": f"{self._pin.engine}/{self._file.REVISION}",
            "max_tokens": self._config.max_tokens,
            "prompt": prompt(task),
        }
        return hashlib.sha256(canonical_json(asked).encode()).digest()


def _list(left: dict[Task, str]) -> None:
    """Names what has no answer, on stderr, a line each."""
    for task, reason in islice(left.items(), LISTED):
        print(f"unanswered: {task.kind} of {task.question[:80]!a}: {reason}", file=sys.stderr)
    if len(left) > LISTED:
        print(f"unanswered: and {len(left) - LISTED} more", file=sys.stderr)
