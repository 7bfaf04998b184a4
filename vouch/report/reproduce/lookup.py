"""The leaderboard, asked metric by metric: long frames with both protocols side by side."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd

from vouch.report.evidence import Evidence
from vouch.tables.prompts import LETTERS, ORIGINAL

FAITHFUL = "faithful"
CLEAN = "clean"
MEAN = "Avg."
KEYS = ["model", "dataset"]
# value: of the faithful protocol; clean, low, high and the ranks that intervals allow: of the clean one
WHERE = ["output", "variation", "score", "category"]
CLEAN_ONLY = ["low", "high", "rank_low", "rank_high"]
COLUMNS = ["value", "clean", "low", "high", "rank_low", "rank_high", "items"]


Better = Literal["high", "low", ""]


@dataclass(frozen=True)
class Measure:
    """A kind of number in a table of a paper.

    label: as the paper heads it. scale: what a value is multiplied by. better: whether models are ranked by
    it, and how. only: the one protocol that has it; the other is then not asked.
    """

    label: str
    metric: str
    score: str = ""
    digits: int = 2
    scale: float = 100.0
    better: Better = ""
    output: str = LETTERS
    variation: str = ORIGINAL
    category: str = "all"
    only: Literal["", "clean"] = ""


@dataclass(frozen=True)
class Lookup:
    """Metrics of all the evidence there is; what was looked up once is remembered."""

    evidence: Evidence
    _found: dict[str, tuple[pd.DataFrame, Mapping[Any, np.ndarray]]] = field(default_factory=dict, repr=False)

    @cached_property
    def _places(self) -> Mapping[Any, np.ndarray]:
        places: Mapping[Any, np.ndarray] = self.evidence.headlines.groupby("metric", sort=False).indices
        return places

    def rows(self, metric: str) -> pd.DataFrame:
        """All rows of the leaderboard with a metric; none where nobody measured it."""
        return self.evidence.headlines.iloc[self._places.get(metric, [])]

    def _both(self, metric: str) -> tuple[pd.DataFrame, Mapping[Any, np.ndarray]]:
        """Both protocols of a metric side by side, and which rows belong to each place of WHERE."""
        if metric not in self._found:
            frame = self.rows(metric)
            frame = frame[frame["value"].notna()]
            clean = frame.loc[frame["protocol"] == CLEAN, [*WHERE, *KEYS, "value", *CLEAN_ONLY, "items"]]
            faithful = frame.loc[frame["protocol"] == FAITHFUL, [*WHERE, *KEYS, "value", "items"]]
            both = clean.rename(columns={"value": "clean"}).merge(
                faithful.rename(columns={"items": "rows"}), on=[*WHERE, *KEYS], how="outer"
            )
            both["items"] = both["rows"].fillna(both["items"])
            places = both.groupby(WHERE, sort=False).indices
            self._found[metric] = both[[*KEYS, *COLUMNS]], places
        return self._found[metric]

    def of(self, measure: Measure) -> pd.DataFrame:
        """model, dataset and COLUMNS: one row for each pair that has the number in either protocol."""
        frame, places = self._both(measure.metric)
        place = (measure.output, measure.variation, measure.score, measure.category)
        found = frame.iloc[places.get(place, [])]
        if measure.only:
            found = found.assign(value=found["clean"]).dropna(subset=["value"])
        return found

    def long(self, measures: Sequence[Measure], datasets: Iterable[str] | None = None) -> pd.DataFrame:
        """The same for several measures, `measure` being the place in the list."""
        found = [self.of(measure).assign(measure=place) for place, measure in enumerate(measures)]
        frame = pd.concat(found, ignore_index=True)
        return frame if datasets is None else frame[frame["dataset"].isin(list(datasets))]

    @cached_property
    def order(self) -> tuple[str, ...]:
        """All models, best mean accuracy over the datasets first."""
        frame = self.rows("accuracy")
        frame = frame[(frame["variation"] == ORIGINAL) & (frame["category"] == "all")]
        mean = frame[frame["protocol"] == CLEAN].groupby("model")["value"].mean()
        known = sorted(mean.index, key=lambda model: (-mean[model], model))
        return (*map(str, known), *(name for name in self.evidence.all_models if name not in mean.index))

    def in_order(self, frame: pd.DataFrame, by: Sequence[str], model: str = "model") -> pd.DataFrame:
        """Rows sorted by columns, of which `model` goes by `order`; a name that is no model comes last."""
        place = {name: place for place, name in enumerate(self.order)}

        def key(column: pd.Series) -> pd.Series:
            return column.map(place).fillna(len(place)) if column.name == model else column

        return frame.sort_values(list(by), key=key, kind="stable")


def with_mean(
    frame: pd.DataFrame,
    over: Sequence[str],
    by: Sequence[str] = ("measure", "model"),
    complete: bool = True,
) -> pd.DataFrame:
    """Adds the mean over the datasets `over`, if they are several.

    complete: only where all of them have a number; else over those that have one.
    The mean of a clean value has no interval of its own here, and no rank.
    """
    if len(over) < 2:
        return frame
    grouped = frame[frame["dataset"].isin(over)].groupby(list(by), sort=False)
    mean = grouped[["value", "clean"]].mean()
    counts = grouped[["value", "clean"]].count()
    mean = mean.where(counts == len(over)) if complete else mean
    mean = mean.dropna(how="all").reset_index().assign(dataset=MEAN)
    return pd.concat([frame, mean], ignore_index=True)


def columns(datasets: Iterable[str], names: Mapping[str, str]) -> dict[str, str]:
    """Datasets with the label of a column: those of the paper first and in its order, others as they are."""
    here = list(datasets)
    first = {name: label for name, label in names.items() if name in here}
    return first | {name: name for name in here if name not in first}


def own(datasets: Iterable[str], names: Mapping[str, str]) -> tuple[str, ...]:
    """The paper's own datasets that are here; all that are here where there is none of them."""
    here = tuple(datasets)
    return tuple(name for name in names if name in here) or here
