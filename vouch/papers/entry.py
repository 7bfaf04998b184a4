"""Tables and figures of papers, and their sources: our numbers by metric, and the published ones.

First come facts about models other than their answers: names in the papers, family, series and size.
"""

import csv
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, cached_property
from importlib.resources import files
from typing import Any, Literal

import numpy as np
import pandas as pd

from vouch.report.evidence import Evidence
from vouch.report.page import FigureSpec
from vouch.report.table import Cell, Column, Grid
from vouch.report.vegalite import Chart
from vouch.tables.asked import LETTERS, ORIGINAL

Facts = Mapping[str, Any]
"""The keys are those of `facts` in models.lock; `total_parameters` and the like are numbers of parameters."""
# `_7b` at the end or before another part of a name, `_1_8b` for 1.8
SIZE = re.compile(r"(?:^|_)(\d+(?:_\d+)?)b(?=_|$)")


def facts(
    locked: Mapping[str, Mapping[str, Any]], train: Mapping[str, Mapping[str, Any]]
) -> dict[str, Facts]:
    """The facts by model: those of models.lock; for demo models, family and size.

    The size of a demo model is 12 x layers x width^2, the weights of its transformer blocks without
    embeddings and image encoder (Kaplan et al. 2020).
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
    """Number of parameters: of the whole model, or else of its language model, or else as its name says."""
    found = known.get(model, {})
    for key in ("total_parameters", "language_model_parameters"):
        if found.get(key):
            return float(found[key])
    named = SIZE.findall(model)
    # A name may hold the size of an encoder or of one expert as well: the largest counts.
    return max(float(text.replace("_", ".")) for text in named) * 1e9 if named else None


def family(model: str, known: Mapping[str, Facts]) -> str:
    """The family on record, or else the name up to its first number."""
    stated = known.get(model, {}).get("family")
    return str(stated) if stated else re.split(r"_?v?\d", model, maxsplit=1)[0].strip("_") or model


def series(model: str, known: Mapping[str, Facts]) -> str:
    """Models that differ only in size: the series on record, or else the family."""
    return str(known.get(model, {}).get("series") or family(model, known))


@cache
def _named() -> list[dict[str, str]]:
    with files(__package__).joinpath("names.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def names_in(paper: str, group: str) -> dict[str, str]:
    """A paper's models or datasets, in its order: our name -> the paper's label (names.csv)."""
    rows = (row for row in _named() if (row["paper"], row["group"]) == (paper, group))
    return {row["name"]: row["label"] or row["name"] for row in rows}


def papers_with(datasets: Collection[str]) -> list[str]:
    """The papers with a dataset of their own among these; a paper is named after its file."""
    rows = (row for row in _named() if not row["group"].startswith("models") and row["name"] in datasets)
    return sorted({row["paper"] for row in rows})


FAITHFUL = "faithful"
CLEAN = "clean"
MEAN = "Avg."
KEYS = ["model", "dataset"]
PLACE = ["metric", "output", "variation", "score", "category"]
# `value` is of the faithful protocol; `clean`, the interval and the ranks that it allows are of the clean one
CLEAN_ONLY = ["low", "high", "rank_low", "rank_high"]
COLUMNS = ["value", "clean", *CLEAN_ONLY, "items"]
Better = Literal["high", "low", ""]


UNSIZED = "the sizes of fewer than two models are known"


class Absent(Exception):
    """A table or figure cannot be built here. Its message is the reason, a few words shown after the name."""


@dataclass(frozen=True)
class Measure:
    """A kind of number in a table of a paper.

    label: the paper's heading. scale: factor for values. better: whether high or low values rank first, empty
    if models are not ranked by it. only: the protocol, if just one has it.
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
    """Looks up metrics in the evidence, with a paper's names for models and datasets."""

    evidence: Evidence

    def rows(self, metric: str) -> pd.DataFrame:
        """All rows of the leaderboard with a metric; empty if it was not measured."""
        return self.evidence.headlines[self.evidence.headlines["metric"] == metric]

    @cached_property
    def _both(self) -> tuple[pd.DataFrame, Mapping[Any, np.ndarray]]:
        """Both protocols side by side, and the rows that belong to each combination of PLACE."""
        frame = self.evidence.headlines.dropna(subset=["value"]).astype({"items": "Int64"})
        clean = frame.loc[frame["protocol"] == CLEAN, [*PLACE, *KEYS, "value", *CLEAN_ONLY, "items"]]
        faithful = frame.loc[frame["protocol"] == FAITHFUL, [*PLACE, *KEYS, "value", "items"]]
        both = clean.merge(faithful, on=[*PLACE, *KEYS], how="outer", suffixes=("_clean", ""))
        both = both.rename(columns={"value_clean": "clean"}).fillna({"items": both["items_clean"]})
        return both[[*KEYS, *COLUMNS]], both.groupby(PLACE, sort=False).indices

    def of(self, measure: Measure) -> pd.DataFrame:
        """model, dataset and COLUMNS: one row for each pair that has the number in at least one protocol."""
        frame, places = self._both
        found = frame.iloc[places.get(tuple(getattr(measure, name) for name in PLACE), [])]
        return found.assign(value=found["clean"]).dropna(subset=["value"]) if measure.only else found

    def long(self, measures: Sequence[Measure], datasets: Iterable[str] | None = None) -> pd.DataFrame:
        """Like `of`, for several measures; the column `measure` is the index in the list."""
        found = [self.of(measure).assign(measure=index) for index, measure in enumerate(measures)]
        frame = pd.concat(found, ignore_index=True)
        return frame if datasets is None else frame[frame["dataset"].isin(list(datasets))]

    @cached_property
    def order(self) -> tuple[str, ...]:
        """All models, by mean accuracy over the datasets, the best first."""
        frame = self.rows("accuracy")
        frame = frame[(frame["variation"] == ORIGINAL) & (frame["category"] == "all")]
        mean = frame[frame["protocol"] == CLEAN].groupby("model")["value"].mean()
        known = sorted(mean.index, key=lambda model: (-mean[model], model))
        return (*map(str, known), *(name for name in self.evidence.all_models if name not in mean.index))

    def in_order(self, frame: pd.DataFrame, by: Sequence[str], model: str = "model") -> pd.DataFrame:
        """Rows sorted by these columns; the column `model` follows `order`, with names of no model last."""
        index = {name: index for index, name in enumerate(self.order)}

        def key(column: pd.Series) -> pd.Series:
            return column.map(index).fillna(len(index)) if column.name == model else column

        return frame.sort_values(list(by), key=key, kind="stable")

    def models(self, names: Mapping[str, str]) -> dict[str, str]:
        """All models with their labels: the paper's models in its order, then the others, best first."""
        return _labelled(self.order, names)

    def datasets(self, names: Mapping[str, str]) -> dict[str, str]:
        """All datasets with their labels: the paper's datasets in its order, then the others."""
        return _labelled(self.evidence.datasets, names)

    def own(self, names: Mapping[str, str]) -> tuple[str, ...]:
        """Those of the paper's datasets that are here, or all datasets if none is."""
        here = self.evidence.datasets
        return tuple(name for name in names if name in here) or here

    def printed(self, file: str, **chosen: str) -> list[dict[str, str]]:
        """Rows of a file of docs/published; none if it is missing. chosen: required values of columns."""
        frame = self.evidence.printed.get(file)
        rows = [] if frame is None else frame.to_dict("records")
        return [row for row in rows if all(row[name] == value for name, value in chosen.items())]

    def sizes(self, models: Iterable[str], key: str = "") -> tuple[dict[str, float], dict[str, str]]:
        """Numbers of parameters of the models, if known, and the series that these models belong to.

        key: the fact that gives the number, such as `total_parameters`; by default see `size`. Raises Absent
        unless two different sizes are known.
        """
        known = self.evidence.facts
        counts = {name: known.get(name, {}).get(key) if key else size(name, known) for name in models}
        sizes = {name: float(count) for name, count in counts.items() if count}
        if len(set(sizes.values())) < 2:
            raise Absent(f"fewer than two sizes are known as {key}" if key else UNSIZED)
        return sizes, {name: series(name, known) for name in sizes}


