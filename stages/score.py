"""`python -m stages.score DATASET`: all models' answers to a dataset -> metrics, outcomes, label-free scores.

What the answers of a model came to is remembered: a new model, or a run that was stopped, scores what is new.
"""

from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack
from itertools import repeat
from pathlib import Path

import pyarrow as pa

from vouch.metrics.config import Config
from vouch.metrics.model_scores import Tables, model_scores, silent
from vouch.metrics.tables import UNANSWERED
from vouch.metrics.text.judge import Verdicts
from vouch.params.start import run_stage
from vouch.pipeline.result_cache import ResultCache
from vouch.pipeline.run import Run
from vouch.tables.answered import CORRECT, INCORRECT, JUDGED, RESPONSES, judged_path, pin_path, read_pin
from vouch.tables.asked import ITEMS, LETTERS, PROMPTS, items_path, prompts_path
from vouch.tables.decisions import judgements_path, read_judgements
from vouch.tables.results import LABEL_FREE, METRICS, OUTCOMES, label_free_path, metrics_path, outcomes_path
from vouch.tables.table import Writer, packed, unpacked

SCORED = Path(".vouch/scored")
SUFFIX = ".letters.parquet"
OF_PROMPTS = (
    *("id", "item", "variation", "family", "effect", "options", "order", "marks", "answers", "outputs"),
    "template",
)
OF_ITEMS = ("id", "group", "category", "turns", "flags", "kind", "question", "answers", "references")
TABLES = ((METRICS, metrics_path), (OUTCOMES, outcomes_path), (LABEL_FREE, label_free_path))


def main(run: Run) -> None:
    """Scores every model whose answers the stage depends on, in the order of their names."""
    models = sorted(path.name.removesuffix(SUFFIX) for path in run.inputs if path.name.endswith(SUFFIX))
    scoring = Scoring(run)
    with ExitStack() as files:
        writers = [files.enter_context(table.writer(path(scoring.dataset))) for table, path in TABLES]
        steps = scoring.write(models, writers)
        for _ in run.progress(steps, scoring.parts * len(models), f"score {scoring.dataset}"):
            pass
    scoring.cache.forget_others()
    if scoring.silent:
        run.note(UNANSWERED, scoring.silent)


class Scoring:
    """The scores of one dataset, model by model.

    parts: how many there are of a model: one for each output of a variation, one for what compares them.
    silent: by model, variation and output, how many prompts have no answer.
    """

    def __init__(self, run: Run) -> None:
        (self.dataset,) = run.keys
        self._run, self._config = run, Config.model_validate(run.params["score"])
        self._prompts = PROMPTS.read(prompts_path(self.dataset), OF_PROMPTS)
        self._items = ITEMS.read(items_path(self.dataset), OF_ITEMS)
        self._verdicts = None
        self._decided: list[str] = []
        if self._config.judge.model is not None:
            judge, decided = self._config.judge, read_judgements(judgements_path(self.dataset))
            found = JUDGED.read(judged_path(self.dataset), ("key", "verdict", "place")).to_pylist()
            self._verdicts = Verdicts(
                {row["key"]: row["place"] for row in found},
                {row["key"]: {CORRECT: True, INCORRECT: False}.get(row["verdict"]) for row in found},
                {name: row["decision"] == CORRECT for name, row in decided.items()},
                judge.open,
                judge.sample,
            )
            self._decided = sorted(f"{name} {row['decision']}" for name, row in decided.items())
        asked = self._prompts.select(["variation", "outputs"]).to_pylist()
        # Released answers were asked for nothing here: they have letters.
        self.parts = 1 + len(
            {(row["variation"], each) for row in asked for each in row["outputs"] or [LETTERS]}
        )
        self.cache, self.silent = ResultCache(SCORED / self.dataset), dict[str, int]()

    def write(self, models: Sequence[str], writers: Sequence[Writer]) -> Iterator[None]:
        """Writes rows of TABLES, a step for each part of each model."""
        for model in models:
            tables = yield from self._of(model)
            for writer, table in zip(writers, tables, strict=True):
                writer.table(table)
            self.silent |= silent(tables[0])

    def _of(self, model: str) -> Generator[None, None, Tables]:
        """What is remembered, or found now."""
        answers = [response.path(model, self.dataset) for response in RESPONSES.values()]
        stored = zip(RESPONSES.values(), answers, strict=True)
        answered = any(response.table.read(path, ["prompt"]).num_rows for response, path in stored)
        released = read_pin(pin_path(model)).source.kind == "released" or not answered
        inputs = [path(self.dataset) for path in (prompts_path, items_path, judged_path)]
        name = self._run.rests_on([*inputs, *answers], released, self._decided, self._run.params["score"])
        known, found = self.cache.get(name), list[Tables]()
        if known is not None:
            yield from repeat(None, self.parts)
            return unpacked(known)
        asked = (self._prompts, self._items)
        for part in model_scores(model, self.dataset, *asked, released, self._config, self._verdicts):
            found.append(part)
            yield
        yield from repeat(None, self.parts - len(found))
        tables = [pa.concat_tables(rows) for rows in zip(*found, strict=True)]
        self.cache.put(name, packed(tables))
        return tables


if __name__ == "__main__":
    run_stage("score", main)
