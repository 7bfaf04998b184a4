"""The frame of the items, which the page loads itself: reports/items, see vouch/report/items."""

import json
from dataclasses import dataclass

from vouch.report.claims import representative
from vouch.report.costs import in_words
from vouch.report.evidence import Evidence

TITLE = "Items"


@dataclass(frozen=True)
class Items:
    """datasets: names, those with scores first. leads, meanings: as JSON.

    leads: by dataset the model that stands for all, empty where none has scores. meanings: what variations
    do, by their names.
    """

    datasets: tuple[str, ...]
    leads: str
    meanings: str


def build(evidence: Evidence) -> Items:
    """Every dataset that has items."""
    names = sorted(set(evidence.costs["variation"]))
    meanings = {name: said for name in names if (said := in_words(name))}
    datasets = tuple(dict.fromkeys([*evidence.datasets, *evidence.items["dataset"].unique()]))
    leads = {name: representative(evidence, name) if name in evidence.datasets else "" for name in datasets}
    return Items(datasets, json.dumps(leads, ensure_ascii=False), json.dumps(meanings, ensure_ascii=False))
