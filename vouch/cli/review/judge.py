"""Decide yourself which judged answers are correct, so that the judge's agreement with people is known.

Without an option it counts what is judged, drawn and decided. With --export the answers to the questions
that were drawn (by a digest, `score.judge.sample` of each model) become a CSV file with a column `decision`
to fill in: correct or incorrect. It shows neither the judge's verdict nor the model. With --import such a
file goes into decisions/judgements, which the next run scores. Decide in the order of the file, as far as you
get.

Examples:
  vouch review judge shapes_text --export review.csv
  vouch review judge shapes_text --import review.csv
"""

import argparse
from collections.abc import Mapping
from pathlib import Path

from vouch.cli.printing import file_argument
from vouch.cli.review import project_with
from vouch.judge.answers import OF_OPEN, OF_PROMPTS, OF_TEXTS, choice_answers, open_answers
from vouch.judge.prompts import bounded
from vouch.metrics.text.judge import Answer, ChoiceAnswer, drawn, drawn_order
from vouch.params.project import Project
from vouch.pipeline.errors import UserError
from vouch.pipeline.files import write_text
from vouch.pipeline.intact import intact
from vouch.tables.answered import JUDGED, TEXT, judged_path, text_path
from vouch.tables.asked import ITEMS, ORIGINAL, PROMPTS, items_path, prompts_path
from vouch.tables.decisions import Decided, judgements_path, judgements_text, read_judgements

Shown = Mapping[str, Mapping[str, str]]
"""What a person sees of an answer, by its key, in the order in which they were drawn."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `vouch review judge`."""
    parser.add_argument("dataset", help="a dataset of params.yaml")
    files = parser.add_mutually_exclusive_group()
    files.add_argument(
        "--export", type=file_argument, metavar="FILE", help="write the answers as CSV, to decide in"
    )
    files.add_argument(
        "--import", dest="decided", type=file_argument, metavar="FILE", help="take its decisions over"
    )


def run(options: argparse.Namespace) -> int:
    """Counts, exports or imports."""
    name = options.dataset
    project = project_with(name)
    judged = set(JUDGED.read(intact(judged_path(name)), ("key",))["key"].to_pylist())
    if not judged:
        raise UserError(f"{judged_path(name)}: holds no verdict; {_remedy(project)}")
    shown = to_decide(project, name, judged)
    path = judgements_path(name)
    decided = read_judgements(path)
    if options.decided:
        return _import(options.decided, path, shown, decided)
    if options.export:
        if options.export.exists():
            raise UserError(f"{options.export}: is there already; --import its decisions, then remove it")
        write_text(options.export, judgements_text(exported(shown, decided)))
        print(f"judge: {len(shown)} answers in {options.export}; fill in `decision`, then --import it")
        return 0
    done = len(decided.keys() & shown.keys())
    print(f"judge: {len(judged)} answers judged, {len(shown)} drawn for people, {done} of them decided")
    first = next((place for place, name in enumerate(shown) if name not in decided), done)
    if first < done:
        print(
            f"judge: answer {list(shown)[first]:.12} is the first that is undecided; later decisions about a "
            "model that gave it do not count yet"
        )
    if stale := len(decided) - done:
        print(f"judge: {stale} decisions in {path} are about no answer that is drawn, and do not count")
    return 0


def _remedy(project: Project) -> str:
    if project.score.judge.model is None:
        return "name a judge in score.judge.model and run `dvc repro`"
    if not project.score.judge.open:
        return "rules decide every answer; set score.judge.open for open questions and run `dvc repro`"
    return "rules decide every answer, and no open question has references and an answer"


def to_decide(project: Project, dataset: str, judged: set[str]) -> Shown:
    """The answers that people decide on: of each model those to the questions that were drawn."""
    prompts = PROMPTS.read(intact(prompts_path(dataset)), (*OF_PROMPTS, "answers"))
    items = ITEMS.read(intact(items_path(dataset)), OF_OPEN)
    judge = project.score.judge
    found: dict[str, tuple[bytes, dict[str, str]]] = {}
    for model in project.models:
        path = text_path(model, dataset)
        texts = TEXT.read(intact(path), OF_TEXTS)
        choices: list[tuple[str, Answer]] = [
            (prompt["item"], ChoiceAnswer(text, choice, frozenset(prompt["answers"] or ())))
            for prompt, text, choice in choice_answers(texts, prompts, items)
            if prompt["variation"] == ORIGINAL
        ]
        opened = list(open_answers(texts, prompts, items)) if judge.open else []
        for rows in (choices, opened):
            _, sample = drawn([item for item, _ in rows], [one for _, one in rows], judged, judge.sample)
            for (item, one), taken in zip(rows, sample, strict=True):
                if taken and one.decision:
                    shows = {
                        "question": one.question,
                        "reference": one.reference,
                        "answer": bounded(one.text),
                    }
                    order = drawn_order(item)
                    if one.decision not in found or order < found[one.decision][0]:
                        found[one.decision] = order, shows
    return {name: shows for name, (_, shows) in sorted(found.items(), key=lambda one: (one[1][0], one[0]))}


def exported(shown: Shown, decided: Decided) -> list[dict[str, str]]:
    """Rows of the file, with the decisions so far."""
    return [{**decided.get(name, {}), "key": name, **shows} for name, shows in shown.items()]


def _import(source: Path, path: Path, shown: Shown, decided: Decided) -> int:
    """Takes decisions over; those about other answers stay."""
    if not source.is_file():
        raise UserError(f"{source}: no such file; write it with --export")
    read = read_judgements(source)
    new = {name: row for name, row in read.items() if name in shown and _same(row, shown[name])}
    if not new:
        raise UserError(f"{source}: holds no decision about an answer as it was drawn; export it anew")
    for name in sorted(read.keys() & shown.keys() - new.keys()):
        print(f"judge: answer {name:.12}: another question, reference or answer than was exported; not taken")
    if strange := len(read.keys() - shown.keys()):
        print(f"judge: decisions about answers that are not drawn (any more), not taken: {strange}")
    kept = {**decided, **new}
    write_text(path, judgements_text([kept[name] for name in sorted(kept)]))
    changed = sum(
        name in decided and decided[name]["decision"] != row["decision"] for name, row in new.items()
    )
    print(
        f"judge: {len(new)} decisions taken over ({changed} of them changed), {len(kept)} in {path}; "
        "`dvc repro` scores them"
    )
    return 0


def _same(row: Mapping[str, str], shown: Mapping[str, str]) -> bool:
    """Whether a row is about what was shown; a spreadsheet may change spaces and line ends."""
    return all(row[name].split() == text.split() for name, text in shown.items())
