"""`python -m stages.score MODEL`: letters of one model on every dataset -> its metrics and outcomes."""

from typing import Any

import pyarrow as pa

from stages.contracts.items import ITEMS, items_path
from stages.contracts.letters import LETTERS, letters_path
from stages.contracts.metrics import METRICS, metrics_path
from stages.contracts.outcomes import OUTCOMES, outcomes_path
from stages.contracts.prompts import PROMPTS, prompts_path
from stages.runtime.stage import Run, run_stage
from stages.score.config import Config
from stages.score.join import Block, join
from stages.score.tables import score_block
from stages.score.unanswered import METRIC

SUFFIX = ".letters.parquet"


def main(run: Run) -> None:
    """Scores every dataset whose letters the stage depends on, in the order of their names."""
    config = Config.model_validate(run.params["score"])
    model = run.keys[0]
    released = run.stage.startswith("score_released@")
    datasets = sorted(path.name.removesuffix(SUFFIX) for path in run.inputs if path.name.endswith(SUFFIX))
    rows: list[dict[str, Any]] = []
    outcomes = [OUTCOMES.schema.empty_table()]
    silent: dict[str, int] = {}
    for dataset in run.progress(datasets, label=f"score {model}"):
        for block in _read(model, dataset, released):
            figures, table = score_block(model, dataset, block, config)
            rows += figures
            outcomes.append(table)
            if not block.asked.answered.all():
                silent[f"{dataset}/{block.variation}"] = int((~block.asked.answered).sum())
    if silent:
        run.note(METRIC, silent)
    METRICS.write(metrics_path(model), rows)
    OUTCOMES.write(outcomes_path(model), pa.concat_tables(outcomes))


def _read(model: str, dataset: str, released: bool) -> list[Block]:
    path = letters_path(model, dataset)
    letters = LETTERS.read(path, ["prompt", "logits", "upper", "problem"])
    prompts = PROMPTS.read(
        prompts_path(dataset), ["id", "item", "variation", "options", "order", "answers", "asks"]
    )
    items = ITEMS.read(items_path(dataset), ["id", "group", "category", "flags"])
    return join(letters, prompts, items, str(path), released)


if __name__ == "__main__":
    run_stage("score", main)
