"""Sentences of warning about models whose scored answers may not be what they would have answered.

Models that claims leave out, with the rate that is too high and what to do (vouch/metrics/unranked.py has the
limits); how far undecided texts may move an accuracy; what a judge and people decided, and how well they
agree.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from vouch.metrics.unranked import (
    ACCURACY_RULES,
    JUDGED_RATE,
    LIMITS,
    OF_JUDGE,
    OPTIONS,
    SENSITIVITY,
    SPECIFICITY,
    UNDECIDED_RATE,
    WORTH_SAYING,
    away_rate,
)
from vouch.report import formatting
from vouch.report.evidence import Evidence
from vouch.report.formatting import bracketed, number, percent
from vouch.tables.asked import LETTERS, TEXT

MARK = {
    LETTERS: "answers in another form; sets say little",
    TEXT: "leaves too many texts undecided; not ranked",
}
REMEDY = {
    LETTERS: "Ask for text: add `text` to the outputs of the dataset's prompt template.",
    TEXT: "Read such texts on the page Items; name the parsers that fit them in score.parsers, or a judge in "
    "score.judge that people's decisions prove (`vouch review judge`).",
}
OF_READING = ("accuracy", UNDECIDED_RATE, JUDGED_RATE, ACCURACY_RULES)
ASKED = "Text was asked as well: read that output."
_WHY = {
    LETTERS: "Verdict, ranks and comparisons leave out {}: for that share of its prompts, most of the first "
    "token's probability is not on option letters, so its prediction sets say little. {}",
    TEXT: "Verdict, ranks and comparisons leave out {}: that share of its texts is unparsed, names several "
    "options or may be misread by the judge. {}",
}


def left_out(evidence: Evidence, datasets: Sequence[str]) -> list[str]:
    """A text for each reason, if any: the models that claims leave out, their rates, and what to do."""
    return [text for output in (LETTERS, TEXT) if (text := _left_out(evidence, datasets, output))]


def _left_out(evidence: Evidence, datasets: Sequence[str], output: str) -> str:
    away = {name: evidence.left_out(name) for name in datasets if evidence.outputs(name)[0] == output}
    away = {name: models for name, models in away.items() if models}
    if not away:
        return ""
    found = []
    for name, models in away.items():
        said = [
            f"{model} ({formatting.percent(_rate(evidence, name, model, output), 0)})" for model in models
        ]
        found.append(f"{formatting.listed(said)} on {name}")
    asked = output == LETTERS and all(TEXT in evidence.outputs(name) for name in away)
    return _WHY[output].format(formatting.listed(found, 3), ASKED if asked else REMEDY[output])


def _rate(evidence: Evidence, dataset: str, model: str, output: str) -> float:
    needed = [(LIMITS[output][0], ""), *(OF_JUDGE if output == TEXT else ())]
    found = _rows(evidence, dataset, model, output, needed)
    return away_rate({metric: row for (metric, _), row in found.items()}, output)


def _rows(
    evidence: Evidence, dataset: str, model: str, output: str, needed: Iterable[tuple[str, str]]
) -> dict[tuple[str, str], dict[str, Any]]:
    """Numbers by metric and score, those that are there."""
    found = {each: evidence.number(dataset, model, *each, output=output) for each in needed}
    return {each: number._asdict() for each, number in found.items() if number is not None}


def undecided(evidence: Evidence, dataset: str) -> list[str]:
    """Of each model with many undecided texts, or with a judge, what that does to its accuracy."""
    known = {metric: evidence.numbers(dataset, metric, output=TEXT) for metric in OF_READING}
    return [
        f"{model}: {said}."
        for model in evidence.models(dataset)
        for said in (
            *bounds({metric: of[model].value for metric, of in known.items() if model in of}),
            *of_judge(_rows(evidence, dataset, model, TEXT, METRICS)),
        )
    ]


def bounds(values: Mapping[str, float | None]) -> Iterator[str]:
    """How far off an accuracy of texts may be: undecided ones count as wrong and may all be right, and a
    judge may be wrong. values: those of OF_READING that are known."""
    accuracy, rate, judged, alone = (values.get(metric) for metric in OF_READING)
    if accuracy is not None and rate is not None and rate > WORTH_SAYING:
        yield (
            f"{formatting.percent(rate)} of its texts are unparsed or name several options, so its accuracy "
            f"lies {_between(accuracy, rate, 'of these')}"
        )
    if rate is not None and alone is not None and judged:
        yield (
            f"{formatting.percent(judged)} of its texts were read by the judge; without it the accuracy lies "
            f"{_between(alone, rate + judged, 'of these and of those that nobody could read')}"
        )


def _between(accuracy: float, rate: float, which: str) -> str:
    most = formatting.percent(min(1.0, accuracy + rate))
    return f"between {formatting.percent(accuracy)} (all {which} wrong) and {most} (all right)"


FEW = 30
"""Decisions below which a line says that they are too few."""
_ACCURACIES = ("accuracy_judge", "accuracy_people", "accuracy_ppi", "judge_unread_rate")
_OF_PEOPLE = ("annotated_rate", "judge_kappa", SENSITIVITY, SPECIFICITY)
METRICS = (
    *((name, "") for name in (*_ACCURACIES, *_OF_PEOPLE)),
    *((name, OPTIONS) for name in _OF_PEOPLE),
)
"""Metrics with their scores that the sentences need."""
Row = Mapping[str, Any]
"""value, low, high and items of a metric."""


def of_judge(rows: Mapping[tuple[str, str], Row]) -> Iterator[str]:
    """Sentences on one model and dataset; none where no judge read its answers. rows: by metric and score."""
    judge, people, corrected, unread = (rows.get((name, "")) for name in _ACCURACIES)
    if judge is not None:
        said = f"The judge calls {_share(judge)} of its open answers right"
        if unread is not None and unread["value"]:
            said += f" ({percent(unread['value'])} got no clear verdict and count as wrong)"
        if people is None or corrected is None:
            said += "; no decision of people counts yet, so nothing corrects its bias (`vouch review judge`)"
        else:
            said += (
                f"; corrected by people's decisions (prediction-powered inference) {_share(corrected)}; "
                f"the decisions alone say {_share(people)}"
            )
        yield said
    for score, what in (("", "open answers"), (OPTIONS, "answers that no rule decides")):
        yield from _agreement(rows, score, what)


def _agreement(rows: Mapping[tuple[str, str], Row], score: str, what: str) -> Iterator[str]:
    rate, kappa, *shares = (rows.get((name, score)) for name in _OF_PEOPLE)
    if rate is None or not rate["value"]:
        return
    count = round(rate["value"] * rate["items"])
    said = f"Of {rate['items']:.0f} different {what} in the sample the decisions of people on {count} count"
    parts = []
    if kappa is not None:
        parts.append(f"kappa {number(kappa['value'], 2)}{bracketed(kappa['low'], kappa['high'], 2)}")
    for found, label in zip(shares, ("sensitivity", "specificity"), strict=True):
        if found is not None:
            parts.append(f"{label} {_share(found)}")
    few = ": too few to say how good the judge is" if count < FEW else ""
    yield said + few + (f"; the judge's {', '.join(parts)}" if parts else "")


def _share(row: Row) -> str:
    return percent(row["value"]) + bracketed(row["low"], row["high"], 1, 100)
