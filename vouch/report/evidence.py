"""The results of the earlier stages, in a form in which every part of the report can look them up.

`Evidence` holds their tables as data frames. Cells of the leaderboard and differences of models are found by
name (numbers.py).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from vouch.metrics.blind import BLIND_RATE, blind, chance_of
from vouch.metrics.unranked import OF_GATE, UNANSWERED, Place, outputs_of, unanswered_places, unranked
from vouch.report import formatting
from vouch.report.config import Scoring
from vouch.report.gates import (
    INFINITE,
    MINIMUM,
    interval_holds,
)
from vouch.report.numbers import Comparisons, Number, Numbers
from vouch.tables.asked import ORIGINAL
from vouch.tables.results import BLIND, TRANSFER


class AnswerCounts(NamedTuple):
    """What the table of one model, dataset and request type holds.

    answers: one for each option, and for each sample of a text. unanswered: rows without an answer. tokens:
    generated ones, None if some texts have no log-probabilities, which count them. engine, device, mode: the
    different values of these columns. rows: the most of a forward pass, None if unknown.
    """

    model: str
    dataset: str
    output: str
    prompts: int
    answers: int
    unanswered: int
    tokens: int | None
    engine: Sequence[str]
    device: Sequence[str]
    mode: Sequence[str]
    rows: int | None


PAIR = ("first", "second")
MARGINAL = "marginal"
NO_SAMPLE = "no_sample"
EXAMPLES = ["dataset", "model", "item", "question", ORIGINAL, NO_SAMPLE]
"""The last two are the texts of these prompts."""
KEYS = ("dataset", "output", "variation", "protocol", "category", "score", "metric", "model")


@dataclass(frozen=True, eq=False)  # compared by identity, so that results for it can be cached
class Evidence:
    """Frames with the columns of the tables of the same names in vouch/tables; `costs` is from `variations`.
    `items`, `defects`, `rewrites` and `blind_answers` (BLIND) have `dataset` as well. Of `items` and
    `outcomes` only the columns that vouch/report/loading.py names (OF_ITEMS, OF_OUTCOMES) are read.

    setup: the parameters datasets, extract, models, variations and train, and `locked`, the entries of
    models.lock. answered: what each table of answers holds. facts: by model, what models.lock states about
    it. problems: of a model, dataset and output without an answer, why it has none. digests: SHA-256 of every
    data file that was read, by path. printed: published figures, by name of the file, all columns text.
    examples: questions that a model answers otherwise without the sample in the prompt, columns EXAMPLES.
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
    blind_answers: pd.DataFrame = field(
        default_factory=lambda: BLIND.schema.empty_table().to_pandas().assign(dataset="")
    )
    setup: Mapping[str, Any] = field(default_factory=dict)
    answered: Sequence[AnswerCounts] = ()
    digests: Mapping[str, str] = field(default_factory=dict)
    printed: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    facts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    problems: Mapping[Place, str] = field(default_factory=dict)
    examples: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=EXAMPLES))

    @property
    def target(self) -> float:
        """The coverage that the prediction sets guarantee."""
        return 1 - self.scoring.alpha

    @cached_property
    def headlines(self) -> pd.DataFrame:
        """The leaderboard, with sets of marginal calibration and the main alpha only."""
        frame = self.leaderboard
        alike = frame["alpha"].isna() | ((frame["alpha"] - self.scoring.alpha).abs() < 1e-9)
        return frame[alike & frame["calibration"].isin(("", MARGINAL))]

    @cached_property
    def _numbers(self) -> Numbers:
        return Numbers(self.headlines, KEYS)

    @cached_property
    def _places(self) -> frozenset[Place]:
        places = self.leaderboard[["model", "dataset", "output"]].drop_duplicates()
        return frozenset(places.itertuples(index=False, name=None))

    def asked(self, dataset: str) -> frozenset[Place]:
        """The models of a dataset with each request type that they were asked for."""
        return frozenset(place for place in self._places if place[1] == dataset)

    @cached_property
    def _outputs(self) -> dict[str, tuple[str, ...]]:
        return outputs_of(self._places, self.unanswered)

    def outputs(self, dataset: str) -> tuple[str, ...]:
        """The request types of a dataset; the first is the main one, which headlines use: see `outputs_of`
        of vouch/metrics/unranked.py."""
        return self._outputs[dataset]

    @cached_property
    def unanswered(self) -> frozenset[Place]:
        """Where a model has not a single answer."""
        rows = self.leaderboard[self.leaderboard["metric"] == UNANSWERED]
        return unanswered_places(rows.to_dict("records"))

    def of_first_output(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The rows of a table that are about the main request type of their dataset."""
        return frame[
            frame["output"] == frame["dataset"].map({name: self.outputs(name)[0] for name in self._outputs})
        ]

    @cached_property
    def datasets(self) -> tuple[str, ...]:
        """The datasets that have scores: those with most items first, too small ones last."""
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
        """The number of groups of questions, each of which counts as one observation."""
        return self._groups.get(dataset, 0)

    @cached_property
    def _with_image(self) -> dict[str, pd.DataFrame]:
        frame = self.items[self.items["images"].map(len) > 0]
        return {str(name): own for name, own in frame.groupby("dataset")}

    def is_mixed(self, dataset: str) -> bool:
        """Whether some questions of a dataset have an image and others none."""
        own = self._with_image.get(dataset)
        return own is not None and len(own) < int((self.items["dataset"] == dataset).sum())

    def without_image(self, dataset: str) -> str:
        """`30 without an image`, if some questions of a dataset have one and others none; else empty."""
        if not self.is_mixed(dataset):
            return ""
        count = int((self.items["dataset"] == dataset).sum()) - len(self._with_image[dataset])
        return f"{formatting.count(count)} without an image"

    def groups_with_image(self, dataset: str) -> int:
        """The number of groups of the questions with an image; of all, if none has one."""
        own = self._with_image.get(dataset)
        return self.groups(dataset) if own is None else int(own["group"].nunique())

    def questions(self, dataset: str) -> int:
        """The number of questions behind its accuracies: the largest number of any model."""
        return max((number.items for number in self.numbers(dataset, "accuracy").values()), default=0)

    def is_small(self, dataset: str) -> bool:
        """Whether a dataset is too small to rank, average or name models."""
        return self.groups(dataset) < MINIMUM

    def calibrated(self, dataset: str, model: str, **where: str) -> bool:
        """Whether a model's sets have a finite threshold in every split. where: keywords of `number`."""
        infinite = self.number(dataset, model, INFINITE, **where)
        return infinite is None or infinite.value == 0

    def calibrated_by_both(self, dataset: str, model: str) -> bool:
        """`calibrated`, under both protocols."""
        return all(self.calibrated(dataset, model, protocol=each) for each in ("clean", "faithful"))

    @cached_property
    def away(self) -> frozenset[Place]:
        """Where a model would not really give the scored answers (vouch/metrics/unranked.py)."""
        rates = self.leaderboard["metric"].isin(OF_GATE)
        return unranked(self.leaderboard[rates].to_dict("records"))

    @cached_property
    def _blind(self) -> frozenset[Place]:
        return blind(self.leaderboard[self.leaderboard["metric"] == BLIND_RATE].to_dict("records"))

    def candidates(self, dataset: str) -> tuple[str, ...]:
        """The models that claims about a dataset may name, in the order of `models`.

        Left out are models that would not really give the scored answers, or gave none
        (vouch/metrics/unranked.py), and blind baselines (vouch/metrics/blind.py).
        """
        apart = {*self.left_out(dataset), *self.blind(dataset)}
        output = self.outputs(dataset)[0]
        apart |= {model for model, *place in self.unanswered if place == [dataset, output]}
        return tuple(model for model in self.models(dataset) if model not in apart)

    def left_out(self, dataset: str) -> tuple[str, ...]:
        """The models of a dataset that would not really give the scored answers."""
        output = self.outputs(dataset)[0]
        return tuple(model for model in self.models(dataset) if (model, dataset, output) in self.away)

    def blind(self, dataset: str) -> tuple[str, ...]:
        """The blind baselines of a dataset: language models, if it has images."""
        return tuple(model for model in self.models(dataset) if self.is_blind(dataset, model))

    def is_blind(self, dataset: str, model: str) -> bool:
        """Whether a model is a blind baseline on a dataset, whatever it was asked for."""
        return any((model, dataset, output) in self._blind for output in self.outputs(dataset))

    @cached_property
    def _headlines_of(self) -> dict[str, pd.DataFrame]:
        groups = self.of_first_output(self.headlines).groupby("dataset", sort=False)
        return {str(name): group for name, group in groups}

    def headlines_of(self, dataset: str) -> pd.DataFrame:
        """The headlines of a dataset, for its main request type."""
        return self._headlines_of.get(dataset, self.headlines.iloc[:0])

    def metrics(self, dataset: str) -> frozenset[str]:
        """The metrics of a dataset for its main request type."""
        return frozenset(self.headlines_of(dataset)["metric"].unique())

    def categories(self, dataset: str) -> tuple[str, ...]:
        """Categories of a dataset that have scores, in alphabetical order."""
        return tuple(sorted(set(self.headlines_of(dataset)["category"].unique()) - {"all"}))

    @cached_property
    def _variations(self) -> dict[str, tuple[str, ...]]:
        # A mean over several variations is not about one of them.
        frame = self.leaderboard.loc[self.leaderboard["variation"] != "", ["dataset", "variation"]]
        found = frame.drop_duplicates().groupby("dataset")["variation"]
        return {str(k): tuple(sorted(v, key=lambda name: (name != ORIGINAL, name))) for k, v in found}

    def variations(self, dataset: str) -> tuple[str, ...]:
        """The variations of a dataset; the first, `original` if it was asked, is the one of all headlines."""
        return self._variations[dataset]

    @cached_property
    def _models(self) -> dict[str, tuple[str, ...]]:
        def best_first(dataset: str, models: Iterable[str]) -> tuple[str, ...]:
            numbers = {model: self.number(dataset, model, "accuracy") for model in models}

            def order(model: str) -> tuple[bool, float, str]:
                number = numbers[model]
                return self.is_blind(dataset, model), -number.value if number else 1.0, model

            return tuple(sorted(numbers, key=order))

        by_dataset = self.leaderboard.groupby("dataset")["model"]
        return {str(name): best_first(str(name), map(str, models.unique())) for name, models in by_dataset}

    def models(self, dataset: str) -> tuple[str, ...]:
        """Models with scores on a dataset, best accuracy of the clean protocol first, ties by name; blind
        baselines come last."""
        return self._models[dataset]

    @cached_property
    def all_models(self) -> tuple[str, ...]:
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
        """One cell of the headlines; None if it is missing or null. It has no interval if that does not hold
        for so few questions (gates.py).

        variation: by default that of the headlines; empty for a mean over several.
        """
        if variation is None:
            variation = self.variations(dataset)[0]
        asked = (dataset, output or self.outputs(dataset)[0], variation)
        number = self._numbers.get((*asked, protocol, category, score, metric, model))
        if number is None or interval_holds(metric, min(self.groups(dataset), number.items)):
            return number
        return number._replace(low=None, high=None)

    def numbers(self, dataset: str, metric: str, score: str = "", **where: str) -> dict[str, Number]:
        """The number of each model that has one, best accuracy first. where: keywords of `number`."""
        found = {model: self.number(dataset, model, metric, score, **where) for model in self.models(dataset)}
        return {model: number for model, number in found.items() if number}

    @cached_property
    def comparisons(self) -> Comparisons:
        """Differences for the main request types; p only on datasets that are large enough. Those with a
        blind baseline are not among them (vouch/report/blind.py)."""
        frame = self.of_first_output(self.differences)
        sides = ([*zip(frame[side], frame["dataset"], frame["output"], strict=True)] for side in PAIR)
        apart = [any(one in self._blind for one in pair) for pair in zip(*sides, strict=True)]
        frame = frame[~np.array(apart, dtype=bool)]
        return Comparisons(frame.assign(p=frame["p"].mask(frame["dataset"].map(self.is_small).astype(bool))))

    def _chance_of(self, by_dataset: Iterable[tuple[str, pd.DataFrame]]) -> dict[str, float]:
        means = {}
        for name, items in by_dataset:
            graded = self.plain_outcomes(str(name)).dropna(subset=["clean_correct"])["item"]
            own = items[items["id"].isin(graded)]
            counts = zip(own["answers"].map(len), own["options"].map(len), strict=True)
            means[str(name)] = fmean(chance_of(*each) for each in counts) if len(own) else 0.0
        return means

    @cached_property
    def _chances(self) -> dict[str, float]:
        return self._chance_of(self.items.groupby("dataset"))

    @cached_property
    def _chances_with_image(self) -> dict[str, float]:
        return self._chance_of(self._with_image.items())

    def chance_with_image(self, dataset: str) -> float:
        """The same of the questions with an image; of all, if none has one."""
        return self._chances_with_image.get(dataset, self.chance(dataset))

    def chance(self, dataset: str) -> float:
        """Accuracy of a guess (vouch/metrics/blind.py) on the questions that the headlines grade; 0 if no
        guess answers any."""
        return self._chances.get(dataset, 0.0)

    @cached_property
    def _plain(self) -> dict[str, pd.DataFrame]:
        frame = self.of_first_output(self.outcomes)
        plain = frame["variation"] == frame["dataset"].map({k: v[0] for k, v in self._variations.items()})
        return {str(name): group for name, group in frame[plain].groupby("dataset")}

    def plain_outcomes(self, dataset: str) -> pd.DataFrame:
        """Outcomes of all models on a dataset, for the variation and request type of the headlines."""
        return self._plain.get(dataset, self.outcomes.iloc[:0])

    @cached_property
    def _graded(self) -> dict[tuple[str, str], pd.DataFrame]:
        known = {k: frame.dropna(subset=["clean_correct", "confidence"]) for k, frame in self._plain.items()}
        return {(k, str(model)): own for k, frame in known.items() for model, own in frame.groupby("model")}

    def graded(self, dataset: str, model: str) -> pd.DataFrame:
        """The plain outcomes of one model that have a grade and a confidence."""
        return self._graded.get((dataset, model), self.outcomes.iloc[:0])

    def confidences(self, dataset: str, model: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Confidence, grade and group number of the graded answers of a model."""
        own = self.graded(dataset, model)
        groups = np.unique(own["group"].to_numpy(str), return_inverse=True)[1]
        return own["confidence"].to_numpy(float), own["clean_correct"].to_numpy(float), groups
