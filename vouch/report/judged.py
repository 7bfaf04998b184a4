"""Words on what a judge says of open answers, what people's decisions make of it, and how far both agree."""

from collections.abc import Iterator, Mapping
from typing import Any

from vouch.metrics.unranked import OPTIONS, SENSITIVITY, SPECIFICITY
from vouch.report.formatting import bracketed, number, percent

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
