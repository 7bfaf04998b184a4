"""Inspect the pipeline's results, and make the decisions that need a person."""

import argparse
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from vouch.cli.command import argument, command, one_of, path_argument
from vouch.cli.printing import plain
from vouch.datasets.built_choices import COLUMNS as OPTION_COLUMNS
from vouch.datasets.built_choices import FILE, WRONG, OpenQuestion, is_yes_no, read_written
from vouch.datasets.fetch.origin import REMOTE
from vouch.datasets.options import key
from vouch.judge.answers import OF_OPEN, OF_PROMPTS, OF_TEXTS, choice_answers, open_answers
from vouch.judge.prompts import bounded
from vouch.metrics.text.judge import Answer, ChoiceAnswer, drawn, drawn_order
from vouch.params.check import check_project
from vouch.params.project import Project
from vouch.pipeline.errors import UserError, check_name
from vouch.pipeline.files import write_text
from vouch.pipeline.records import intact
from vouch.prompts.asking import CachedModel, PlainText, Responder
from vouch.tables.answered import JUDGED, TEXT, judged_path, pin_path, read_pin, text_path
from vouch.tables.asked import ITEMS, ORIGINAL, PROMPTS, items_path, prompts_path
from vouch.tables.decisions import Decided, csv_text, judgements_path, judgements_text, read_judgements


def project_with(dataset: str) -> Project:
    """The project, after its checks. Raises UserError if it has no such dataset."""
    project = check_project()
    check_name("dataset", dataset, list(project.datasets))
    return project


def check_source(path: Path) -> None:
    """Raises UserError if the file of decisions to import does not exist."""
    if not path.is_file():
        raise UserError(f"{path}: no such file; write it with --export")


Shown = Mapping[str, Mapping[str, str]]
"""The texts about each answer that a person sees, by the answer's key, in the order of the sample."""


@command(
    "review judge",
    "decide yourself which judged answers are correct",
    argument("dataset", names="datasets", help="a dataset of params.yaml"),
    one_of(
        path_argument("--export", metavar="FILE", help="write the answers as CSV, to decide in"),
        path_argument("--import", dest="decided", metavar="FILE", help="take over its decisions"),
    ),
)
def run_judge(options: argparse.Namespace) -> int:
    """Decide yourself which judged answers are correct, to measure how well the judge agrees with people.

    Without an option it counts judged, sampled and decided answers. With --export the answers to a sample of
    the questions (`score.judge.sample` per model, chosen by a digest) become a CSV file with a column
    `decision` to fill in: correct or incorrect. The file shows neither the judge's verdict nor the model.
    With --import it goes into decisions/judgements, which the next run scores. Decide in the order of the
    file, as far as you get.

    Examples:
      vouch review judge shapes_text --export review.csv
      vouch review judge shapes_text --import review.csv
    """
    name = options.dataset
    project = project_with(name)
    judged = set(JUDGED.read(intact(judged_path(name)), ("key",))["key"].to_pylist())
    if not judged:
        raise UserError(f"{judged_path(name)}: has no verdict; {_remedy(project)}")
    shown = to_decide(project, name, judged)
    path = judgements_path(name)
    decided = read_judgements(path)
    if options.decided:
        return _import_judgements(options.decided, path, shown, decided)
    if options.export:
        if options.export.exists():
            raise UserError(f"{options.export}: exists already; --import its decisions, then remove it")
        write_text(options.export, judgements_text(exported_answers(shown, decided)))
        print(f"judge: {len(shown)} answers in {options.export}; fill in `decision`, then --import it")
        return 0
    done = len(decided.keys() & shown.keys())
    print(f"judge: {len(judged)} answers judged, {len(shown)} sampled for people, {done} of them decided")
    first = next((index for index, name in enumerate(shown) if name not in decided), done)
    if first < done:
        print(
            f"judge: answer {list(shown)[first]:.12} is the first without a decision; later decisions about "
            "a model that gave it do not count yet"
        )
    if stale := len(decided) - done:
        print(f"judge: {stale} decisions in {path} are about answers outside the sample, and do not count")
    return 0


