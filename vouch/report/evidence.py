"""What the earlier stages found: their tables, and look-ups that every part of the report shares."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import median
from typing import Any

import numpy as np
import pandas as pd

from vouch.report.config import Scoring
from vouch.report.numbers import Number, Numbers, Pair, pairs
from vouch.tables.prompts import ORIGINAL, OUTPUTS

MARGINAL = "marginal"
KEYS = ("dataset", "output", "variation", "protocol", "category", "score", "metric", "model")


@dataclass(frozen=True)
class Evidence:
    """Frames with the columns of the contract tables of the same names, `costs` of the table `variations`;
    `items`, `defects` and `rewrites` have `dataset` as well.

    setup: the parameters datasets, models, variations and train, and `locked`, the entries of
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
    def _outputs_of(self) -> dict[str, tuple[str, ...]]:
        frame = self.leaderboard[["dataset", "output"]].drop_duplicates()
        return {
            str(name): tuple(output for output in OUTPUTS if output in set(group["output"]))
            for name, group in frame.groupby("dataset")
        }

    def outputs(self, dataset: str) -> tuple[str, ...]:
        """What was read out on a dataset; the first is what all headlines rest on: letters where they are."""
        return self._outputs_of[dataset]

    @cached_property
    def datasets(self) -> tuple[str, ...]:
        """Names of the datasets that have scores: those with most items first, too small ones last."""
        most = self.leaderboard.groupby("dataset")["items"].max()
        return tuple(sorted(map(str, most.index), key=lambda name: (name in self._small, -most[name], name)))

    @cached_property
    def judged(self) -> tuple[str, ...]:
        """Datasets that a verdict may rest on; all of them where all are too small."""
        return tuple(name for name in self.datasets if name not in self._small) or self.datasets

    @cached_property
    def _small(self) -> frozenset[str]:
        """Datasets where too few rows calibrate in most splits: their sets hold every option."""
        frame = self.headlines
        rows = frame[(frame["metric"] == "infinite_threshold_rate") & (frame["protocol"] == "clean")]
        rows = rows[rows["category"] == "all"]
        return frozenset(str(name) for name, group in rows.groupby("dataset") if group["value"].min() > 0.5)

    def leading(self, dataset: str) -> pd.DataFrame:
        """The headlines of a dataset, of its first output."""
        return self.headlines.iloc[self._places.get((dataset, self.outputs(dataset)[0]), [])]

    @cached_property
    def _places(self) -> Mapping[tuple[str, str], np.ndarray]:
        found: Mapping[tuple[str, str], np.ndarray] = self.headlines.groupby(
            ["dataset", "output"], sort=False
        ).indices
        return found

    @cached_property
    def _measured(self) -> dict[str, dict[str, frozenset[str]]]:
        """Of the leading headlines of each dataset: the names of metrics and of categories."""
        frame = self.headlines[["dataset", "output", "metric", "category"]].drop_duplicates()
        first = frame["output"] == frame["dataset"].map(
            {name: self.outputs(name)[0] for name in self.datasets}
        )
        return {
            str(dataset): {name: frozenset(group[name].unique()) for name in ("metric", "category")}
            for dataset, group in frame[first].groupby("dataset")
        }

    def metrics(self, dataset: str) -> frozenset[str]:
        """Names of the metrics that a dataset has in its first output."""
        return self._measured.get(dataset, {}).get("metric", frozenset())

    @cached_property
    def _variations(self) -> dict[str, tuple[str, ...]]:
        # Means over several variations are of none.
        frame = self.leaderboard.loc[self.leaderboard["variation"] != "", ["dataset", "variation"]]
        frame = frame.drop_duplicates()
        found = {name: sorted(group["variation"]) for name, group in frame.groupby("dataset")}
        return {str(k): tuple(sorted(v, key=lambda name: (name != ORIGINAL, name))) for k, v in found.items()}

    def variations(self, dataset: str) -> tuple[str, ...]:
        """Variations of a dataset; the first, `original` where there is one, is the one of all headlines."""
        return self._variations[dataset]

    @cached_property
    def _ordered(self) -> dict[str, tuple[str, ...]]:
        ordered: dict[str, tuple[str, ...]] = {}
        for name, group in self.leaderboard.groupby("dataset"):
            dataset = str(name)
            accuracy = {
                str(model): number.value if (number := self.number(dataset, str(model), "accuracy")) else -1.0
                for model in group["model"].unique()
            }
            ordered[dataset] = tuple(sorted(accuracy, key=lambda model: (-accuracy[model], model)))
        return ordered

    def models(self, dataset: str) -> tuple[str, ...]:
        """Models with scores on a dataset, best accuracy of the clean protocol first, ties by name."""
        return self._ordered[dataset]

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

    def leading_differences(self, dataset: str) -> pd.DataFrame:
        """The differences of a dataset in its first output."""
        frame = self.differences
        return frame[(frame["dataset"] == dataset) & (frame["output"] == self.outputs(dataset)[0])]

    @cached_property
    def _pairs(self) -> dict[tuple[str, str, str], Pair]:
        frame = self.differences
        first = frame["dataset"].map({name: self.outputs(name)[0] for name in self.datasets})
        return pairs(frame[frame["output"] == first])

    def pair(self, dataset: str, first: str, second: str) -> Pair | None:
        """The paired comparison of two models, as `first` minus `second`; None where it was not made."""
        return self._pairs.get((dataset, first, second))

    @cached_property
    def _effects(self) -> dict[str, float]:
        found: dict[str, list[float]] = {}
        for (dataset, first, second), pair in self._pairs.items():
            if first < second and pair.minimum_detectable_effect is not None:
                found.setdefault(dataset, []).append(pair.minimum_detectable_effect)
        return {dataset: median(each) for dataset, each in found.items()}

    def minimum_detectable_effect(self, dataset: str) -> float | None:
        """Minimum detectable effect, of the median pair of a dataset; None without pairs."""
        return self._effects.get(dataset)

    def leaders(self, dataset: str) -> tuple[str, ...]:
        """The model with the best accuracy, and those not significantly worse.

        Paired comparisons decide; where there is none for a pair, the ranks that the intervals allow.
        """
        best, *rest = self.models(dataset)
        return (best, *(model for model in rest if not self._behind(dataset, best, model)))

    def _behind(self, dataset: str, best: str, model: str) -> bool:
        pair = self.pair(dataset, best, model)
        if pair is not None:
            return pair.significant
        number = self.number(dataset, model, "accuracy")
        return number is None or (number.rank_low is not None and number.rank_low > 1)

    @cached_property
    def _chances(self) -> dict[str, float]:
        asked = self.items[self.items["options"].map(len) > 0]
        share = asked["answers"].map(len) / asked["options"].map(len)
        return {str(name): float(mean) for name, mean in share.groupby(asked["dataset"]).mean().items()}

    def chance(self, dataset: str) -> float:
        """Accuracy of a guess among the native options; 0 where there are none to guess among."""
        return self._chances.get(dataset, 0.0)

    def categories(self, dataset: str) -> tuple[str, ...]:
        """Categories of a dataset that have scores, in alphabetical order."""
        return tuple(sorted(self._measured.get(dataset, {}).get("category", frozenset()) - {"all"}))

    @cached_property
    def _plain(self) -> dict[str, pd.DataFrame]:
        frames = {}
        for name, group in self.outcomes.groupby("dataset"):
            dataset = str(name)
            if dataset in self._variations:
                first = (group["variation"] == self.variations(dataset)[0]) & (
                    group["output"] == self.outputs(dataset)[0]
                )
                frames[dataset] = group[first]
        return frames

    def plain_outcomes(self, dataset: str) -> pd.DataFrame:
        """Outcomes of all models on a dataset in the variation and output of the headlines."""
        return self._plain.get(dataset, self.outcomes.iloc[:0])
