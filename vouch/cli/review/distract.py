"""Let the profile's rewriter model write three wrong options for every open question of a prepared dataset.

They go into wrong-options.csv in the dataset's folder, where a person reads and corrects them; the scheme
reform_written then makes multiple-choice questions of them. Lines that are there already are kept, answers
are remembered, and what a model did not answer in a readable form is left out, and counted.

Examples:
  vouch review distract my_dataset
  vouch review distract my_dataset --prompt rationale
"""

import argparse
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from vouch.cli.printing import plain
from vouch.cli.review import project_with
from vouch.datasets.fetch.origin import REMOTE
from vouch.datasets.options import COLUMNS, FILE, WRONG, Asked, is_yes_no, key, read_written
from vouch.pipeline.errors import UserError
from vouch.pipeline.files import write_text
from vouch.pipeline.intact import intact
from vouch.prompts.asking.engine import CachedModel, Engine, Text
from vouch.tables.answered import pin_path, read_pin
from vouch.tables.asked import ITEMS, items_path
from vouch.tables.decisions import csv_text

# Li et al. (2023), A.4 and A.8, word by word.
PROMPTS = {
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
_MARK = re.compile(
    r"\s*(?:[-*\u2022]+\s+|\(?(?:[A-Da-d]|[1-9])[).:]\s*|"
    r"(?:(?:incorrect |wrong |counterfactual )?(?:option|rationale)|(?:correct )?answer)\s*[1-9A-D]?\s*"
    r"[:.]\s*)",
    re.IGNORECASE,
)
_QUOTES = "\"'\u201c\u201d\u2018\u2019"
_LEFT = 5  # ids shown of what is left to a person


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `vouch review distract`."""
    parser.add_argument("dataset", help="a dataset of open questions that lies in a folder")
    parser.add_argument("--prompt", choices=sorted(PROMPTS), default="vqa", help="default: %(default)s")


def run(options: argparse.Namespace) -> int:
    """Asks, and writes the file."""
    project = project_with(options.dataset)
    name, model = options.dataset, project.rewrite.model
    if model is None:
        raise UserError(
            "params.yaml: rewrite.rewriter is rules; name the pin of a model there that can write"
        )
    if project.datasets[name].source == REMOTE:
        raise UserError(f"datasets.{name} is fetched; put it into a folder that can hold {FILE}")
    path = Path(project.datasets[name].source) / FILE
    written = read_written(path) if path.is_file() else {}
    asked = {
        row["id"]: (PROMPTS[options.prompt].format(**row), row["answer"])
        for row in _open_questions(name)
        if row["id"] not in written
    }
    writer: CachedModel[Text] = CachedModel(read_pin(intact(pin_path(model))), project.rewrite, name)
    found = ask(writer, asked)
    written |= {key: wrong for key, wrong in found.items() if wrong}
    write_text(path, csv_text(COLUMNS, ([name, *wrong] for name, wrong in written.items())))
    print(
        f"distract: {plain(path)}: {len(written)} questions have wrong options; read them before you use them"
    )
    if left := [key for key, wrong in found.items() if not wrong]:
        print(f"distract: {len(left)} have none, what the model said is no list of three: {left[:_LEFT]}")
    return 0


def _open_questions(name: str) -> Iterator[dict[str, str]]:
    """id, question, hint and answer of the open questions that are not answered by yes or no."""
    columns = ["id", "group", "category", "question", "hint", "references"]
    for batch in ITEMS.open(intact(items_path(name))).iter_batches(columns=columns, use_threads=False):
        for row in batch.to_pylist():
            if row["references"]:  # an open question, also one that became a choice
                answer = row["references"][0]
                if not is_yes_no(Asked(row["id"], row["group"], row["category"], row["question"], answer)):
                    told = {"question": row["question"], "hint": row["hint"] or "", "answer": answer}
                    yield {"id": row["id"], **told}


def ask(engine: Engine[Text], asked: Mapping[str, tuple[str, str]]) -> dict[str, list[str]]:
    """Wrong options by id, none where an answer cannot be read. asked: prompt and right answer by id."""
    prompts = [Text(text) for text in dict.fromkeys(text for text, _ in asked.values())]
    said = {one.prompt: reply.text for one, reply in engine.ask(prompts)} if prompts else {}
    return {name: read_options(said[text] or "", answer) for name, (text, answer) in asked.items()}


def read_options(said: str, answer: str) -> list[str]:
    """The three wrong options in what a model wrote, a line each, or none.

    Lines with a mark (`1.`, `B)`, `-`) are taken where there are three at least, else all of exactly three;
    repeated ones and the answer itself do not count.
    """
    lines = [line.strip() for line in said.splitlines() if line.strip() and not line.rstrip().endswith(":")]
    for chosen in ([line for line in lines if _MARK.match(line)], lines):
        texts = [_MARK.sub("", line, count=1).strip().strip(_QUOTES) for line in chosen]
        known = {key(answer): ""}
        for text in filter(None, texts):
            known.setdefault(key(text), text)
        wrong = [text for text in known.values() if text]
        if len(wrong) == WRONG or (len(wrong) > WRONG and chosen is not lines):
            return wrong[:WRONG]
    return []
