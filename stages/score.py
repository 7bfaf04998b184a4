"""`python -m stages.score DATASET`: all models' answers to a dataset -> metrics, outcomes, label-free scores.

What the answers of a model came to is remembered: a new model, or a run that was stopped, scores what is new.
"""

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import repeat
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from vouch.metrics.config import Config
from vouch.metrics.join import join
from vouch.metrics.likelihood import likelihood_blocks
from vouch.metrics.protocols import FAITHFUL
from vouch.metrics.ranking.label_free import option_scores, text_scores
from vouch.metrics.robustness.compared import Compared
from vouch.metrics.tables import ALL, UNANSWERED, score_block
from vouch.metrics.text.scoring import score_texts
from vouch.metrics.text.texts import text_blocks
from vouch.params.start import run_stage
from vouch.pipeline.remembered import Remembered
from vouch.pipeline.stage import Run
from vouch.tables.items import ITEMS, items_path
from vouch.tables.label_free import LABEL_FREE, label_free_path
from vouch.tables.metrics import METRICS, metrics_path
from vouch.tables.outcomes import OUTCOMES, outcomes_path
from vouch.tables.pins import pin_path, read_pin
from vouch.tables.prompts import PROMPTS, prompts_path
from vouch.tables.responses import (
    LETTERS,
    LIKELIHOOD,
    RESPONSES,
    TEXT,
    letters_path,
    likelihood_path,
    text_path,
)
from vouch.tables.writing import Writer, packed, unpacked

SCORED = Path(".vouch/scored")
SUFFIX = ".letters.parquet"
OF_PROMPTS = (
    *("id", "item", "variation", "family", "effect", "options", "order", "marks", "answers", "outputs"),
)
OF_ITEMS = ("id", "group", "category", "turns", "flags", "kind", "answers", "references")
OF_LETTERS = ("prompt", "logits", "upper", "letter_mass", "problem")
OF_LIKELIHOOD = ("prompt", "option", "nll", "tokens", "bytes", "problem")
OF_TEXT = ("prompt", "temperature", "sample", "text", "logprobs", "entropies", "eos", "problem")
TABLES = ((METRICS, metrics_path), (OUTCOMES, outcomes_path), (LABEL_FREE, label_free_path))

Tables = Sequence[pa.Table]
"""Rows of each of TABLES."""


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
        asked = self._prompts.select(["variation", "outputs"]).to_pylist()
        self.parts = 1 + len({(row["variation"], output) for row in asked for output in row["outputs"]})
        self.cache, self.silent = Remembered(SCORED / self.dataset), dict[str, int]()

    def write(self, models: Sequence[str], writers: Sequence[Writer]) -> Iterator[None]:
        """Writes rows of TABLES, a step for each part of each model."""
        for model in models:
            tables = yield from self._of(model)
            for writer, table in zip(writers, tables, strict=True):
                writer.table(table)
            self.silent |= _silent(tables[0])

    def _of(self, model: str) -> Generator[None, None, Tables]:
        """What is remembered, or found now."""
        released = read_pin(pin_path(model)).source.kind == "released"
        answers = [response.path(model, self.dataset) for response in RESPONSES.values()]
        inputs = [prompts_path(self.dataset), items_path(self.dataset), *answers]
        name = self._run.rests_on(inputs, released)
        known, found = self.cache.get(name), list[Tables]()
        if known is not None:
            yield from repeat(None, self.parts)
            return unpacked(known)
        for part in self._parts(model, released):
            found.append(part)
            yield
        yield from repeat(None, self.parts - len(found))
        tables = [pa.concat_tables(rows) for rows in zip(*found, strict=True)]
        self.cache.put(name, packed(tables))
        return tables

    def _parts(self, model: str, released: bool) -> Iterator[Tables]:
        """By output and variation; last what compares prompts of the same questions."""
        dataset, config, asked = self.dataset, self._config, (self._prompts, self._items)
        compared = Compared(*asked, config)
        path = letters_path(model, dataset)
        blocks = join(LETTERS.read(path, OF_LETTERS), *asked, str(path), released)
        path = likelihood_path(model, dataset)
        blocks += likelihood_blocks(LIKELIHOOD.read(path, OF_LIKELIHOOD), *asked, str(path), released)
        for block in blocks:
            rows, outcomes = score_block(model, dataset, block, config)
            compared.add(outcomes, block)
            yield _metrics(rows), outcomes, option_scores(model, dataset, block, outcomes)
        path = text_path(model, dataset)
        for texts in text_blocks(TEXT.read(path, OF_TEXT), *asked, str(path), released):
            rows, outcomes = score_texts(model, dataset, texts, config)
            compared.add(outcomes, texts.texts)
            compared.add_samples(outcomes, texts, dataset)
            yield _metrics(rows), outcomes, text_scores(model, dataset, texts, outcomes, config)
        nothing = (OUTCOMES.schema.empty_table(), LABEL_FREE.schema.empty_table())
        yield _metrics(compared.rows(model, dataset)), *nothing


def _metrics(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=METRICS.schema)


def _silent(metrics: pa.Table) -> dict[str, int]:
    """Prompts without an answer, where there are any, by one model's rows of METRICS."""
    of_metric = metrics.filter(pc.equal(metrics["metric"], UNANSWERED)).to_pylist()
    return {
        f"{row['model']}/{row['variation']}/{row['output']}": round(row["value"] * row["items"])
        for row in of_metric
        if row["value"] and (row["protocol"], row["category"]) == (FAITHFUL, ALL)
    }


if __name__ == "__main__":
    run_stage("score", main)