def _remedy(project: Project) -> str:
    if project.score.judge.model is None:
        return "name a judge in score.judge.model and run `dvc repro`"
    if not project.score.judge.open:
        return "rules decide every answer; set score.judge.open for open questions and run `dvc repro`"
    return "rules decide every answer, and no open question has references and an answer"


def to_decide(project: Project, dataset: str, judged: set[str]) -> Shown:
    """The answers for people to decide: each model's answers to the sampled questions."""
    prompts = PROMPTS.read(intact(prompts_path(dataset)), (*OF_PROMPTS, "answers"))
    items = ITEMS.read(intact(items_path(dataset)), OF_OPEN)
    judge = project.score.judge
    sampled: dict[str, tuple[bytes, dict[str, str]]] = {}
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
            for (item, one), is_sampled in zip(rows, sample, strict=True):
                if is_sampled and one.decision:
                    shows = {
                        "question": one.question,
                        "reference": one.reference,
                        "answer": bounded(one.text),
                    }
                    order = drawn_order(item)
                    if one.decision not in sampled or order < sampled[one.decision][0]:
                        sampled[one.decision] = order, shows
    return {name: shows for name, (_, shows) in sorted(sampled.items(), key=lambda one: (one[1][0], one[0]))}


def exported_answers(shown: Shown, decided: Decided) -> list[dict[str, str]]:
    """The rows of the file to fill in, with the decisions so far."""
    return [{**decided.get(name, {}), "key": name, **shows} for name, shows in shown.items()]


def _import_judgements(source: Path, path: Path, shown: Shown, decided: Decided) -> int:
    """Adds decisions from a file; earlier ones about other answers stay."""
    check_source(source)
    read = read_judgements(source)
    new = {name: row for name, row in read.items() if name in shown and _same(row, shown[name])}
    if not new:
        raise UserError(f"{source}: holds no decision about an answer as it was sampled; export it again")
    for name in sorted(read.keys() & shown.keys() - new.keys()):
        print(f"judge: answer {name:.12}: not taken over, as its question, reference or answer changed")
    if strange := len(read.keys() - shown.keys()):
        print(f"judge: decisions about answers outside the sample, not taken over: {strange}")
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


# Word for word from Li et al. (2023), A.4 and A.8.
INSTRUCTIONS = {
    "vqa": (
        "You are a multiple-choice generator. Given a question and an answer, you need to generate three "
        "additional incorrect options while ensuring their plausibility and confusion. "
        "Question: {question} Answer: {answer}"
    ),
    "rationale": (
        "You are a multiple-choice generator. Given a question and an answer, along with a rationale for "
        "that answer, you need to generate 3 counterfactual rationales. These counterfactual rationales "
        "should be contextually relevant while also being sufficiently distinct from the correct rationale. "
        "Question: {question} Answer: {hint} Rationale: {answer}"
    ),
    "dialogue": (
        "I will provide a question with the correct answer, please give me 3 incorrect options to help me "
        "get a single-choice question. Question: {question} Answer: {answer}"
    ),
}
_LABEL = re.compile(
    r"\s*(?:[-*\u2022]+\s+|\(?(?:[A-Da-d]|[1-9])[).:]\s*|"
    r"(?:(?:incorrect |wrong |counterfactual )?(?:option|rationale)|(?:correct )?answer)\s*[1-9A-D]?\s*"
    r"[:.]\s*)",
    re.IGNORECASE,
)
_QUOTES = "\"'\u201c\u201d\u2018\u2019"
_LEFT = 5  # the most ids to print, of questions that are left to a person


