"""Reads the declared inputs of the stage into `Evidence`."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from vouch.metrics.unranked import UNANSWERED, unanswered_places
from vouch.pipeline.errors import UserError
from vouch.pipeline.files import file_digest
from vouch.report.config import Scoring
from vouch.report.evidence import EXAMPLES, NO_SAMPLE, AnswerCounts, Evidence
from vouch.tables import asked, results
from vouch.tables.answered import RESPONSES, first_problem, letters_path, text_path
from vouch.tables.table import Opened, Table

PUBLISHED = Path("docs/published")
"""The folder of published figures."""
COMPARED = {
    "leaderboard": (results.LEADERBOARD, results.LEADERBOARD_PATH),
    "differences": (results.DIFFERENCES, results.DIFFERENCES_PATH),
    "reproduced": (results.REPRODUCED, results.REPRODUCED_PATH),
    "costs": (results.VARIATIONS, results.VARIATIONS_PATH),
    "rankings": (results.RANKINGS, results.RANKINGS_PATH),
    "ranked": (results.RANKED, results.RANKED_PATH),
    "dimensions": (results.DIMENSIONS, results.DIMENSIONS_PATH),
    "distances": (results.DISTANCES, results.DISTANCES_PATH),
    "transfer": (results.TRANSFER, results.TRANSFER_PATH),
    "trends": (results.TRENDS, results.TRENDS_PATH),
}
"""Field of `Evidence` -> the table of `compare` that fills it."""
# These two tables are large: only the columns that the pages need are read.
OF_OUTCOMES = (
    *("model", "dataset", "prompt", "item", "group", "variation", "output", "parser", "predicted", "chosen"),
    *("clean_correct", "confidence", "clean_size_lac"),
)
OF_ITEMS = ("id", "group", "options", "answers", "images", "category", "flags")


def _all(table: Table, paths: Sequence[Path], columns: Sequence[str]) -> pd.DataFrame:
    empty = pa.schema([table.schema.field(name) for name in columns]).empty_table()
    return pa.concat_tables([empty, *(table.read(path, columns) for path in paths)]).to_pandas()


def _by_dataset(table: Table, paths: Iterable[Path], columns: Sequence[str]) -> pd.DataFrame:
    """The rows of tables named after a dataset, with the dataset as a column."""
    parts = [
        table.read(path, columns).to_pandas().assign(dataset=path.name.partition(".")[0]) for path in paths
    ]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=[*columns, "dataset"])


def read_printed(paths: Iterable[Path]) -> dict[str, pd.DataFrame]:
    """Published figures as text, to the printed digit."""
    return {path.stem: pd.read_csv(path, dtype=str, keep_default_na=False) for path in paths}


def answered(paths: Iterable[Path]) -> list[AnswerCounts]:
    """What each table of answers holds; tables without rows are left out. Raises UserError."""
    outputs = {path("m", "d").suffixes[0]: output for output, (_, path) in RESPONSES.items()}
    every = []
    for path in paths:
        output = outputs[path.suffixes[0]]
        file = RESPONSES[output].table.open(path)
        columns = ["prompt", "engine", "device", "mode", "rows", "problem"]
        table = file.read(columns=columns, use_threads=False)
        if table.num_rows:
            every.append(
                AnswerCounts(
                    model=path.name.partition(".")[0],
                    dataset=path.parent.name,
                    output=output,
                    prompts=pc.count_distinct(table["prompt"]).as_py(),
                    answers=table["problem"].null_count,
                    unanswered=table.num_rows - table["problem"].null_count,
                    tokens=_tokens(file, table["problem"]) if output == asked.TEXT else 0,
                    **{name: _names(table[name]) for name in ("engine", "device", "mode")},
                    rows=pc.max(table["rows"]).as_py(),
                )
            )
    return every


def _tokens(texts: Opened, problems: pa.ChunkedArray) -> int | None:
    """How many tokens texts have; None if some of them have no log-probabilities. problems: that column."""
    known = texts.statistics("logprobs")  # null_count: of lists that are null or empty
    if all(known) and sum(each.null_count for each in known) == len(problems) - problems.null_count:
        return int(sum(each.num_values for each in known))
    lengths = pc.list_value_length(texts.read(columns=["logprobs"], use_threads=False)["logprobs"])
    uncounted = pc.any(pc.and_(pc.is_null(problems), pc.is_null(lengths))).as_py()
    return None if uncounted else pc.sum(lengths).as_py() or 0


def _names(column: pa.ChunkedArray) -> tuple[str, ...]:
    """The distinct values of a column, sorted."""
    return tuple(sorted(filter(None, column.unique().to_pylist())))


SHOWN = 3
"""How many questions `examples` gives for a model and dataset."""


def examples(datasets: Iterable[str], responses: Sequence[Path]) -> pd.DataFrame:
    """The first questions, by id, whose greedy texts differ between the original prompt and the one without
    its sample; columns EXAMPLES. Space around a text is no difference. responses: tables of answers."""
    parts = [pd.DataFrame(columns=EXAMPLES)]
    for dataset in sorted(datasets):
        items = asked.items_path(dataset)
        questions = dict(zip(*asked.ITEMS.read(items, ["id", "question"]).to_pydict().values(), strict=True))
        for path in responses:
            model = path.name.partition(".")[0]
            if path == text_path(model, dataset):
                pairs = _differing(path).reset_index()
                pairs = pairs.assign(dataset=dataset, model=model, question=pairs["item"].map(questions))
                parts.append(pairs[EXAMPLES])
    return pd.concat(parts[1:] or parts, ignore_index=True)


def _differing(path: Path) -> pd.DataFrame:
    """item (the index), and the texts of both prompts."""
    texts = RESPONSES[asked.TEXT].table.read(path, ["prompt", "sample", "text"])
    ends = [pc.ends_with(texts["prompt"], f"/{name}") for name in (asked.ORIGINAL, NO_SAMPLE)]
    texts = texts.filter(pc.and_(pc.equal(texts["sample"], 0), pc.or_(*ends)))
    split = [prompt.rpartition("/") for prompt in texts["prompt"].to_pylist()]
    frame = pd.DataFrame(
        {
            "item": [item for item, _, _ in split],
            "variation": [variation for _, _, variation in split],
            "text": texts["text"].to_pylist(),
        }
    )
    wide = frame.pivot(index="item", columns="variation", values="text")
    wide = wide.reindex(columns=[asked.ORIGINAL, NO_SAMPLE]).dropna().sort_index()
    apart = [first.strip() != other.strip() for first, other in zip(*(wide[c] for c in wide), strict=True)]
    return wide[np.array(apart, dtype=bool)].head(SHOWN)


def load(
    inputs: Iterable[Path],
    scoring: Scoring,
    setup: Mapping[str, Any] | None = None,
    known: Mapping[str, Mapping[str, Any]] | None = None,
) -> Evidence:
    """Reads the declared inputs of the stage, except code. known: facts by model.

    Raises UserError if a table is missing or damaged, or if nothing was scored.
    """
    paths = sorted(inputs)
    outcomes = [path for path in paths if path == results.outcomes_path(path.name.partition(".")[0])]
    items, rejects, defects, rewrites = (
        [path for path in paths if path == of(path.stem)]
        for of in (asked.items_path, asked.rejects_path, asked.defects_path, asked.rewrites_path)
    )
    blind = [path for path in paths if path == results.blind_path(path.name.partition(".")[0])]
    answered_blind = _by_dataset(results.BLIND, blind, results.BLIND.schema.names)
    published = [path for path in paths if path.parent == PUBLISHED and path.suffix == ".csv"]
    responses = [path for path in paths if path.parent.parent == letters_path("", "").parent]
    every = [*(path for _, path in COMPARED.values()), *outcomes, *items, *rejects, *defects, *rewrites]
    every += [*published, *responses, *(blind if len(answered_blind) else ())]
    compared = _compared(paths)
    measured = compared["leaderboard"]
    bare = measured.loc[measured["variation"] == NO_SAMPLE, "dataset"].unique()
    without = unanswered_places(measured[measured["metric"] == UNANSWERED].to_dict("records"))
    return Evidence(
        **compared,
        outcomes=_all(results.OUTCOMES, outcomes, OF_OUTCOMES),
        items=_by_dataset(asked.ITEMS, items, OF_ITEMS),
        rejects=_all(asked.REJECTS, rejects, asked.REJECTS.schema.names),
        defects=_by_dataset(asked.DEFECTS, defects, asked.DEFECTS.schema.names),
        rewrites=_by_dataset(asked.REWRITES, rewrites, asked.REWRITES.schema.names),
        blind_answers=answered_blind,
        scoring=scoring,
        setup=setup or {},
        answered=answered(responses),
        digests={path.as_posix(): file_digest(path) for path in every},
        printed=read_printed(published),
        facts=known or {},
        problems={place: first_problem(*place) for place in sorted(without)},
        examples=examples(bare, responses),
    )


def _compared(paths: Sequence[Path]) -> dict[str, pd.DataFrame]:
    """The tables of `compare`, by field of `Evidence`."""
    for _, path in COMPARED.values():
        if path not in paths:
            what = "not among the inputs of the stage report; declare it in dvc.yaml and run `dvc repro`"
            raise UserError(f"{path}: {what}")
    found = {name: table.read(path).to_pandas() for name, (table, path) in COMPARED.items()}
    if found["leaderboard"].empty:
        what = "contains no scores; name a model in params.yaml and run `dvc repro`"
        raise UserError(f"{results.LEADERBOARD_PATH}: {what}")
    return found
