"""Rules: no model, no network, the same words everywhere. English, and shapes of questions that are plain.

A rule raises Cannot for what it does not know: a question without a rewrite is left out, a wrong one would be
asked.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from vouch.prompts.rewrites.config import Config
from vouch.prompts.rewrites.engine import Engine, Proposal, Task
from vouch.prompts.rewrites.rules import ls_a, ls_m, ls_n, same
from vouch.prompts.rewrites.rules.language import is_english
from vouch.prompts.rewrites.rules.sentence import Cannot
from vouch.tables.pins import Pin
from vouch.tables.rewrites import RULES_ARE_ENGLISH

REVISION = 3
NOT_ENGLISH = f"the rules refuse: {RULES_ARE_ENGLISH}, and this does not read as English"
RULES: Mapping[str, Callable[[str], str]] = {
    "clean": same.clean,
    "lr_i": same.lr_i,
    "lr_c": same.lr_c,
    "lr_v": same.lr_v,
    "ls_n": ls_n.rewrite,
    "ls_a": ls_a.rewrite,
    "ls_m": ls_m.rewrite,
}


class Rules:
    """See vouch/prompts/rewrites/engine.py."""

    def __init__(self) -> None:
        self.notes: dict[str, Any] = {}

    def propose(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, Proposal]]:
        """A proposal for every task, in their order."""
        for task in tasks:
            if not is_english(task.question):
                yield task, Proposal(None, NOT_ENGLISH)
                continue
            try:
                yield task, Proposal(RULES[task.kind](task.question))
            except Cannot as why:
                yield task, Proposal(None, f"the rules refuse: {why}")


def load(pin: Pin | None, config: Config) -> Engine:
    """The rules."""
    return Rules()