@command(
    "review distract",
    "let the rewriter model write wrong options for open questions",
    argument("dataset", names="datasets", help="a dataset of open questions that lies in a folder"),
    argument("--prompt", choices=sorted(INSTRUCTIONS), default="vqa", help="default: %(default)s"),
)
def run_distract(options: argparse.Namespace) -> int:
    """Let the profile's rewriter model write three wrong options for every open question of a prepared
    dataset.

    They go into wrong-options.csv in the dataset's folder, for a person to read and correct; the scheme
    reform_written then turns them into multiple-choice questions. Lines that are already there are kept, and
    answers are remembered. Questions for which the model's answer cannot be read are left out and counted.

    Examples:
      vouch review distract my_dataset
      vouch review distract my_dataset --prompt rationale
    """
    project = project_with(options.dataset)
    name, model = options.dataset, project.rewrite.model
    if model is None:
        raise UserError("params.yaml: rewrite.rewriter is rules; name the pin of a model that can write")
    if project.datasets[name].source == REMOTE:
        raise UserError(f"datasets.{name} comes from the network; put it into a folder that can hold {FILE}")
    path = Path(project.datasets[name].source) / FILE
    written = read_written(path) if path.is_file() else {}
    asked = {
        row["id"]: (INSTRUCTIONS[options.prompt].format(**row), row["answer"])
        for row in _open_questions(name)
        if row["id"] not in written
    }
    writer: CachedModel[PlainText] = CachedModel(read_pin(intact(pin_path(model))), project.rewrite, name)
    options_of = ask_for_options(writer, asked)
    written |= {key: wrong for key, (wrong, _) in options_of.items() if wrong}
    write_text(path, csv_text(OPTION_COLUMNS, ([name, *wrong] for name, wrong in written.items())))
    print(
        f"distract: {plain(path)}: {len(written)} questions have wrong options; read them before you use them"
    )
    left: dict[str, list[str]] = {}
    for item, (_, reason) in options_of.items():
        if reason:
            left.setdefault(reason, []).append(item)
    for reason, items in left.items():
        print(f"distract: {len(items)} have none, as {reason}: {items[:_LEFT]}")
    return 0


def _open_questions(name: str) -> Iterator[dict[str, str]]:
    """id, question, hint and answer of each open question, without those whose answer is yes or no."""
    columns = ["id", "group", "category", "question", "hint", "references"]
    for batch in ITEMS.open(intact(items_path(name))).iter_batches(columns=columns, use_threads=False):
        for row in batch.to_pylist():
            if row["references"]:  # an open question, even if it was turned into a choice
                answer = row["references"][0]
                if not is_yes_no(
                    OpenQuestion(row["id"], row["group"], row["category"], row["question"], answer)
                ):
                    texts = {"question": row["question"], "hint": row["hint"] or "", "answer": answer}
                    yield {"id": row["id"], **texts}


def ask_for_options(
    engine: Responder[PlainText], asked: Mapping[str, tuple[str, str]]
) -> dict[str, tuple[list[str], str]]:
    """Wrong options by id, and why there are none. asked: prompt and correct answer by id."""
    prompts = [PlainText(text) for text in dict.fromkeys(text for text, _ in asked.values())]
    replies = {one.prompt: reply for one, reply in engine.ask(prompts)} if prompts else {}
    options = {}
    for name, (text, answer) in asked.items():
        wrong = read_options(replies[text].text or "", answer)
        reason = "" if wrong else replies[text].reason or "the reply was not a list of three"
        options[name] = wrong, reason
    return options


def read_options(reply: str, answer: str) -> list[str]:
    """The three wrong options in a model's reply, or none.

    If at least three lines have a label (`1.`, `B)`, `-`), these lines count; otherwise the reply must have
    exactly three lines. Duplicates and the answer itself do not count.
    """
    lines = [line.strip() for line in reply.splitlines() if line.strip() and not line.rstrip().endswith(":")]
    for chosen in ([line for line in lines if _LABEL.match(line)], lines):
        texts = [_LABEL.sub("", line, count=1).strip().strip(_QUOTES) for line in chosen]
        texts_by_key = {key(answer): ""}
        for text in filter(None, texts):
            texts_by_key.setdefault(key(text), text)
        wrong = [text for text in texts_by_key.values() if text]
        if len(wrong) == WRONG or (len(wrong) > WRONG and chosen is not lines):
            return wrong[:WRONG]
    return []