def _labelled(here: Sequence[str], names: Mapping[str, str]) -> dict[str, str]:
    first = {name: label for name, label in names.items() if name in here}
    return first | {name: name for name in here if name not in first}


def with_mean(frame: pd.DataFrame, over: Sequence[str], complete: bool = True) -> pd.DataFrame:
    """Adds the mean over the datasets `over` that are in the frame, if there are several.

    complete: only for models that have a number on all of them; otherwise each model's mean is over those
    that it has. The mean has no interval and no rank.
    """
    asked = set(frame["dataset"])
    over = [dataset for dataset in over if dataset in asked]
    if len(over) < 2:
        return frame
    grouped = frame[frame["dataset"].isin(over)].groupby(["measure", "model"], sort=False)[["value", "clean"]]
    mean = grouped.mean()
    mean = mean.where(grouped.count() == len(over)) if complete else mean
    mean = mean.dropna(how="all").reset_index().assign(dataset=MEAN)
    return pd.concat([frame, mean], ignore_index=True)


@dataclass(frozen=True)
class Built:
    """The result of a builder. beside: tables of published numbers beside ours. sentences: remarks for the
    reader.

    A table's name is a suffix that is unique in its entry, such as `-likelihood`; the title of a figure may
    start with its part, such as ` (a): `. `Entry.built` puts the number in the paper before both.
    """

    grids: Sequence[Grid] = ()
    beside: Sequence[Grid] = ()
    figures: Sequence[FigureSpec] = ()
    sentences: Sequence[str] = ()


