"""The frame of the items, which the page loads itself: reports/items, see stages/browse."""

from dataclasses import dataclass

from stages.report.evidence import Evidence

TITLE = "Items"


@dataclass(frozen=True)
class Items:
    """datasets: names, those with scores first."""

    datasets: tuple[str, ...]


def build(evidence: Evidence) -> Items:
    """Every dataset that has items."""
    return Items(tuple(dict.fromkeys([*evidence.datasets, *evidence.items["dataset"].unique()])))
