"""Rows of the rewrites table: the rewriter's tasks, the results of the checks, people's decisions.

A `RewriteTask` is a question and a kind of rewrite. instructions/KIND.yaml has the prompt for it: the words
and examples of PARC (Schmalfuss et al. 2025, A7.2 and A7.4).

People's decisions are in decisions/rewrites/DATASET.csv, under version control:

question  the question as the dataset has it (for kinds other than `clean`: as cleaning left it)
kind      one of KINDS
decision  accept: take the rewriter's words, whatever the checks say. reject: make no prompt.
          use: take the words in `text`. drop (only for `clean`): make no prompt at all of this question
text      the words; with `accept` those that were accepted, so that another rewriter changes nothing
by, why   who decided, and the reason; optional
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vouch.pipeline.errors import UserError, did_you_mean
from vouch.prompts.asking import Reply
from vouch.prompts.rewrites.checks import failures, unfit
from vouch.prompts.rewrites.content import instruction
from vouch.tables.asked import ACCEPTED, BY_HAND, CLEAN, ITEMS, KINDS, NEGATIONS, REJECTED
from vouch.tables.decisions import OPTIONAL, csv_text, decided_rows
from vouch.tables.table import per_dataset
from vouch.tables.thoughts import apart


@dataclass(frozen=True)
class RewriteTask:
    """A question to rewrite, and how a model is asked to do it.

    kind: one of vouch.tables.asked.KINDS. in_turns: whether a model gets a conversation, the instruction as
    system message and the examples as earlier turns, or all in one text; the task is the same either way.
    """

    question: str
    kind: str
    in_turns: bool = field(default=False, compare=False)
    start_is_enough = False

    def __str__(self) -> str:
        return f"{self.kind} of {self.question[:80]!a}"

    @property
    def system(self) -> str | None:
        """The instruction; None if `prompt` has it."""
        return instruction(self.kind).head.strip() if self.in_turns else None

    @property
    def turns(self) -> tuple[tuple[str, str], ...]:
        """The examples, as (question, answer); empty if `prompt` has them."""
        examples = instruction(self.kind).examples if self.in_turns else ()
        return tuple((example.q, example.a) for example in examples)

    @property
    def prompt(self) -> str:
        """The text that a model replies to: the question, behind instruction and examples if not in turns."""
        if self.in_turns:
            return self.question
        words = instruction(self.kind)
        lines = [words.head.strip()]
        for example in words.examples:
            lines += [f'Q: "{example.q}"', f'A: "{example.a}"']
        return "\n".join([*lines, f'Q: "{self.question}"', "A:"])

    def read(self, reply: str) -> str:
        """The rewrite in a reply, without the model's thought, and without anything copied from the examples:
        `A:`, quotation marks, and further examples of its own."""
        rewrite = apart(reply).answer.strip().removeprefix("A:").strip().split("\nQ:")[0].strip()
        for first, last in _QUOTES:
            inner = rewrite[1:-1]
            quoted = len(rewrite) > 2 and rewrite[0] == first and rewrite[-1] == last
            if quoted and not {first, last} & set(inner):
                return inner.strip()
        return rewrite


_QUOTES = (('"', '"'), ("“", "”"), ("'", "'"), ("‘", "’"))


decisions_path = per_dataset("decisions/rewrites/{}.csv")
"""The file may be missing."""
NEEDED = ("question", "kind", "decision", "text")
COLUMNS = (*NEEDED, *OPTIONAL)
ACCEPT, REJECT, USE, DROP = "accept", "reject", "use", "drop"
DECISIONS = (ACCEPT, REJECT, USE, DROP)


@dataclass(frozen=True)
class RewriteDecision:
    """One row. where: file and line."""

    task: RewriteTask
    decision: str
    text: str
    by: str
    why: str
    where: str


def _about(row: Mapping[str, str]) -> tuple[RewriteTask, str]:
    task = RewriteTask(row["question"], row["kind"].strip())
    return task, f"{task.kind} of {task.question[:60]!r}"


def read_decisions(path: Path, further: Sequence[str] = ()) -> list[RewriteDecision]:
    """The decisions in a file; rows without a decision are ignored. Raises UserError with file and line.

    further: names of columns that are allowed but not read.
    """
    decisions = []
    for where, row in decided_rows(path, NEEDED, "decision", further, _about):
        kind, decision, text = (row[name].strip() for name in NEEDED[1:])
        for name, value, known in (("kind", kind, KINDS), ("decision", decision, DECISIONS)):
            if value not in known:
                raise UserError(f"{where}: unknown {name} {value}; {did_you_mean(value, list(known))}")
        if decision == USE and not text:
            raise UserError(f"{where}: use needs words in text; write them, or reject")
        if decision == DROP and kind != CLEAN:
            raise UserError(f"{where}: only cleaning drops a question; reject this rewrite instead")
        if decision == USE:
            check_words(row["question"], text, where)
        task = RewriteTask(row["question"], kind)
        decisions.append(RewriteDecision(task, decision, text, row.get("by", ""), row.get("why", ""), where))
    return decisions


def check_words(question: str, text: str, where: str) -> None:
    """Raises UserError if a person's words for a question cannot be asked."""
    problem = unfit(question, text)
    if problem:
        raise UserError(f"{where}: text {problem}; correct it")