def figure(title: str, description: str, chart: Chart, part: str = "") -> Built:
    """One figure. description: the figure in words. part: such as `(a)`, if the figure has several parts."""
    title = f"{part and ' ' + part}: {title}"
    return Built(figures=(FigureSpec("of-paper", "", title, "", description, chart),))


def listing(caption: str, columns: Sequence[Column], rows: Sequence[Sequence[Cell]], reason: str) -> Built:
    """One table of cells. Raises Absent with the reason if it has no rows."""
    if not rows:
        raise Absent(reason)
    return Built((Grid("", caption, columns, rows),))


def named(name: str, label: str) -> Cell:
    """The paper's label of a model, dataset or prompt, with our name in small print if it differs."""
    return Cell(label, "" if label == name else name)


def joined(parts: Iterable[Built], reason: str = "nothing of this was measured") -> Built:
    """Several results as one. Raises Absent with the reason if there are none."""
    parts = tuple(parts)
    if not parts:
        raise Absent(reason)
    return Built(*([each for part in parts for each in getattr(part, f.name)] for f in fields(Built)))


@dataclass(frozen=True)
class Entry:
    """name: as in the paper, `Table IV`. shows: one sentence. build: the builder, which may raise Absent."""

    name: str
    shows: str
    build: Callable[[Lookup], Built]

    @property
    def anchor(self) -> str:
        """`Table IV` -> `table-iv`."""
        return self.name.lower().replace(" ", "-")

    def built(self, slug: str, lookup: Lookup) -> Built:
        """The built entry, named and numbered as in the paper. slug: that of the paper. Raises Absent."""
        made = self.build(lookup)
        place, number = f"{slug}-{self.anchor}", self.name.replace("Figure", "Fig.")

        def numbered(grids: Sequence[Grid]) -> list[Grid]:
            return [replace(g, name=f"{place}{g.name}", caption=f"{number}: {g.caption}") for g in grids]

        figures = [
            replace(spec, file=f"{place}-{part}", title=f"{number}{spec.title}")
            for part, spec in enumerate(made.figures, start=1)
        ]
        return Built(numbered(made.grids), numbered(made.beside), figures, made.sentences)


@dataclass(frozen=True)
class Paper:
    """slug: the name of its file, with which names of its figures and anchors begin. title, cite: its names.
    note: one or two sentences on the basis of its tables here. A paper is shown if one of its datasets
    (names.csv) has scores here.
    """

    slug: str
    title: str
    cite: str
    note: str
    entries: Sequence[Entry]
