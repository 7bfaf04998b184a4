"""`python -m stages.compare`: scores of all models -> the tables of data/compare."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from stages.compare.config import Config
from stages.compare.differences import differences
from stages.compare.dimensions import dimensions
from stages.compare.distances import Cloud, cloud, distances, trends
from stages.compare.likeness import with_likeness
from stages.compare.ranking import rankings
from stages.compare.reproduced import reproduced
from stages.compare.standings import standings
from stages.compare.variations import variations
from stages.contracts.compared import (
    DIFFERENCES,
    DIFFERENCES_PATH,
    DIMENSIONS,
    DIMENSIONS_PATH,
    REPRODUCED,
    REPRODUCED_PATH,
    STANDINGS,
    STANDINGS_PATH,
    VARIATIONS,
    VARIATIONS_PATH,
)
from stages.contracts.distances import DISTANCES, DISTANCES_PATH, TRENDS, TRENDS_PATH
from stages.contracts.embeddings import EMBEDDED, EMBEDDINGS, embeddings_path
from stages.contracts.items import ITEMS, items_path
from stages.contracts.likeness import LIKENESS, LIKENESS_PATH
from stages.contracts.metrics import METRICS
from stages.contracts.outcomes import OUTCOMES
from stages.contracts.published import PUBLISHED
from stages.contracts.rankings import RANKED, RANKED_PATH, RANKINGS, RANKINGS_PATH
from stages.contracts.signals import SIGNALS
from stages.contracts.table import Table
from stages.runtime.stage import Run, run_stage

COMPARED = (
    *("model", "dataset", "prompt", "item", "group", "variation", "ask", "effect", "parser", "answer"),
    *("chosen", "confidence", "clean_correct", "clean_size_lac", "clean_size_aps"),
)


def main(run: Run) -> None:
    """Compares whatever models and datasets the stage depends on."""
    config = Config.model_validate(run.params["compare"])
    scores = [path for path in run.inputs if path.parent == Path("data/scores")]
    metrics = _read(METRICS, [path for path in scores if path.name.endswith(".metrics.parquet")])
    outcomes = _read(OUTCOMES, [path for path in scores if path.name.endswith(".outcomes.parquet")], COMPARED)
    signals = _read(SIGNALS, [path for path in scores if path.name.endswith(".signals.parquet")])
    published = {
        path.stem: PUBLISHED.read(path) for path in run.inputs if path.parent == Path("data/published")
    }
    categories = {
        path.stem: ITEMS.read(path, ("category",))["category"].unique().to_pylist()
        for path in run.inputs
        if path == items_path(path.stem)
    }
    DIMENSIONS.write(DIMENSIONS_PATH, dimensions(metrics, categories))
    STANDINGS.write(STANDINGS_PATH, standings(metrics))
    DIFFERENCES.write(DIFFERENCES_PATH, differences(outcomes, config.seed, config.resamples))
    REPRODUCED.write(REPRODUCED_PATH, reproduced(published, metrics))
    VARIATIONS.write(VARIATIONS_PATH, variations(outcomes, config.seed, config.resamples))
    alpha = run.params["score"]["alpha"]  # of several the first, which is that of all headlines
    main_alpha = alpha[0] if isinstance(alpha, list) else alpha
    signals = with_likeness(signals, LIKENESS.read(LIKENESS_PATH))
    summaries, values = rankings(signals, config, main_alpha)
    RANKINGS.write(RANKINGS_PATH, summaries)
    RANKED.write(RANKED_PATH, values)
    apart = distances(_clouds(list(categories)), config.seed)
    DISTANCES.write(DISTANCES_PATH, apart)
    TRENDS.write(TRENDS_PATH, trends(apart, summaries, config.seed))


def _clouds(datasets: Sequence[str]) -> dict[tuple[str, str], Cloud]:
    """By kind and dataset, the embeddings that there are."""
    paths = {(kind, name): embeddings_path(name, kind) for kind in EMBEDDED for name in datasets}
    found = {place: cloud(EMBEDDINGS.read(path), str(path)) for place, path in paths.items()}
    return {place: each for place, each in found.items() if each is not None}


def _read(table: Table, paths: Sequence[Path], columns: Sequence[str] | None = None) -> pa.Table:
    empty = table.schema.empty_table().select(columns or table.schema.names)
    parts = [table.read(path, columns).cast(empty.schema) for path in sorted(paths)]
    return pa.concat_tables([empty, *parts])


if __name__ == "__main__":
    run_stage("compare", main)
