"""What is known of a model beside its answers: family, size, parts, training data.

What the earlier stages found: their tables, and look-ups that every part of the report shares.

Reads the tables that a report is made of.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from vouch.metrics.unranked import OF_GATE, Place, unranked
from vouch.pipeline.errors import UserError
from vouch.report.config import Scoring
from vouch.report.gates import INFINITE, MINIMUM
from vouch.report.numbers import Comparisons, Number, Numbers
from vouch.tables.answered import RESPONSES, letters_path
from vouch.tables.asked import (
    DEFECTS,
    ITEMS,
    ORIGINAL,
    OUTPUTS,
    REJECTS,
    REWRITES,
    defects_path,
    items_path,
    rejects_path,
    rewrites_path,
)
from vouch.tables.results import (
    DIFFERENCES,
    DIFFERENCES_PATH,
    DIMENSIONS,
    DIMENSIONS_PATH,
    DISTANCES,
    DISTANCES_PATH,
    LEADERBOARD,
    LEADERBOARD_PATH,
    OUTCOMES,
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
    outcomes_path,
)
from vouch.tables.table import Table

Facts = Mapping[str, Any]
"""Keys as `facts` of models.lock; `total_parameters` and the like are numbers of parameters."""
# `_7b` at the end or before another part of a name, `_1_8b` for 1.8
SIZE = re.compile(r"(?:^|_)(\d+(?:_\d+)?)b(?=_|$)")


def facts(
    locked: Mapping[str, Mapping[str, Any]], train: Mapping[str, Mapping[str, Any]]
) -> dict[str, Facts]:
    """By model: those of models.lock, and of demo models family and size.

    The size of a demo model is 12 x layers x width^2, the weights of its transformer blocks without
    embeddings and picture encoder (Kaplan et al. 2020).
    """
    known: dict[str, Facts] = {name: entry.get("facts") or {} for name, entry in locked.items()}
    for name, built in train.items():
        known[name] = {
            "family": "demo models",
            "series": built["family"],
            "language_model_parameters": 12 * built["layers"] * built["width"] ** 2,
        }
    return known


def size(model: str, known: Mapping[str, Facts]) -> float | None:
    """Number of parameters: of the whole model, else of its language model, else what its name says."""
    found = known.get(model, {})
    for key in ("total_parameters", "language_model_parameters"):
        if found.get(key):
            return float(found[key])
    named = SIZE.findall(model)
    # A name may hold the size of an encoder or of one expert as well: the largest counts.
    return max(float(text.replace("_", ".")) for text in named) * 1e9 if named else None


def family(model: str, known: Mapping[str, Facts]) -> str:
    """The family that is on record, else the name up to its first number."""
    stated = known.get(model, {}).get("family")
    return str(stated) if stated else re.split(r"_?v?\d", model, maxsplit=1)[0].strip("_") or model


def series(model: str, known: Mapping[str, Facts]) -> str:
    """Models that differ in size alone: the series that is on record, else the family."""
    return str(known.get(model, {}).get("series") or family(model, known))


MARGINAL = "marginal"
KEYS = ("dataset", "output", "variation", "protocol", "category", "score", "metric", "model")


@dataclass(frozen=True, eq=False)  # one is only ever the same as itself: what is found of it is kept
class Evidence:
    """Frames with the columns of the tables of the same names in vouch/tables, `costs` of `variations`;
    `items`, `defects` and `rewrites` have `dataset` as well.

    setup: the parameters datasets, extract, models, variations and train, and `locked`, the entries of
    models.lock. engines: of each model, the engines of its answers with their revisions. facts: what
    is known of a model, `facts` of models.lock, by model. digests: SHA-256 of every data file that was read,
    by path. printed: what papers printed, by name of the file, all columns text.
    """

    leaderboard: pd.DataFrame
    differences: pd.DataFrame
    reproduced: pd.DataFrame
    costs: pd.DataFrame
    rankings: pd.DataFrame
    ranked: pd.DataFrame
    outcomes: pd.DataFrame
    items: pd.DataFrame
    rejects: pd.DataFrame
    defects: pd.DataFrame
    rewrites: pd.DataFrame
    dimensions: pd.DataFrame
    distances: pd.DataFrame
    trends: pd.DataFrame
    scoring: Scoring
    transfer: pd.DataFrame = field(default_factory=lambda: TRANSFER.schema.empty_table().to_pandas())
    setup: Mapping[str, Any] = field(default_factory=dict)
    engines: Mapping[str, Sequence[str]] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)
    printed: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    facts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def target(self) -> float:
        """Coverage that the prediction sets guarantee."""
        return 1 - self.scoring.alpha

    @cached_property
    def headlines(self) -> pd.DataFrame:
        """The leaderboard without sets of other calibrations or another alpha than the main one."""
        frame = self.leaderboard
        alike = frame["alpha"].isna() | ((frame["alpha"] - self.scoring.alpha).abs() < 1e-9)
        return frame[alike & frame["calibration"].isin(("", MARGINAL))]

    @cached_property
    def _numbers(self) -> Numbers:
        return Numbers(self.headlines, KEYS)

    @cached_property
    def _outputs(self) -> dict[str, tuple[str, ...]]:
        frame = self.leaderboard[["dataset", "output"]].drop_duplicates()
        return {
            str(name): tuple(output for output in OUTPUTS if output in set(group["output"]))
            for name, group in frame.groupby("dataset")
        }

    def outputs(self, dataset: str) -> tuple[str, ...]:
        """The outputs of a dataset; the first is what all headlines rest on: letters where they are."""
        return self._outputs[dataset]

    def of_first_output(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The rows of any of the tables that are of the first output of their dataset."""
        return frame[
            frame["output"] == frame["dataset"].map({name: self.outputs(name)[0] for name in self._outputs})
        ]

    @cached_property
    def datasets(self) -> tuple[str, ...]:
        """Names of the datasets that have scores: those with most items first, too small ones last."""
        most = self.leaderboard.groupby("dataset")["items"].max()
        return tuple(sorted(map(str, most.index), key=lambda name: (self.is_small(name), -most[name], name)))

    @cached_property
    def large(self) -> tuple[str, ...]:
        """Datasets that claims may rest on: large enough, with models that claims may name."""
        return tuple(name for name in self.datasets if self.candidates(name) and not self.is_small(name))

    @cached_property
    def _groups(self) -> dict[str, int]:
        return {str(name): int(n) for name, n in self.items.groupby("dataset")["group"].nunique().items()}

    def groups(self, dataset: str) -> int:
        """Groups of its questions, each of which counts as one observation."""
        return self._groups.get(dataset, 0)

    def questions(self, dataset: str) -> int:
        """The questions that its accuracies rest on, the most of any model."""
        return max((number.items for number in self.numbers(dataset, "accuracy").values()), default=0)

    def is_small(self, dataset: str) -> bool:
        """Whether nothing may be ranked, averaged or named by it."""
        return self.groups(dataset) < MINIMUM

    def calibrated(self, dataset: str, model: str, **where: str) -> bool:
        """Whether its sets rest on finite thresholds in every split. where: keywords of `number`."""
        infinite = self.number(dataset, model, INFINITE, **where)
        return infinite is None or infinite.value == 0

    @cached_property
    def _away(self) -> frozenset[Place]:
        rates = self.leaderboard["metric"].isin(OF_GATE)
        return unranked(self.leaderboard[rates].to_dict("records"))

    def candidates(self, dataset: str) -> tuple[str, ...]:
        """Models that claims about a dataset may name, in the order of `models`: the gate of all claims.

        Left out is whose answers are not what was scored (vouch/metrics/comparison/leaderboard.py).
        """
        output = self.outputs(dataset)[0]
        return tuple(model for model in self.models(dataset) if (model, dataset, output) not in self._away)

    def left_out(self, dataset: str) -> tuple[str, ...]:
        """The other models of a dataset."""
        return tuple(model for model in self.models(dataset) if model not in self.candidates(dataset))

    @cached_property
    def _headlines_of(self) -> dict[str, pd.DataFrame]:
        groups = self.of_first_output(self.headlines).groupby("dataset", sort=False)
        return {str(name): group for name, group in groups}

    def headlines_of(self, dataset: str) -> pd.DataFrame:
        """The headlines of a dataset, of its first output."""
        return self._headlines_of.get(dataset, self.headlines.iloc[:0])

    def metrics(self, dataset: str) -> frozenset[str]:
        """Names of the metrics that a dataset has in its first output."""
        return frozenset(self.headlines_of(dataset)["metric"].unique())

    def categories(self, dataset: str) -> tuple[str, ...]:
        """Categories of a dataset that have scores, in alphabetical order."""
        return tuple(sorted(set(self.headlines_of(dataset)["category"].unique()) - {"all"}))

    @cached_property
    def _variations(self) -> dict[str, tuple[str, ...]]:
        # Means over several variations are of none.
        frame = self.leaderboard.loc[self.leaderboard["variation"] != "", ["dataset", "variation"]]
        found = frame.drop_duplicates().groupby("dataset")["variation"]
        return {str(k): tuple(sorted(v, key=lambda name: (name != ORIGINAL, name))) for k, v in found}

    def variations(self, dataset: str) -> tuple[str, ...]:
        """Variations of a dataset; the first, `original` where there is one, is the one of all headlines."""
        return self._variations[dataset]

    @cached_property
    def _models(self) -> dict[str, tuple[str, ...]]:
        def order(dataset: str, model: str) -> tuple[float, str]:
            number = self.number(dataset, model, "accuracy")
            return (-number.value if number else 1.0, model)

        return {
            str(name): tuple(sorted(map(str, models.unique()), key=partial(order, str(name))))
            for name, models in self.leaderboard.groupby("dataset")["model"]
        }

    def models(self, dataset: str) -> tuple[str, ...]:
        """Models with scores on a dataset, best accuracy of the clean protocol first, ties by name."""
        return self._models[dataset]

    @cached_property
    def all_models(self) -> tuple[str, ...]:
        """Every model, in alphabetical order."""
        return tuple(sorted(self.leaderboard["model"].unique()))

    def number(
        self,
        dataset: str,
        model: str,
        metric: str,
        score: str = "",
        protocol: str = "clean",
        category: str = "all",
        variation: str | None = None,
        output: str | None = None,
    ) -> Number | None:
        """One cell of the headlines; None where it is missing or null.

        variation: that of the headlines by default; empty for a mean over several.
        """
        if variation is None:
            variation = self.variations(dataset)[0]
        asked = (dataset, output or self.outputs(dataset)[0], variation)
        return self._numbers.get((*asked, protocol, category, score, metric, model))

    def numbers(self, dataset: str, metric: str, score: str = "", **where: str) -> dict[str, Number]:
        """The number of each model that has one, best accuracy first. where: keywords of `number`."""
        found = {model: self.number(dataset, model, metric, score, **where) for model in self.models(dataset)}
        return {model: number for model, number in found.items() if number}

    @cached_property
    def comparisons(self) -> Comparisons:
        """Differences by first outputs, over all datasets that are large enough."""
        frame = self.of_first_output(self.differences)
        return Comparisons(frame.assign(p=frame["p"].mask(frame["dataset"].map(self.is_small).astype(bool))))

    @cached_property
    def _chances(self) -> dict[str, float]:
        asked = self.items[self.items["options"].map(len) > 0]
        share = asked["answers"].map(len) / asked["options"].map(len)
        return {str(name): float(mean) for name, mean in share.groupby(asked["dataset"]).mean().items()}

    def chance(self, dataset: str) -> float:
        """Accuracy of a guess among the native options; 0 where there are none to guess among."""
        return self._chances.get(dataset, 0.0)

    @cached_property
    def _plain(self) -> dict[str, pd.DataFrame]:
        frame = self.of_first_output(self.outcomes)
        plain = frame["variation"] == frame["dataset"].map({k: v[0] for k, v in self._variations.items()})
        return {str(name): group for name, group in frame[plain].groupby("dataset")}

    def plain_outcomes(self, dataset: str) -> pd.DataFrame:
        """Outcomes of all models on a dataset in the variation and output of the headlines."""
        return self._plain.get(dataset, self.outcomes.iloc[:0])

    def graded(self, dataset: str, model: str) -> pd.DataFrame:
        """Those of one model that have a grade and a confidence."""
        frame = self.plain_outcomes(dataset)
        return frame[frame["model"] == model].dropna(subset=["clean_correct", "confidence"])

    def confidences(self, dataset: str, model: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of the same answers their confidence, their grade and the number of their group."""
        own = self.graded(dataset, model)
        groups = np.unique(own["group"].to_numpy(str), return_inverse=True)[1]
        return own["confidence"].to_numpy(float), own["clean_correct"].to_numpy(float), groups


PUBLISHED = Path("docs/published")
"""Figures that papers printed."""
COMPARED = {
    "leaderboard": (LEADERBOARD, LEADERBOARD_PATH),
    "differences": (DIFFERENCES, DIFFERENCES_PATH),
    "reproduced": (REPRODUCED, REPRODUCED_PATH),
    "costs": (VARIATIONS, VARIATIONS_PATH),
    "rankings": (RANKINGS, RANKINGS_PATH),
    "ranked": (RANKED, RANKED_PATH),
    "dimensions": (DIMENSIONS, DIMENSIONS_PATH),
    "distances": (DISTANCES, DISTANCES_PATH),
    "transfer": (TRANSFER, TRANSFER_PATH),
    "trends": (TRENDS, TRENDS_PATH),
}
"""Field of `Evidence` -> the table of `compare` that fills it."""
# The pages need no more of these two tables; the rest of them would fill memory.
OF_OUTCOMES = (
    *("model", "dataset", "prompt", "group", "variation", "output", "parser", "predicted", "chosen"),
    *("clean_correct", "confidence", "clean_size_lac"),
)
OF_ITEMS = ("group", "options", "answers", "images", "category", "flags")


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _all(table: Table, paths: Sequence[Path], columns: Sequence[str]) -> pd.DataFrame:
    empty = pa.schema([table.schema.field(name) for name in columns]).empty_table()
    return pa.concat_tables([empty, *(table.read(path, columns) for path in paths)]).to_pandas()


def _by_dataset(table: Table, paths: Iterable[Path], columns: Sequence[str]) -> pd.DataFrame:
    """Tables whose file name is the dataset, which becomes a column."""
    parts = [table.read(path, columns).to_pandas().assign(dataset=path.stem) for path in paths]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=[*columns, "dataset"])


def read_printed(paths: Iterable[Path]) -> dict[str, pd.DataFrame]:
    """What papers printed, to the printed digit."""
    return {path.stem: pd.read_csv(path, dtype=str, keep_default_na=False) for path in paths}


def engines(paths: Iterable[Path]) -> dict[str, list[str]]:
    """The engines, with their revisions, that a model's answers name."""
    tables = {path("m", "d").suffixes[0]: table for table, path in RESPONSES.values()}
    found: dict[str, set[str]] = {}
    for path in paths:
        names = tables[path.suffixes[0]].read(path, ["engine"])["engine"].unique().to_pylist()
        found.setdefault(path.name.partition(".")[0], set()).update(filter(None, names))
    return {model: sorted(names) for model, names in found.items()}


def load(
    inputs: Iterable[Path],
    scoring: Scoring,
    setup: Mapping[str, Any] | None = None,
    known: Mapping[str, Facts] | None = None,
) -> Evidence:
    """Reads the declared inputs of the stage; code among them is passed over. known: facts by model.

    Raises UserError where a table is missing or damaged, or where nothing was scored.
    """
    paths = sorted(inputs)
    outcomes = [path for path in paths if path == outcomes_path(path.name.partition(".")[0])]
    items, rejects, defects, rewrites = (
        [path for path in paths if path == of(path.stem)]
        for of in (items_path, rejects_path, defects_path, rewrites_path)
    )
    published = [path for path in paths if path.parent == PUBLISHED and path.suffix == ".csv"]
    responses = [path for path in paths if path.parent.parent == letters_path("", "").parent]
    every = [*(path for _, path in COMPARED.values()), *outcomes, *items, *rejects, *defects, *rewrites]
    every += [*published, *responses]
    return Evidence(
        **_compared(paths),
        outcomes=_all(OUTCOMES, outcomes, OF_OUTCOMES),
        items=_by_dataset(ITEMS, items, OF_ITEMS),
        rejects=_all(REJECTS, rejects, REJECTS.schema.names),
        defects=_by_dataset(DEFECTS, defects, DEFECTS.schema.names),
        rewrites=_by_dataset(REWRITES, rewrites, REWRITES.schema.names),
        scoring=scoring,
        setup=setup or {},
        engines=engines(responses),
        digests={path.as_posix(): _digest(path) for path in every},
        printed=read_printed(published),
        facts=known or {},
    )


def _compared(paths: Sequence[Path]) -> dict[str, pd.DataFrame]:
    """The tables of `compare`, by field of `Evidence`."""
    for _, path in COMPARED.values():
        if path not in paths:
            raise UserError(
                f"{path}: not among the inputs of report; declare it in dvc.yaml and run `dvc repro`"
            )
    found = {name: table.read(path).to_pandas() for name, (table, path) in COMPARED.items()}
    if found["leaderboard"].empty:
        raise UserError(
            f"{LEADERBOARD_PATH}: holds no scores; name a model in params.yaml and run `dvc repro`"
        )
    return found
