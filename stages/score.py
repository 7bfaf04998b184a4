"""`python -m stages.score DATASET`: all models' answers to a dataset -> metrics, outcomes, label-free scores.

`model_scores` scores one model, output by output and variation by variation. Its result is remembered, so a
new model or a resumed run scores only what is new.
"""

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import repeat
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from vouch.metrics.blind import (
    blind_metrics,
    graded,
    solved_questions,
    unsolved_metrics,
    with_image_metrics,
)
from vouch.metrics.compared import Compared
from vouch.metrics.config import ScoreConfig
from vouch.metrics.join import in_other_spelling, join, likelihood_blocks
from vouch.metrics.label_free import option_scores, text_scores
from vouch.metrics.metric import ALL, FAITHFUL
from vouch.metrics.tables import score_block
from vouch.metrics.text.judge import Verdicts
from vouch.metrics.text.likelihoods import with_stated
from vouch.metrics.text.scoring import score_texts, split_p_true
from vouch.metrics.text.texts import asking_likelihoods, text_blocks
from vouch.metrics.unranked import UNANSWERED
from vouch.params.start import run_stage
from vouch.pipeline.errors import UserError
from vouch.pipeline.files import ResultCache
from vouch.pipeline.run import Run
from vouch.tables.answered import CORRECT, INCORRECT, JUDGED, RESPONSES, judged_path, pin_path, read_pin
from vouch.tables.asked import ITEMS, LETTERS, LIKELIHOOD, PROMPTS, TEXT, items_path, prompts_path
from vouch.tables.decisions import judgements_path, read_judgements
from vouch.tables.results import (
    BLIND,
    LABEL_FREE,
    METRICS,
    OUTCOMES,
    blind_path,
    label_free_path,
    metrics_path,
    outcomes_path,
)
from vouch.tables.table import TableWriter, packed, unpacked

OF_LETTERS = ("prompt", "logits", "upper", "letter_mass", "problem")
OF_LIKELIHOOD = ("prompt", "option", "nll", "tokens", "bytes", "problem")
OF_TEXT = ("prompt", "temperature", "sample", "text", "logprobs", "entropies", "eos", "problem")

Tables = Sequence[pa.Table]
"""Rows of METRICS, OUTCOMES and LABEL_FREE."""


def model_scores(
    model: str,
    dataset: str,
    prompts: pa.Table,
    items: pa.Table,
    released: bool,
    config: ScoreConfig,
    verdicts: Verdicts | None = None,
) -> Iterator[Tables]:
    """Scores the stored answers, by output and variation; the last part has the metrics that compare these.

    prompts, items: of the dataset. released: whether answers may be missing, because others released them or
    because the model was not asked this dataset. verdicts: those of a model as judge; None if there
    is no judge.
    """
    other = model in config.other_spelling
    letters, where = _answers(LETTERS, model, dataset, (*OF_LETTERS, *["other_logits"] * other))
    letters = in_other_spelling(letters, where) if other else letters
    letters, prompts, p_true = split_p_true(letters, prompts)
    asking = asking_likelihoods(prompts)
    if asking.num_rows:
        letters = with_stated(letters, _answers(TEXT, model, dataset, OF_TEXT)[0], asking)
    asked = (prompts, items)
    compared = Compared(*asked, config, p_true)
    blocks = join(letters, *asked, where, released)
    likelihood, where = _answers(LIKELIHOOD, model, dataset, OF_LIKELIHOOD)
    blocks += likelihood_blocks(likelihood, *asked, where, released)
    label_free: list[tuple[str, pa.Table]] = []  # whose last columns compare variations
    nothing = LABEL_FREE.schema.empty_table()
    for block in blocks:
        rows, outcomes = score_block(model, dataset, block, config)
        compared.add(outcomes, block)
        label_free.append((block.output, option_scores(model, dataset, block, outcomes)))
        yield _metrics(rows), outcomes, nothing
    texts, where = _answers(TEXT, model, dataset, OF_TEXT)
    stating = asking["id"].combine_chunks()
    texts, of_text = (
        table.filter(pc.invert(pc.is_in(table[name], stating))) if len(stating) else table
        for table, name in ((texts, "prompt"), (prompts, "id"))
    )
    for text_block in text_blocks(texts, of_text, items, where, released):
        rows, outcomes = score_texts(model, dataset, text_block, config, verdicts)
        compared.add(outcomes, text_block.texts)
        compared.add_samples(outcomes, text_block, dataset)
        label_free.append((TEXT, text_scores(model, dataset, text_block, outcomes, config)))
        yield _metrics(rows), outcomes, nothing
    every = [compared.with_meanings(output, rows) for output, rows in label_free if rows.num_rows]
    outcomes = OUTCOMES.schema.empty_table()
    yield _metrics(compared.rows(model, dataset)), outcomes, pa.concat_tables([nothing, *every])


def _answers(output: str, model: str, dataset: str, columns: Sequence[str]) -> tuple[pa.Table, str]:
    """The stored answers of one output, and the name of their file."""
    response = RESPONSES[output]
    path = response.path(model, dataset)
    return response.table.read(path, columns), str(path)


def _metrics(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=METRICS.schema)


def unanswered_prompts(metrics: pa.Table) -> dict[str, int]:
    """The number of prompts without an answer, if there are any, from one model's rows of METRICS."""
    of_metric = metrics.filter(pc.equal(metrics["metric"], UNANSWERED)).to_pylist()
    return {
        f"{row['model']}/{row['variation']}/{row['output']}": round(row["value"] * row["items"])
        for row in of_metric
        if row["value"] and (row["protocol"], row["category"]) == (FAITHFUL, ALL)
    }


