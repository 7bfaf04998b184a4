"""Label-free scores of all models as arrays: a task for each dataset and output to rank models on."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
import pyarrow as pa

from vouch.metrics.ranking.task import PROBABILITIES, Task
from vouch.metrics.responses import Array
from vouch.tables.names import SAMPLES, SIMILARITIES, TOKENS
from vouch.tables.prompts import OUTPUTS, TEXT

KEYS = ["model", "dataset", "prompt", "temperature"]


def tasks(label_free: pa.Table) -> Iterator[list[Task]]:
    """For each dataset and output its task, then one for each temperature; rows of LABEL_FREE.

    All tasks of a dataset and output have the same models and items.
    """
    frame = label_free.to_pandas()
    places = frame.groupby(["dataset", "output"]).indices
    for dataset, output in sorted(places, key=lambda place: (place[0], OUTPUTS.index(place[1]))):
        rows = frame.iloc[places[dataset, output]]
        index = _Index(rows)
        plain = rows["temperature"].isna()
        found = [index.task(dataset, output, "", rows[plain])]
        for temperature, sampled in rows[~plain].groupby("temperature"):
            found.append(index.task(dataset, output, f"t{temperature:g}", sampled))
        yield found


class _Index:
    """Where each model and prompt of some rows stands."""

    def __init__(self, rows: pd.DataFrame) -> None:
        self.models = pd.Index(sorted(set(rows["model"])))
        of_prompts = rows.drop_duplicates("prompt").sort_values("prompt")
        self.prompts = pd.Index(of_prompts["prompt"])
        self.groups = np.unique(of_prompts["group"].to_numpy(str), return_inverse=True)[1]

    def task(self, dataset: str, output: str, score: str, rows: pd.DataFrame) -> Task:
        """The task that these rows are."""
        places = (self.models.get_indexer(rows["model"]), self.prompts.get_indexer(rows["prompt"]))
        shape = (len(self.models), len(self.prompts))

        def matrix(name: str) -> Array:
            values = np.full(shape, np.nan)
            values[places] = rows[name].to_numpy(float)
            return values

        names = [*TOKENS, *SAMPLES, *(name for name in SIMILARITIES if name in rows)]
        label_free = {name: matrix(name) for name in names if rows[name].notna().any()}
        most = int(rows[PROBABILITIES].map(len, na_action="ignore").max()) if output != TEXT else 0
        answers = np.zeros((shape[1], most), dtype=bool)
        if most:
            label_free[PROBABILITIES] = np.full((*shape, most), np.nan)
            columns = (rows[PROBABILITIES], rows["answers"])
            for model, prompt, options, right in zip(*places, *columns, strict=True):
                label_free[PROBABILITIES][model, prompt, : len(options)] = options
                answers[prompt, right] = True
        models = tuple(str(model) for model in self.models)
        return Task(dataset, output, score, models, self.groups, matrix("performance"), label_free, answers)


def with_similarity(label_free: pa.Table, similarity: pa.Table) -> pa.Table:
    """Rows of LABEL_FREE with the columns SIMILARITIES, null where TEXT_SIMILARITY has no row."""
    known = similarity.to_pandas().set_index(KEYS)
    found = known.reindex(pd.MultiIndex.from_frame(label_free.select(KEYS).to_pandas()))
    for name in SIMILARITIES:
        label_free = label_free.append_column(name, pa.array(found[name], pa.float64(), from_pandas=True))
    return label_free
