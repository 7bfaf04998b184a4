"""judge: `python -m stages.judge DATASET` lets a model read the answers that no rule could decide.

Inputs   data/responses/DATASET, what prompts and items show (never which option is right), the pin of the
         judge; with `score.judge.open` also the references of open questions
Output   data/judged/DATASET.parquet: a row for each distinct answer, in the order of their digests; schema-
         only where no judge is named

Replies are remembered by what was asked, so nothing known is asked again.
"""

from collections import Counter, defaultdict
from pathlib import Path

from vouch.metrics.config import Config
from vouch.metrics.text.judge import (
    OF_ITEMS,
    OF_OPEN,
    OF_PROMPTS,
    OF_TEXTS,
    OpenAnswer,
    answers,
    key,
    open_answers,
    undecided,
)
from vouch.metrics.text.reader.options import Choices
from vouch.params.start import run_stage
from vouch.pipeline.run import Run
from vouch.prompts.asking.engine import CachedModel, Reply, Text
from vouch.prompts.judge import choice, open_answer
from vouch.prompts.judge.quoting import words
from vouch.tables.answered import JUDGED, TEXT, judged_path, pin_path, read_pin
from vouch.tables.asked import ITEMS, PROMPTS, items_path, prompts_path

SUFFIX = ".text.parquet"
_LONGEST_REPLY = 120
Answers = dict[str, tuple[str, Choices] | OpenAnswer]


def to_judge(dataset: str, responses: list[Path], config: Config) -> Answers:
    """By their digests, the distinct answers of all models that the judge reads."""
    prompts = PROMPTS.read(prompts_path(dataset), OF_PROMPTS)
    items = ITEMS.read(items_path(dataset), OF_ITEMS)
    known = ITEMS.read(items_path(dataset), OF_OPEN) if config.judge.open else None
    found: Answers = {}
    for path in responses:
        texts = TEXT.read(path, OF_TEXTS)
        for _, text, choices in answers(texts, prompts, items):
            if undecided(text, choices, config.parsers):
                found[key(text, choices)] = text, choices
        if known is not None:
            found |= {one.key: one for _, one in open_answers(texts, prompts, known) if one.key}
    return dict(sorted(found.items()))


def prompt(answer: tuple[str, Choices] | OpenAnswer) -> str:
    """The prompt."""
    return open_answer.prompt(answer) if isinstance(answer, OpenAnswer) else choice.prompt(*answer)


def found_in(reply: str | None, answer: tuple[str, Choices] | OpenAnswer) -> dict[str, str | int | None]:
    """Columns of the verdict."""
    if isinstance(answer, OpenAnswer):
        return {"verdict": open_answer.verdict(reply), "place": None}
    reading = choice.verdict(reply, answer[1])
    return {"verdict": reading.verdict, "place": next(iter(reading.places), None)}


def main(run: Run) -> None:
    """Asks and writes."""
    (dataset,) = run.keys
    config = Config.model_validate(run.params["score"])
    if config.judge.model is None:
        JUDGED.write(judged_path(dataset), [])
        return
    asked = to_judge(dataset, [path for path in run.inputs if path.name.endswith(SUFFIX)], config)
    prompts = defaultdict[Text, list[str]](list)
    for name, answer in asked.items():
        prompts[Text(prompt(answer), start_is_enough=True)].append(name)
    judge: CachedModel[Text] = CachedModel(read_pin(pin_path(config.judge.model)), config.judge, dataset)
    replies: dict[str, Reply] = {}
    for one, said in run.progress(judge.ask(list(prompts)), len(prompts), f"judge {dataset}"):
        replies |= dict.fromkeys(prompts[one], said)
    rows = []
    for name, answer in asked.items():
        said = replies[name]
        kind = open_answer.WORDS if isinstance(answer, OpenAnswer) else choice.WORDS
        row = {"key": name, **found_in(said.text, answer)}
        row["reply"] = " ".join((said.text or said.reason).split())[:_LONGEST_REPLY]
        rows.append(row | {"judge": f"{judge.name} prompt {words(kind).version}"})
    JUDGED.write(judged_path(dataset), rows)
    run.note(
        "judge", f"{judge.name} prompt {words(choice.WORDS).version}, open {words(open_answer.WORDS).version}"
    )
    run.note("verdicts", dict(sorted(Counter(row["verdict"] for row in rows).items())))
    run.measure("judge", judge.notes)


if __name__ == "__main__":
    run_stage("judge", main)
