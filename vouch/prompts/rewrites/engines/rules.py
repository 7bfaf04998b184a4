"""Rules: no model, no network, the same words everywhere. English, and shapes of questions that are plain.

A rule raises Cannot for what it does not know: a question without a rewrite is left out, a wrong one would be
asked.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from vouch.prompts.asking.engine import Reply
from vouch.prompts.rewrites.instruction import Task
from vouch.prompts.rewrites.rules import ls_a, ls_m, ls_n, same
from vouch.prompts.rewrites.rules.questions import Cannot, is_english
from vouch.tables.asked import RULES_ARE_ENGLISH

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
    """An Engine (vouch/prompts/asking/engine.py) that is no model, and remembers nothing."""

    def __init__(self) -> None:
        self.notes: dict[str, Any] = {}

    def ask(self, asked: Sequence[Task]) -> Iterator[tuple[Task, Reply]]:
        """A rewrite for every task, in their order."""
        for task in asked:
            if not is_english(task.question):
                yield task, Reply(None, NOT_ENGLISH)
                continue
            try:
                yield task, Reply(RULES[task.kind](task.question))
            except Cannot as why:
                yield task, Reply(None, f"the rules refuse: {why}")
