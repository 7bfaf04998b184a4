"""`python -m stages.score MODEL`: one model's answers -> its metrics, outcomes and label-free scores."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from vouch.metrics.config import Config
from vouch.metrics.join import Asked, join
from vouch.metrics.likelihood import likelihood_blocks
from vouch.metrics.ranking.label_free import option_scores, text_scores
from vouch.metrics.robustness.compared import Compared
from vouch.metrics.tables import UNANSWERED, Scored, score_block
from vouch.metrics.text.scoring import score_texts
from vouch.metrics.text.texts import text_blocks
from vouch.params.start import run_stage
from vouch.pipeline.errors import UserError, did_you_mean
from vouch.pipeline.stage import Run
from vouch.tables.items import ITEMS, items_path
from vouch.tables.label_free import LABEL_FREE, label_free_path
from vouch.tables.metrics import METRICS, metrics_path
from vouch.tables.outcomes import OUTCOMES, outcomes_path
from vouch.tables.pins import pin_path, read_pin
from vouch.tables.prompts import PROMPTS, prompts_path
from vouch.tables.responses import LETTERS, LIKELIHOOD, TEXT, letters_path, likelihood_path, text_path

SUFFIX = ".letters.parquet"
OF_PROMPTS = (
    *("id", "item", "variation", "family", "effect", "options", "order", "marks", "answers", "outputs"),
)
OF_ITEMS = ("id", "group", "category", "turns", "flags", "kind", "question", "answers", "references")
OF_LETTERS = ("prompt", "logits", "upper", "letter_mass", "problem")
OF_LIKELIHOOD = ("prompt", "option", "nll", "tokens", "bytes", "problem")
OF_TEXT = ("prompt", "temperature", "sample", "text", "logprobs", "entropies", "eos", "problem")


def main(run: Run) -> None:
    """Scores every dataset whose answers the stage depends on, in the order of their names."""
    config = Config.model_validate(run.params["score"])
    model = run.keys[0]
    released = read_pin(pin_path(model)).source.kind == "released"
    datasets = sorted(path.name.removesuffix(SUFFIX) for path in run.inputs if path.name.endswith(SUFFIX))
    known = [path.stem for path in run.inputs if path == items_path(path.stem)]
    for name in config.answers:
        if name not in known:
            raise UserError(
                f"params.yaml: score.answers: unknown dataset {name}; {did_you_mean(name, known)}"
            )
    rows: list[dict[str, Any]] = []
    outcomes = [OUTCOMES.schema.empty_table()]
    label_free = [LABEL_FREE.schema.empty_table()]
    silent: dict[str, int] = {}
    for dataset in run.progress(datasets, len(datasets), f"score {model}"):
        for name, asked, (figures, table), found in _scored(model, dataset, config, released):
            rows += figures
            outcomes.append(table)
            label_free.append(found)
            if asked is not None and not asked.answered.all():
                silent[name] = int((~asked.answered).sum())
    if silent:
        run.note(UNANSWERED, silent)
    METRICS.write(metrics_path(model), rows)
    OUTCOMES.write(outcomes_path(model), pa.concat_tables(outcomes))
    LABEL_FREE.write(label_free_path(model), pa.concat_tables(label_free))


def _scored(
    model: str, dataset: str, config: Config, released: bool
) -> Iterator[tuple[str, Asked | None, Scored, pa.Table]]:
    """By output: the name of what was asked, its prompts, its scores and its label-free scores.

    Nothing was asked for what compares prompts of the same questions, which comes last.
    """
    prompts = PROMPTS.read(prompts_path(dataset), OF_PROMPTS)
    items = ITEMS.read(items_path(dataset), OF_ITEMS)
    compared = Compared(prompts, items, config)
    path = letters_path(model, dataset)
    found = LETTERS.read(path, OF_LETTERS)
    blocks = {"": join(found, prompts, items, str(path), released)}
    path = likelihood_path(model, dataset)
    found = LIKELIHOOD.read(path, OF_LIKELIHOOD)
    blocks["/likelihood"] = likelihood_blocks(found, prompts, items, str(path), released)
    for output, of_output in blocks.items():
        for block in of_output:
            scored = score_block(model, dataset, block, config)
            compared.add(scored[1], block)
            label_free = option_scores(model, dataset, block, scored[1])
            yield f"{dataset}/{block.variation}{output}", block.asked, scored, label_free
    path = text_path(model, dataset)
    found = TEXT.read(path, OF_TEXT)
    for texts in text_blocks(found, prompts, items, str(path), released):
        scored = score_texts(model, dataset, texts, config)
        compared.add(scored[1], texts.texts)
        compared.add_samples(scored[1], texts, dataset)
        label_free = text_scores(model, dataset, texts, scored[1], config)
        yield f"{dataset}/{texts.variation}/text", texts.asked, scored, label_free
    nothing = OUTCOMES.schema.empty_table()
    yield dataset, None, (compared.rows(model, dataset), nothing), LABEL_FREE.schema.empty_table()


if __name__ == "__main__":
    run_stage("score", main)