SCORED = Path(".vouch/scored")
SUFFIX = ".letters.parquet"
OF_PROMPTS = (
    *("id", "item", "variation", "family", "effect", "options", "order", "labels", "answers", "outputs"),
    "template",
)
OF_ITEMS = (
    *("id", "group", "category", "turns", "flags", "kind", "question", "options", "answers", "references"),
    "images",
)
TABLES = ((METRICS, metrics_path), (OUTCOMES, outcomes_path), (LABEL_FREE, label_free_path))


def main(run: Run) -> None:
    """Scores every model whose answers the stage depends on, in the order of their names."""
    models = sorted(path.name.removesuffix(SUFFIX) for path in run.inputs if path.name.endswith(SUFFIX))
    scoring = DatasetScoring(run)
    with ExitStack() as files:
        writers = [files.enter_context(table.writer(path(scoring.dataset))) for table, path in TABLES]
        steps = scoring.write(models, writers)
        for _ in run.progress(steps, scoring.parts * len(models), f"score {scoring.dataset}"):
            pass
    BLIND.write(blind_path(scoring.dataset), scoring.solved)
    scoring.cache.forget_others()
    if scoring.unanswered:
        run.note(UNANSWERED, scoring.unanswered)


class DatasetScoring:
    """The scores of one dataset, model by model.

    parts: their number for one model: one for each output of a variation, and one for comparisons.
    unanswered: the number of prompts without an answer, by model, variation and output. solved: rows of
    BLIND.
    """

    def __init__(self, run: Run) -> None:
        (self.dataset,) = run.keys
        self._run, self._config = run, ScoreConfig.model_validate(run.params["score"])
        self._prompts = PROMPTS.read(prompts_path(self.dataset), OF_PROMPTS)
        self._items = ITEMS.read(items_path(self.dataset), OF_ITEMS)
        if unused := self._config.unused_answers(self.dataset, set(self._items["kind"].to_pylist())):
            raise UserError(f"params.yaml: {unused}")
        self._verdicts = None
        self._decided: list[str] = []
        if self._config.judge.model is not None:
            judge, decided = self._config.judge, read_judgements(judgements_path(self.dataset))
            rows = JUDGED.read(judged_path(self.dataset), ("key", "verdict", "index")).to_pylist()
            self._verdicts = Verdicts(
                {row["key"]: row["index"] for row in rows},
                {row["key"]: {CORRECT: True, INCORRECT: False}.get(row["verdict"]) for row in rows},
                {name: row["decision"] == CORRECT for name, row in decided.items()},
                judge.open,
                judge.sample,
            )
            self._decided = sorted(f"{name} {row['decision']}" for name, row in decided.items())
        asked = self._prompts.select(["variation", "outputs"]).to_pylist()
        # Prompts that only released answers belong to ask for no output; those answers are letters.
        self.parts = 1 + len(
            {(row["variation"], each) for row in asked for each in row["outputs"] or [LETTERS]}
        )
        self.cache, self.unanswered = ResultCache(SCORED / self.dataset), dict[str, int]()
        self.solved: list[dict[str, Any]] = []

    def write(self, models: Sequence[str], writers: Sequence[TableWriter]) -> Iterator[None]:
        """Writes rows of TABLES; yields once for each part of each model."""
        blind = {model for model in models if not read_pin(pin_path(model)).sees}
        answers = []
        for model in models:
            tables = yield from self._of(model)
            for writer, table in zip(writers, tables, strict=True):
                writer.table(table)
            self.unanswered |= unanswered_prompts(tables[0])
            if blind:
                answers.append(graded(tables[1]))
        if blind:
            every = pa.concat_tables(answers)
            self.solved = list(solved_questions(every, self._items, blind))
            writers[0].table(unsolved_metrics(every, self.solved, blind))
            writers[0].table(with_image_metrics(every, self._items))

    def _of(self, model: str) -> Generator[None, None, Tables]:
        """The remembered tables of a model, or newly computed ones."""
        answers = [response.path(model, self.dataset) for response in RESPONSES.values()]
        stored = zip(RESPONSES.values(), answers, strict=True)
        answered = any(response.table.read(path, ["prompt"]).num_rows for response, path in stored)
        pin = read_pin(pin_path(model))
        released = pin.source.kind == "released" or not answered
        inputs = [path(self.dataset) for path in (prompts_path, items_path, judged_path)]
        facts = (released, pin.sees, self._decided, self._run.params["score"])
        name = self._run.rests_on([*inputs, *answers], *facts)
        known, parts = self.cache.get(name), list[Tables]()
        if known is not None:
            yield from repeat(None, self.parts)
            return unpacked(known)
        asked = (self._prompts, self._items)
        for part in model_scores(model, self.dataset, *asked, released, self._config, self._verdicts):
            parts.append(part)
            yield
        yield from repeat(None, self.parts - len(parts))
        tables = [pa.concat_tables(rows) for rows in zip(*parts, strict=True)]
        if not pin.sees:
            tables[0] = pa.concat_tables([tables[0], blind_metrics(tables[0], tables[1], self._items)])
        self.cache.put(name, packed(tables))
        return tables


if __name__ == "__main__":
    run_stage("score", main)
