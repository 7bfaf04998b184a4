"""Rules: no model, no network, the same words everywhere. English, and shapes of questions that are plain.

A kind is a file of vouch/prompts/rewrites/rules with `rewrite(text)`, which raises Cannot for what it does not
know: a question without a rewrite is left out, a wrong one would be asked.
"""

import importlib
from collections.abc import Iterator, Sequence
from typing import Any

from vouch.prompts.rewrites.config import Config
from vouch.prompts.rewrites.engine import Engine, Proposal, Task
from vouch.prompts.rewrites.rules.sentence import Cannot
from vouch.tables.pins import Pin

REVISION = 2


class Rules:
    """See vouch/prompts/rewrites/engine.py."""

    def __init__(self) -> None:
        self.notes: dict[str, Any] = {}

    def propose(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, Proposal]]:
        """A proposal for every task, in their order."""
        for task in tasks:
            rule = importlib.import_module(f"vouch.prompts.rewrites.rules.{task.kind}")
            try:
                yield task, Proposal(rule.rewrite(task.question))
            except Cannot as why:
                yield task, Proposal(None, f"the rules refuse: {why}")


def load(pin: Pin | None, config: Config) -> Engine:
    """The rules."""
    return Rules()
