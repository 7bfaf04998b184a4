"""The frame of the items, which the page loads itself: reports/items, see vouch/report/items."""

import json
from dataclasses import dataclass

from vouch.report.costs import in_words
from vouch.report.evidence import Evidence

TITLE = "Items"


@dataclass(frozen=True)
class Items:
    """datasets: names, those with scores first. meanings: what variations do, by their names, as JSON."""

    datasets: tuple[str, ...]
    meanings: str


def build(evidence: Evidence) -> Items:
    """Every dataset that has items."""
    names = sorted(set(evidence.costs["variation"]))
    meanings = {name: said for name in names if (said := in_words(name))}
    return Items(
        tuple(dict.fromkeys([*evidence.datasets, *evidence.items["dataset"].unique()])),
        json.dumps(meanings, ensure_ascii=False),
    )
