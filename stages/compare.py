"""`python -m stages.compare`: scores of all models -> the tables of data/compare."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from vouch.metrics.blind import blind_in, with_image
from vouch.metrics.comparison.config import CompareConfig
from vouch.metrics.comparison.datasets import Cloud, cloud, distances, item_vectors, transfers, trends
from vouch.metrics.comparison.leaderboard import (
    differences,
    dimensions,
    leaderboard,
    reproduced,
    uncalibrated,
    variations,
)
from vouch.metrics.comparison.ranking import Rows, rankings, with_similarity
from vouch.metrics.responses import Array
from vouch.metrics.unranked import Place, comparable, unranked_in
from vouch.params.start import run_stage
from vouch.pipeline.run import Run
from vouch.tables import HEADLINE
from vouch.tables.asked import ITEMS, items_path
from vouch.tables.embedded import EMBEDDED, EMBEDDINGS, TEXT_SIMILARITY, TEXT_SIMILARITY_PATH, embeddings_path
from vouch.tables.results import (
    DIFFERENCES,
    DIFFERENCES_PATH,
    DIMENSIONS,
    DIMENSIONS_PATH,
    DISTANCES,
    DISTANCES_PATH,
    LABEL_FREE,
    LEADERBOARD,
    LEADERBOARD_PATH,
    METRICS,
    OUTCOMES,
    PUBLISHED,
    RANKED,
    RANKED_PATH,
    RANKINGS,
    RANKINGS_PATH,
    REPRODUCED,
    REPRODUCED_PATH,
    TRANSFER,
    TRANSFER_PATH,
    TRENDS,
    TRENDS_PATH,
    VARIATIONS,
    VARIATIONS_PATH,
)
from vouch.tables.table import Table

OF_ITEMS = ("id", "category", "images", "question")
COMPARED = (
    *("model", "dataset", "prompt", "item", "group", "variation", "output", "effect", "parser", "answer"),
    *("chosen", "confidence", "clean_correct", *(f"clean_size_{score}" for score in HEADLINE)),
)


def main(run: Run) -> None:
    """Compares all models and datasets that the stage depends on.

    Blind baselines are not ranked; their pairs with models that see are tests of their own.
    """
    config = CompareConfig.model_validate(run.params["compare"])
    scores = [path for path in run.inputs if path.parent == Path("data/scores")]
    metrics = _read(METRICS, [path for path in scores if path.name.endswith(".metrics.parquet")])
    outcomes = _read(OUTCOMES, [path for path in scores if path.name.endswith(".outcomes.parquet")], COMPARED)
    label_free = _read(LABEL_FREE, [path for path in scores if path.name.endswith(".label_free.parquet")])
    items = {path.stem: ITEMS.read(path, OF_ITEMS) for path in run.inputs if path == items_path(path.stem)}
    apart = unranked_in(metrics) | blind_in(metrics)
    alpha = run.params["score"]["alpha"]  # if there are several, all headlines use the first
    main_alpha = alpha[0] if isinstance(alpha, list) else alpha
    _compare_models(metrics, outcomes, items, config, main_alpha)
    published = {
        path.stem: PUBLISHED.read(path) for path in run.inputs if path.parent == Path("data/published")
    }
    REPRODUCED.write(REPRODUCED_PATH, reproduced(published, metrics))
    outcomes, label_free = (_comparable(table, apart) for table in (outcomes, label_free))
    transferred = transfers(outcomes, label_free, _vectors(items), main_alpha, config.seed)
    TRANSFER.write(TRANSFER_PATH, transferred)
    _compare_datasets(_rank(label_free, config, main_alpha), list(items), config)


def _compare_models(
    metrics: pa.Table,
    outcomes: pa.Table,
    items: Mapping[str, pa.Table],
    config: CompareConfig,
    alpha: float,
) -> None:
    """Ranks, paired differences, and what each variation costs."""
    away, blind = unranked_in(metrics), blind_in(metrics)
    apart = away | blind
    categories = {name: table["category"].unique().to_pylist() for name, table in items.items()}
    DIMENSIONS.write(DIMENSIONS_PATH, dimensions(_comparable(metrics, apart), categories))
    LEADERBOARD.write(LEADERBOARD_PATH, leaderboard(metrics, apart))
    shown = {name: with_image(table) for name, table in items.items()}
    tested = differences(_comparable(outcomes, away), config.seed, config.resamples, blind, shown)
    DIFFERENCES.write(DIFFERENCES_PATH, tested)
    infinite = uncalibrated(metrics, alpha)
    VARIATIONS.write(VARIATIONS_PATH, variations(outcomes, config.seed, config.resamples, infinite))


def _rank(label_free: pa.Table, config: CompareConfig, alpha: float) -> Rows:
    """Rankings without labels. Returns the rows of RANKINGS."""
    label_free = with_similarity(label_free, TEXT_SIMILARITY.read(TEXT_SIMILARITY_PATH))
    summaries, values = rankings(label_free, config, alpha)
    RANKINGS.write(RANKINGS_PATH, summaries)
    RANKED.write(RANKED_PATH, values)
    return summaries


def _compare_datasets(summaries: Rows, datasets: Sequence[str], config: CompareConfig) -> None:
    """Distances between the datasets, and how rankings (rows of RANKINGS) depend on them."""
    between = distances(_clouds(datasets), config.seed)
    DISTANCES.write(DISTANCES_PATH, between)
    TRENDS.write(TRENDS_PATH, trends(between, summaries, config.seed))


def _comparable(table: pa.Table, away: Collection[Place]) -> pa.Table:
    return table.filter(pa.array(comparable(table, away))) if away else table


def _vectors(items: Mapping[str, pa.Table]) -> dict[str, dict[str, dict[str, Array]]]:
    """The available embeddings, by kind, dataset and item."""
    vectors: dict[str, dict[str, dict[str, Array]]] = {kind: {} for kind in EMBEDDED}
    for name, table in items.items():
        tables = (EMBEDDINGS.read(embeddings_path(name, kind)) for kind in EMBEDDED)
        for kind, of_items in item_vectors(table, *tables).items():
            vectors[kind][name] = of_items
    return vectors


def _clouds(datasets: Sequence[str]) -> dict[tuple[str, str], Cloud]:
    """The available embeddings, by kind and dataset."""
    paths = {(kind, name): embeddings_path(name, kind) for kind in EMBEDDED for name in datasets}
    clouds = {key: cloud(EMBEDDINGS.read(path), str(path)) for key, path in paths.items()}
    return {key: each for key, each in clouds.items() if each is not None}


def _read(table: Table, paths: Sequence[Path], columns: Sequence[str] | None = None) -> pa.Table:
    empty = table.schema.empty_table().select(columns or table.schema.names)
    parts = [table.read(path, columns).cast(empty.schema) for path in sorted(paths)]
    return pa.concat_tables([empty, *parts])


if __name__ == "__main__":
    run_stage("compare", main)