def check_known(
    decisions: Iterable[RewriteDecision], questions: Mapping[str, object], kinds: Sequence[str]
) -> None:
    """Raises UserError if a decision of these kinds is about a question that nobody asks."""
    for one in decisions:
        if one.task.kind in kinds and one.task.question not in questions:
            raise UserError(
                f"{one.where}: no question {one.task.question[:80]!r} in this dataset; write it exactly "
                "as the dataset has it (kinds other than clean: as cleaning left it), or remove the line"
            )


def decisions_text(decisions: Iterable[RewriteDecision]) -> str:
    """Decisions as CSV, sorted, so that equal decisions give equal files."""
    ordered = sorted(decisions, key=lambda one: (one.task.question, KINDS.index(one.task.kind)))
    rows = ([one.task.question, one.task.kind, one.decision, one.text, one.by, one.why] for one in ordered)
    return csv_text(COLUMNS, rows)


def distinct(rows: Iterable[Mapping[str, Any]]) -> dict[str, bool]:
    """Distinct questions, in the order of the items -> whether some item asks them with options.

    rows: of the items table, with `question` and `kind`.
    """
    questions: dict[str, bool] = {}
    for row in rows:
        questions[row["question"]] = questions.get(row["question"], False) or row["kind"] == "choice"
    return questions


def read_questions(path: Path) -> dict[str, bool]:
    """The same of an items table. Raises UserError."""
    batches = ITEMS.open(path).iter_batches(columns=["question", "kind"], use_threads=False)
    return distinct(row for batch in batches for row in batch.to_pylist())


HAND = "hand"
Row = Mapping[str, Any]
Propose = Callable[[Sequence[RewriteTask]], Mapping[RewriteTask, Reply]]


def kinds_of(variations: Iterable[str]) -> list[str]:
    """The kinds that variations need, including parts of combinations (`ls_n+vs_s`)."""
    parts = {part for name in variations for part in name.split("+")}
    return [kind for kind in KINDS if kind in parts]


def clean_tasks(
    questions: Iterable[str], all_questions: bool, decided: Collection[RewriteTask]
) -> list[RewriteTask]:
    """Tasks of the kind `clean`: for all questions, or for those that a person decided about."""
    tasks = (RewriteTask(question, CLEAN) for question in questions)
    return [task for task in tasks if all_questions or task in decided]


def variation_tasks(questions: Mapping[str, bool], kinds: Sequence[str]) -> list[RewriteTask]:
    """Tasks of the other kinds. Those that flip the answer are only for questions with options."""
    return [
        RewriteTask(question, kind)
        for question, choice in questions.items()
        for kind in kinds
        if choice or kind not in NEGATIONS
    ]


def cleaned(questions: Mapping[str, bool], rows: Iterable[Row]) -> dict[str, bool]:
    """The questions after people have cleaned them: some are reworded, some dropped.

    questions: question -> whether an item with options asks it.
    """
    changed = {row["original"]: row["rewrite"] for row in rows if row["status"] == BY_HAND}
    left: dict[str, bool] = {}
    for question, choice in questions.items():
        after = changed.get(question, question)
        if after is not None:
            left[after] = left.get(after, False) or choice
    return left


def rows_of(
    tasks: Sequence[RewriteTask],
    decided: Mapping[RewriteTask, RewriteDecision],
    propose: Propose,
    rewriter: str,
) -> list[Row]:
    """A row for each task: what a person decided, or the rewriter's proposal and its checks."""
    proposals = propose([task for task in tasks if needs_proposal(decided.get(task))])
    return [
        _by_hand(decided[task], proposals.get(task), rewriter)
        if task in decided
        else _checked(task, proposals[task], rewriter)
        for task in tasks
    ]


def needs_proposal(decision: RewriteDecision | None) -> bool:
    """Whether the rewriter is asked, given what a person decided about a task."""
    return decision is None or (decision.decision == ACCEPT and not decision.text)


def _checked(task: RewriteTask, proposal: Reply, rewriter: str) -> Row:
    failed = {} if proposal.text is None else failures(task.kind, task.question, proposal.text)
    passed = proposal.text is not None and not failed
    reason = "; ".join(failed.values()) or proposal.reason
    return _row(task, proposal.text, ACCEPTED if passed else REJECTED, list(failed), reason, rewriter)


def _by_hand(decision: RewriteDecision, proposal: Reply | None, rewriter: str) -> Row:
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


def _row(
    task: RewriteTask, text: str | None, status: str, failed: list[str], reason: str, rewriter: str
) -> Row:
    return {
        "original": task.question,
        "kind": task.kind,
        "rewrite": text,
        "status": status,
        "failed": failed,
        "reason": reason,
        "rewriter": rewriter,
    }
