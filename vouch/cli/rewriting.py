"""The rewrites that a profile needs, counted before they are made.

`vouch plan` prints the most that a model will be asked for, or how many of them the rules can write.
Questions are known if `prepare` has read them, or if they are lines of a file of one's own (ahead.py).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from vouch.cli.printing import Column, paragraphs, table, wrapped
from vouch.params.project import Project
from vouch.prompts.asking import Reply
from vouch.prompts.rewrites.engines.rules import Rules
from vouch.prompts.rewrites.table import (
    RewriteTask,
    clean_tasks,
    cleaned,
    decisions_path,
    kinds_of,
    needs_proposal,
    read_decisions,
    rows_of,
    variation_tasks,
)
from vouch.tables.asked import CLEAN, REJECTED

TRIED = 500  # questions of a dataset that the rules are tried on if there are more than are all rewritten
Row = Mapping[str, Any]


class Rewriting(NamedTuple):
    """The rewrites of a dataset, by kind.

    questions: how many different ones there are. asked: rewrites that are needed; of a model, those that
    nobody has decided. written: of the same, those that the rules can write and that pass every check; None
    if a model writes them, or if the questions are not known. bound: empty if the numbers are exact, `about`
    if some of the questions stand for all, else `at most`. each: whether every item counts as a question of
    its own.
    """

    questions: int
    asked: Mapping[str, int]
    written: Mapping[str, int] | None = None
    bound: str = ""
    each: bool = False

    def cell(self, kind: str) -> str:
        """How many of a kind the rules can write, for a person: of all questions, if not of fewer."""
        if self.written is None or kind not in self.asked:
            return ""
        fewer = f"/{self.asked[kind]}" if self.asked[kind] != self.questions else ""
        return f"{'~' if self.bound else ''}{self.written[kind]}{fewer}"


def wanted(project: Project, name: str) -> list[str]:
    """The kinds that a dataset needs."""
    variations = project.datasets[name].variations or project.variations
    return [CLEAN] * (name in project.rewrite.clean) + kinds_of(variations)


def unread(project: Project, name: str, most: int, each: bool) -> Rewriting:
    """Of a dataset whose questions are not known. most, each: as in Rewriting."""
    return Rewriting(most, dict.fromkeys(wanted(project, name), most), bound="at most", each=each)


def by_rules(project: Project, name: str, questions: Mapping[str, bool]) -> list[Row]:
    """The rows that `rewrite` will write with the rules. questions: as `distinct` gives them.

    Raises UserError for wrong decisions.
    """
    decided = {one.task: one for one in read_decisions(decisions_path(name))}
    kinds = [kind for kind in wanted(project, name) if kind != CLEAN]

    def propose(tasks: Sequence[RewriteTask]) -> Mapping[RewriteTask, Reply]:
        return dict(Rules().ask(tasks))

    tasks = clean_tasks(questions, name in project.rewrite.clean, decided)
    rows = rows_of(tasks, decided, propose, "rules")
    return rows + rows_of(variation_tasks(cleaned(questions, rows), kinds), decided, propose, "rules")


def of_rows(questions: int, rows: Iterable[Row]) -> Rewriting:
    """Of rows that the rules wrote."""
    rows = list(rows)
    asked = Counter(row["kind"] for row in rows)
    fine = Counter(row["kind"] for row in rows if row["status"] != REJECTED and row["rewrite"] is not None)
    return Rewriting(questions, asked, {kind: fine[kind] for kind in asked})


def of_questions(project: Project, name: str, questions: Mapping[str, bool]) -> Rewriting:
    """Of questions that are known: every one is counted; the rules are tried on TRIED of them at most.

    Raises UserError for wrong decisions.
    """
    count = len(questions)
    if project.rewrite.model is None:
        step = -(-count // TRIED) or 1
        tried = dict(list(questions.items())[::step])
        found = of_rows(count, by_rules(project, name, tried))
        if step == 1:
            return found
        asked, written = (
            {kind: round(number * count / len(tried)) for kind, number in numbers.items()}
            for numbers in (found.asked, found.written or {})
        )
        return Rewriting(count, asked, written, "about")
    decided = {one.task: one for one in read_decisions(decisions_path(name))}
    kinds = [kind for kind in wanted(project, name) if kind != CLEAN]
    tasks = clean_tasks(questions, name in project.rewrite.clean, decided) + variation_tasks(questions, kinds)
    return Rewriting(count, Counter(task.kind for task in tasks if needs_proposal(decided.get(task))))


def in_words(project: Project, rewritings: Mapping[str, Rewriting]) -> str:
    """What a model will be asked for, or what the rules can write; empty if nothing is rewritten.

    rewritings: by dataset.
    """
    needed = {name: one for name, one in rewritings.items() if one.asked}
    if model := project.rewrite.model:
        count = sum(sum(one.asked.values()) for one in needed.values())
        line = f"at most {count} rewrites to ask of {model}, one a distinct question and kind"
        each = [name for name, one in needed.items() if one.each]
        known = f"; until `prepare` has read them, each item counts as one question: {', '.join(each)}"
        return wrapped(line + (known if each else "")) if count else ""
    unknown = [name for name, one in needed.items() if one.written is None]
    measured = {name: one for name, one in needed.items() if one.written is not None}
    kinds = list(dict.fromkeys(kind for one in measured.values() for kind in one.asked))
    columns = [
        Column("rewrites by rules", cut=True),
        Column("questions", right=True),
        *(Column(kind, right=True) for kind in kinds),
    ]
    rows = [[name, str(one.questions), *map(one.cell, kinds)] for name, one in measured.items()]
    notes = [
        "of distinct questions, those that the rules can rewrite; the others get no prompt (docs/rewrites.md)"
    ]
    notes += [f"~: estimated from at most {TRIED} of the questions"] * any(
        one.bound for one in measured.values()
    )
    text = table(columns, rows) + paragraphs(notes) if rows else ""
    later = f"how many rewrites the rules can write is known once `prepare` has run: {', '.join(unknown)}"
    return text + (wrapped(later) if unknown else "")


def for_programs(rewritings: Mapping[str, Rewriting]) -> list[dict[str, Any]]:
    """The same for JSON, a row for each dataset and kind."""
    return [
        {
            "dataset": name,
            "kind": kind,
            "questions": one.questions,
            "rewrites": number,
            "written": None if one.written is None else one.written[kind],
            "bound": one.bound or "exact",
        }
        for name, one in rewritings.items()
        for kind, number in one.asked.items()
    ]
