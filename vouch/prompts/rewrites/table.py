"""Rows of the rewrites table: what the rewriter proposes, what checks say, what people decide. No disk."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from vouch.pipeline.errors import UserError
from vouch.prompts.asking.engine import Reply
from vouch.prompts.rewrites.checks import failures
from vouch.prompts.rewrites.decisions import ACCEPT, DROP, REJECT, Decision
from vouch.prompts.rewrites.instruction import Task
from vouch.tables.rewrites import ACCEPTED, BY_HAND, CLEAN, KINDS, NEGATIONS, REJECTED

HAND = "hand"
Row = Mapping[str, Any]
Propose = Callable[[Sequence[Task]], Mapping[Task, Reply]]


def kinds_of(variations: Iterable[str]) -> list[str]:
    """The kinds that some variations need; a combination names its parts, `ls_n+vs_s`."""
    parts = {part for name in variations for part in name.split("+")}
    return [kind for kind in KINDS if kind in parts]


def clean_rows(
    questions: Iterable[str],
    everything: bool,
    decided: Mapping[Task, Decision],
    propose: Propose,
    rewriter: str,
) -> list[Row]:
    """Rows of the kind `clean`: of every question, or of those that a person decided about."""
    tasks = [Task(question, CLEAN) for question in questions]
    return _rows([task for task in tasks if everything or task in decided], decided, propose, rewriter)


def cleaned(questions: Mapping[str, bool], rows: Iterable[Row]) -> dict[str, bool]:
    """The questions as decided cleaning leaves them: others words for some, some dropped.

    questions: whether an item with options asks it.
    """
    changed = {row["original"]: row["rewrite"] for row in rows if row["status"] == BY_HAND}
    left: dict[str, bool] = {}
    for question, choice in questions.items():
        now = changed.get(question, question)
        if now is not None:
            left[now] = left.get(now, False) or choice
    return left


def variation_rows(
    questions: Mapping[str, bool],
    kinds: Sequence[str],
    decided: Mapping[Task, Decision],
    propose: Propose,
    rewriter: str,
) -> list[Row]:
    """Rows of the other kinds. What flips the answer is made for questions with options alone."""
    tasks = [
        Task(question, kind)
        for question, choice in questions.items()
        for kind in kinds
        if choice or kind not in NEGATIONS
    ]
    return _rows(tasks, decided, propose, rewriter)


def _rows(
    tasks: Sequence[Task], decided: Mapping[Task, Decision], propose: Propose, rewriter: str
) -> list[Row]:
    proposals = propose([task for task in tasks if _open(decided.get(task))])
    return [
        _by_hand(decided[task], proposals.get(task), rewriter)
        if task in decided
        else _checked(task, proposals[task], rewriter)
        for task in tasks
    ]


def _open(decision: Decision | None) -> bool:
    """Whether the rewriter's words are needed."""
    return decision is None or (decision.decision == ACCEPT and not decision.text)


def _checked(task: Task, proposal: Reply, rewriter: str) -> Row:
    failed = {} if proposal.text is None else failures(task.kind, task.question, proposal.text)
    good = proposal.text is not None and not failed
    reason = "; ".join(failed.values()) or proposal.reason
    return _row(task, proposal.text, ACCEPTED if good else REJECTED, list(failed), reason, rewriter)


def _by_hand(decision: Decision, proposal: Reply | None, rewriter: str) -> Row:
    task, why = decision.task, decision.why
    if decision.decision == REJECT:
        return _row(task, decision.text or None, REJECTED, [], why or "rejected by hand", HAND)
    if decision.decision == DROP:
        return _row(task, None, BY_HAND, [], why or "dropped by hand", HAND)
    if decision.text:
        return _row(task, decision.text, BY_HAND, [], why, HAND)
    if proposal is None or proposal.text is None:
        reason = proposal.reason if proposal else "nothing was proposed"
        raise UserError(f"{decision.where}: nothing to accept ({reason}); write use and the words in text")
    return _row(task, proposal.text, BY_HAND, [], why, rewriter)


def _row(task: Task, text: str | None, status: str, failed: list[str], reason: str, rewriter: str) -> Row:
    return {
        "original": task.question,
        "kind": task.kind,
        "rewrite": text,
        "status": status,
        "failed": failed,
        "reason": reason,
        "rewriter": rewriter,
    }
