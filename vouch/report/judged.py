"""Words on what a judge says of open answers, what people's decisions make of it, and how far both agree."""

from collections.abc import Callable, Iterator
from typing import Any, Protocol

from vouch.metrics.unranked import OPTIONS, SENSITIVITY, SPECIFICITY

FEW = 30
"""Decisions below which a line says that they are too few."""


class Figure(Protocol):
    """A number with its interval, and the rows behind it."""

    @property
    def value(self) -> Any:
        """The number."""
        ...

    @property
    def low(self) -> Any:
        """Its interval's lower end, None or NaN where there is none."""
        ...

    @property
    def high(self) -> Any:
        """The upper end."""
        ...

    @property
    def items(self) -> Any:
        """Rows behind it."""
        ...


Find = Callable[[str, str], Figure | None]
"""A figure by metric and score."""


def of_judge(find: Find) -> Iterator[str]:
    """Sentences on one model and dataset; none where no judge read its answers."""
    judge, people, corrected = (
        find(name, "") for name in ("judge_accuracy", "people_accuracy", "accuracy_powered")
    )
    if judge is not None:
        said = f"The judge calls {_share(judge)} of its open answers right"
        if people is None or corrected is None:
            said += "; no person decided any, so nothing corrects its bias (`vouch review judge`)"
        else:
            said += f"; corrected by people's decisions {_share(corrected)}; those alone say {_share(people)}"
        yield said
    for score, what in (("", "open answers"), (OPTIONS, "answers that no rule decides")):
        yield from _agreement(find, score, what)


def _agreement(find: Find, score: str, what: str) -> Iterator[str]:
    rate = find("decided_rate", score)
    if rate is None or not rate.value:
        return
    count = round(rate.value * rate.items)
    said = f"Of {rate.items:.0f} {what} that were drawn people decided {count}"
    parts = []
    kappa = find("judge_kappa", score)
    if kappa is not None:
        parts.append(f"kappa {kappa.value:.2f}{_ends(kappa, '{:.2f}', 1)}")
    for name, label in ((SENSITIVITY, "sensitivity"), (SPECIFICITY, "specificity")):
        found = find(name, score)
        if found is not None:
            parts.append(f"{label} {_share(found)}")
    few = ": too few to say how good the judge is" if count < FEW else ""
    yield said + few + (f"; the judge's {', '.join(parts)}" if parts else "")


def _share(figure: Figure) -> str:
    return f"{100 * figure.value:.1f} %{_ends(figure, '{:.1f}', 100)}"


def _ends(figure: Figure, form: str, scale: float) -> str:
    low, high = figure.low, figure.high
    if low is None or high is None or low != low:
        return ""
    return f" [{form.format(scale * low)}, {form.format(scale * high)}]"
