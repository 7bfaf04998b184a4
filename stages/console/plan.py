"""What would run, before anything runs: datasets, models, prompts, forward passes, stages."""

import argparse
import importlib
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from stages.console.layout import table
from stages.contracts.prompts import PROMPTS, TEXT, prompts_path
from stages.dag import read_dag
from stages.extract.asking import PACK_PROMPTS
from stages.extract.config import Config
from stages.prepare.config import DatasetEntry
from stages.prepare.expected import expectation
from stages.rewrite.table import kinds_of
from stages.runtime.check import Project, check_project
from stages.runtime.errors import UserError
from stages.runtime.freshness import by_reason, states
from stages.sources.fetching.locate import is_here, locate, promised
from stages.vary.__main__ import read_style


def arguments(parser: argparse.ArgumentParser) -> None:
    """No options."""


def run(_options: argparse.Namespace) -> int:
    """Prints the plan."""
    project = check_project()
    items = {name: count_items(name, entry) for name, entry in project.datasets.items()}
    waiting = [state for state in states(read_dag()) if not state.fresh]
    stale = {state.stage.name for state in waiting}
    counts = {
        name: estimate(items[name], entry, len(entry.variations or project.variations))
        if f"vary@{name}" in stale
        else count_prompts(prompts_path(name))
        for name, entry in project.datasets.items()
    }
    cells = [
        counts[dataset]
        for model in project.models
        for dataset in project.datasets
        if f"extract@{model}-{dataset}" in stale
    ]
    print(
        f"profile {project.profile}: {len(project.datasets)} datasets, {len(project.models)} models to ask, "
        f"{len(project.released)} with released logits"
    )
    rows = [
        [name, entry.loader, str(items[name]), counts[name].said, ", ".join(counts[name].asks), entry.style]
        for name, entry in project.datasets.items()
    ]
    print(table(["dataset", "loader", "items", "prompts", "asks", "style"], rows, right={2, 3}))
    prompts = sum(cell.prompts for cell in cells)
    answers = sum(cell.answers(project.extract) for cell in cells)
    passes = sum(cell.passes(project.extract) for cell in cells)
    print(
        f"{len(cells)} cells (model x dataset) to extract: {prompts} prompts, {answers} answers, at least "
        f"{passes} forward passes of {project.extract.batch} rows; more for texts (one a token) and for "
        "models whose pictures keep their size (one row a pass), and passes over pictures' prefixes are not "
        "counted; answers found in the work cache are not "
        "asked again"
    )
    rewriter = project.rewrite.model
    asked = [name for name in project.datasets if f"rewrite@{name}" in stale]
    rewrites = sum(items[name] * _kinds(project, name) for name in asked)
    if rewriter and rewrites:
        print(f"at most {rewrites} rewrites to ask of {rewriter}, one for each distinct question and kind")
    print(f"{len(waiting)} stages are not up to date" + (":" if waiting else ""))
    if waiting:
        print(table(["stages", "because"], [list(line) for line in by_reason(waiting)]), end="")
    return 0


def _kinds(project: Project, dataset: str) -> int:
    """Kinds of rewrites that a dataset needs."""
    variations = project.datasets[dataset].variations or project.variations
    return len(kinds_of(variations)) + (dataset in project.rewrite.clean)


def count_items(name: str, entry: DatasetEntry) -> int:
    """Items of a dataset by its loader's own count, before cleaning; before fetching, what it should have."""
    loader = importlib.import_module(f"stages.prepare.datasets.{entry.loader}")
    settings = loader.Settings.model_validate(entry.settings)
    share = entry.sample.share if entry.sample else 1
    if entry.origin is None or is_here(entry.source, entry.origin):
        place = getattr(loader, "PLACE", "")
        source = locate(name, entry.source, entry.origin, place)
        return round(share * int(loader.count(source, name, settings)))
    try:
        counts = expectation(loader, promised(entry.origin), name, settings)
    except UserError:
        counts = {}  # said when it is read
    items = round(share * min(counts.get("items", (0,))))
    print(f"{name}: not fetched yet (`vouch fetch {name}`), {items or 'nobody knows how many'} items")
    return items


@dataclass(frozen=True)
class Count:
    """Prompts of a dataset. asks: how many ask for what; packs: in how many packs (see asking.py).

    exact: counted from the prompts; else from the items, as if every variation made one prompt of each.
    """

    prompts: int
    asks: Mapping[str, int]
    packs: Mapping[str, int]
    exact: bool

    @property
    def said(self) -> str:
        """The number of prompts for a person."""
        return str(self.prompts) if self.exact else f"about {self.prompts}"

    def answers(self, config: Config) -> int:
        """Of one model."""
        return sum(count * _times(ask, config) for ask, count in self.asks.items())

    def passes(self, config: Config) -> int:
        """Fewest forward passes of one model, those over pictures' prefixes not counted."""
        return sum(math.ceil(count / config.batch) * _times(ask, config) for ask, count in self.packs.items())


def _times(ask: str, config: Config) -> int:
    """Answers to a prompt: of texts the greedy one and every sample."""
    return 1 + sum(sampling.samples for sampling in config.sampling) if ask == TEXT else 1


def estimate(items: int, entry: DatasetEntry, variations: int) -> Count:
    """Before there are prompts."""
    prompts = items * variations
    asks = dict.fromkeys(read_style(entry.style).asks, prompts)
    return Count(prompts, asks, asks, exact=False)


def count_prompts(path: Path) -> Count:
    """What a table of prompts holds. Raises UserError."""
    prompts, groups = 0, Counter[tuple[str, str, str]]()
    for batch in PROMPTS.open(path).iter_batches(columns=["item", "variation", "asks"], use_threads=False):
        for row in batch.to_pylist():
            prompts += 1
            groups.update((ask, row["item"], row["variation"]) for ask in row["asks"])
    asks, packs = Counter[str](), Counter[str]()
    for (ask, _, _), count in groups.items():
        asks[ask] += count
        packs[ask] += count if ask == TEXT else math.ceil(count / PACK_PROMPTS)
    return Count(prompts, asks, packs, exact=True)
