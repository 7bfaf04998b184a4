"""What the blind baseline of a dataset says: how much the text alone answers, and which models beat it.

A blind baseline is a language model on a dataset with images (vouch/metrics/blind.py). Of several the most
accurate counts. If some questions have no image, only those with one count. The claims made here are one kind
(gates.py): that a language model beats guessing, and that a model that sees beats the baseline. The report
and `vouch show` make the same ones, from rows of the leaderboard and of the paired differences.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from vouch.metrics.blind import ACCURACY, BLIND_GAIN, BLIND_RATE, WITH_IMAGE, blind
from vouch.metrics.metric import ALL, CLEAN
from vouch.metrics.unranked import Place
from vouch.report import formatting
from vouch.report.gates import MINIMUM, Claim, ends, share_claim, significant
from vouch.tables.asked import ORIGINAL

NOTE = "blind baseline: takes no images"
NEEDED = frozenset([ACCURACY, BLIND_RATE, BLIND_GAIN])
OF_BASELINE = NEEDED | {WITH_IMAGE}
"""Metrics that `baselines` needs; the last only if some questions have no image."""
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Baseline:
    """The best language model on a dataset with images.

    All of it is about the questions with an image. accuracy, gain: rows of the leaderboard; the gain is the
    accuracy beyond a guess. with_image: the share of these questions. models: how many language models there
    are. tied: the others that are as accurate. beyond_guess: whether the gain is shown. pairs: by model that
    sees, its accuracy minus the baseline's. beaten_by: the models whose difference is shown. groups: of the
    questions with an image.
    """

    model: str
    accuracy: Row
    gain: Row
    with_image: float
    models: int
    tied: tuple[str, ...]
    beyond_guess: bool
    pairs: Mapping[str, Row]
    beaten_by: tuple[str, ...]
    groups: int

    @property
    def chance(self) -> float:
        """The accuracy of a guess on the same questions."""
        return max(0.0, float(self.accuracy["value"] - self.gain["value"]))

    @property
    def questions(self) -> str:
        """`questions`; if some have no image, `30 questions with an image`."""
        if self.with_image >= 1:
            return "questions"
        return f"{formatting.plural(self.accuracy['items'], 'question')} with an image"


def baselines(
    leaderboard: Iterable[Row],
    differences: Iterable[Row],
    groups: Mapping[str, int],
    outputs: Mapping[str, str],
    away: Collection[Place] = (),
) -> dict[str, Baseline]:
    """By dataset, the best baseline; nothing for a dataset without a language model.

    leaderboard, differences: rows of LEADERBOARD and DIFFERENCES. groups, outputs: by dataset, the number of
    groups of questions with an image, and the request type that counts. away: models that would not really
    give the scored answers (vouch/metrics/unranked.py).
    """
    measured = _measured(leaderboard, outputs, away)
    best: dict[str, str] = {}
    for model, dataset in sorted(measured, key=lambda key: (-measured[key][ACCURACY]["value"], key)):
        best.setdefault(dataset, model)
    pairs = {
        (row["dataset"], row["first"]): row
        for row in differences
        if row["output"] == outputs.get(row["dataset"]) and row["second"] == best.get(row["dataset"])
    }
    shown = {key for key, claim in significant(_claims(measured, pairs, groups)).items() if claim.above}
    return {
        dataset: Baseline(
            model,
            of[ACCURACY],
            of[BLIND_GAIN],
            float(of[BLIND_RATE]["value"]),
            sum(where == dataset for _, where in measured),
            tuple(
                sorted(
                    other
                    for (other, where), its in measured.items()
                    if where == dataset and other != model and its[ACCURACY]["value"] == of[ACCURACY]["value"]
                )
            ),
            (dataset, model) in shown,
            own := {first: row for (where, first), row in pairs.items() if where == dataset},
            tuple(first for first in own if (dataset, first) in shown),
            groups.get(dataset, 0),
        )
        for dataset, model in sorted(best.items())
        for of in [measured[model, dataset]]
    }


def _measured(
    leaderboard: Iterable[Row], outputs: Mapping[str, str], away: Collection[Place]
) -> dict[tuple[str, str], dict[str, Row]]:
    """By language model and dataset, its rows of OF_BASELINE by metric, for the original prompts."""
    rows = [
        row
        for row in leaderboard
        if row["metric"] in OF_BASELINE
        and _known(row["value"])
        and (row["protocol"], row["category"]) == (CLEAN, ALL)
        and row["output"] == outputs.get(row["dataset"])
    ]
    keys = {(model, dataset) for model, dataset, _ in blind(rows) - set(away)}
    metrics: dict[tuple[str, str], dict[str, Row]] = {key: {} for key in keys}
    for row in sorted(rows, key=lambda row: (row["variation"] != ORIGINAL, row["variation"])):
        if (key := (row["model"], row["dataset"])) in keys:
            metrics[key].setdefault(row["metric"], row)
    return {
        key: of | {ACCURACY: of.get(WITH_IMAGE, of[ACCURACY])}
        for key, of in metrics.items()
        if of.keys() >= NEEDED
    }


def _known(value: float | None) -> bool:
    """Whether a row has a number: null is None in a table and NaN in a data frame."""
    return value is not None and value == value


def _claims(
    measured: Mapping[tuple[str, str], Mapping[str, Row]],
    pairs: Mapping[tuple[str, str], Row],
    groups: Mapping[str, int],
) -> dict[tuple[str, str], Claim]:
    """By dataset and model: of language models that they beat guessing, of others that they beat the best."""
    claims = {}
    for (model, dataset), of in measured.items():
        accuracy = of[ACCURACY]
        chance = max(0.0, accuracy["value"] - of[BLIND_GAIN]["value"])
        low, high = interval_of(accuracy)
        count = min(groups.get(dataset, 0), accuracy["items"])
        if chance:
            claims[dataset, model] = share_claim(accuracy["value"], low, high, count, chance)
    for (dataset, model), row in pairs.items():
        low, high = interval_of(row)
        value, p = row["difference"], row["p"]
        count = min(groups.get(dataset, 0), row["items"])
        known = float(p) if _known(p) else None
        if low is None or high is None:
            low = high = value
        claims[dataset, model] = Claim(value, 0.0, low, high, count, known)
    return claims


def interval_of(row: Row) -> tuple[float | None, float | None]:
    """The interval that may be shown, of a row with null or NaN where there is none."""
    low, high = (float(row[end]) if _known(row[end]) else None for end in ("low", "high"))
    return ends(low, high)


def points(value: float, row: Row) -> str:
    """`16.2 points (12.0–20.4)`: a difference with its interval."""
    return f"{formatting.number(100 * value, 1)} points{formatting.bracketed(*interval_of(row), 1, 100)}"


def change(value: float, row: Row) -> str:
    """`+1.8 points, −6.0 to 7.8`: a difference of either sign, with its interval."""
    text = f"{'+' if value > 0 else ''}{formatting.number(100 * value, 1)} points"
    low, high = interval_of(row)
    return text if low is None or high is None else f"{text}, {formatting.span(low, high, 1, 100)}"


def answered(baseline: Baseline, dataset: str = "") -> str:
    """How many of the questions the text alone answers, and how many of these beyond a guess. dataset: its
    name, if the reader does not know it."""
    share = formatting.percent(baseline.accuracy["value"])
    share += formatting.bracketed(*interval_of(baseline.accuracy), 1, 100)
    who = f"{baseline.model}, {_which(baseline)},"
    where = f" on {dataset}" if dataset else ""
    text = f"{who} answers {share} of the {baseline.questions}{where} correctly with the text alone"
    if not baseline.chance:
        return f"{text}."
    text += f"; guessing gives {formatting.percent(baseline.chance)}"
    gain = points(baseline.gain["value"], baseline.gain)
    if baseline.groups < MINIMUM:
        return f"{text}. Too few questions to tell whether that is more than a guess."
    if not baseline.beyond_guess:
        return f"{text}. It is not shown to beat guessing."
    return f"{text}. That is {gain} beyond a guess."


def _which(baseline: Baseline) -> str:
    tied = f"as accurate as {formatting.listed(baseline.tied)}"
    if len(baseline.tied) + 1 == baseline.models:
        return f"a language model {tied}" if baseline.tied else "a language model"
    best = f"the most accurate of {formatting.count(baseline.models)} language models"
    return f"{best} and {tied}" if baseline.tied else best


def beaten(baseline: Baseline, models: Iterable[str]) -> Iterator[str]:
    """Which of the models beat the baseline, each with its lead, and which are not shown to."""
    rows = {model: baseline.pairs[model] for model in models if model in baseline.pairs}
    better, rest = [], []
    for model, row in rows.items():
        if model in baseline.beaten_by:
            better.append(f"{model} by {points(row['difference'], row)}")
        else:
            rest.append(f"{model} ({change(row['difference'], row)})")
    if better:
        same = "questions" if baseline.with_image >= 1 else "questions with an image"
        yield f"Shown to beat {baseline.model} on the same {same}: {formatting.listed(better, 30)}."
    if rest and baseline.groups >= MINIMUM:
        where = "" if baseline.with_image >= 1 else f" on the {baseline.questions}"
        yield f"Not shown to beat {baseline.model}{where}: {formatting.listed(rest, 30)}."
