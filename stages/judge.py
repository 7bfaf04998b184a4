"""judge: `python -m stages.judge DATASET` lets a model read the answers that no rule could decide.

Inputs   data/responses/DATASET, what prompts and items show (never what is right), the pin of the judge
Output   data/judged/DATASET.parquet: a row for each distinct answer, in the order of their digests; schema-
         only where no judge is named

Replies are remembered by what was asked, so nothing known is asked again.
"""

from collections import Counter, defaultdict
from pathlib import Path

from vouch.metrics.config import Config
from vouch.metrics.text.judge import OF_ITEMS, OF_PROMPTS, OF_TEXTS, answers, key, undecided
from vouch.metrics.text.parsers.marks import Choices
from vouch.params.start import run_stage
from vouch.pipeline.stage import Run
from vouch.prompts.asking.cached import CachedModel
from vouch.prompts.asking.engine import Reply, Text
from vouch.prompts.judge.choice import prompt, template, verdict
from vouch.tables.items import ITEMS, items_path
from vouch.tables.judged import JUDGED, judged_path
from vouch.tables.pins import pin_path, read_pin
from vouch.tables.prompts import PROMPTS, prompts_path
from vouch.tables.responses import TEXT

SUFFIX = ".text.parquet"
_LONGEST_REPLY = 120


def to_judge(dataset: str, responses: list[Path], config: Config) -> dict[str, tuple[str, Choices]]:
    """By their digests, the distinct answers of all models that the rules leave undecided."""
    prompts = PROMPTS.read(prompts_path(dataset), OF_PROMPTS)
    items = ITEMS.read(items_path(dataset), OF_ITEMS)
    found = {
        key(text, choices): (text, choices)
        for path in responses
        for text, choices in answers(TEXT.read(path, OF_TEXTS), prompts, items)
        if undecided(text, choices, config.parsers)
    }
    return dict(sorted(found.items()))


def main(run: Run) -> None:
    """Asks and writes."""
    (dataset,) = run.keys
    config = Config.model_validate(run.params["score"])
    if config.judge.model is None:
        JUDGED.write(judged_path(dataset), [])
        return
    asked = to_judge(dataset, [path for path in run.inputs if path.name.endswith(SUFFIX)], config)
    prompts = defaultdict[Text, list[str]](list)
    for name, (text, choices) in asked.items():
        prompts[Text(prompt(text, choices), start_is_enough=True)].append(name)
    judge: CachedModel[Text] = CachedModel(read_pin(pin_path(config.judge.model)), config.judge, dataset)
    replies: dict[str, Reply] = {}
    for one, said in run.progress(judge.ask(list(prompts)), len(prompts), f"judge {dataset}"):
        replies |= dict.fromkeys(prompts[one], said)
    rows = []
    for name, (_, choices) in asked.items():
        said = replies[name]
        reading = verdict(said.text, choices)
        row = {"key": name, "verdict": reading.verdict, "place": next(iter(reading.places), None)}
        row["reply"] = " ".join((said.text or said.reason).split())[:_LONGEST_REPLY]
        rows.append(row | {"judge": f"{judge.name} prompt {template().version}"})
    JUDGED.write(judged_path(dataset), rows)
    run.note("judge", f"{judge.name} prompt {template().version}")
    run.note("verdicts", dict(sorted(Counter(row["verdict"] for row in rows).items())))
    run.measure("judge", judge.notes)


if __name__ == "__main__":
    run_stage("judge", main)
