"""What would run, before anything runs: datasets, models, prompts, forward passes, stages."""

import argparse
import importlib
import math
from dataclasses import dataclass
from pathlib import Path

from stages.console.layout import table
from stages.dag import read_dag
from stages.prepare.config import DatasetEntry
from stages.runtime.check import Project, check_project
from stages.runtime.freshness import by_reason, states


def arguments(parser: argparse.ArgumentParser) -> None:
    """No options."""


def run(_options: argparse.Namespace) -> int:
    """Prints the plan."""
    project = check_project()
    counts = {name: count_items(name, entry) for name, entry in project.datasets.items()}
    waiting = [state for state in states(read_dag()) if not state.fresh]
    stale = {state.stage.name for state in waiting}
    cells = [cell for cell in plan_cells(project, counts) if cell.stage in stale]
    print(
        f"profile {project.profile}: {len(project.datasets)} datasets, {len(project.models)} models to ask, "
        f"{len(project.released)} with released logits"
    )
    rows = [
        [name, entry.loader, str(counts[name]), str(counts[name] * len(project.variations)), entry.style]
        for name, entry in project.datasets.items()
    ]
    print(table(["dataset", "loader", "items", "prompts", "style"], rows, right={2, 3}))
    prompts, passes = sum(cell.prompts for cell in cells), sum(cell.passes for cell in cells)
    print(
        f"{len(cells)} cells (model x dataset) to extract: {prompts} prompts, at least {passes} "
        f"forward passes of {project.extract.batch}; answers found in the work cache are not asked again"
    )
    print(f"{len(waiting)} stages are not up to date" + (":" if waiting else ""))
    if waiting:
        print(table(["stages", "because"], [list(line) for line in by_reason(waiting)]), end="")
    return 0


def count_items(name: str, entry: DatasetEntry) -> int:
    """Items of a dataset by its loader's own count, before cleaning."""
    loader = importlib.import_module(f"stages.prepare.datasets.{entry.loader}")
    return int(loader.count(Path(entry.source), name, loader.Settings.model_validate(entry.settings)))


@dataclass(frozen=True)
class Cell:
    """One model x dataset of extraction: its stage, prompts and forward passes."""

    stage: str
    prompts: int
    passes: int


def plan_cells(project: Project, counts: dict[str, int]) -> list[Cell]:
    """Every cell that extraction covers, fresh or not."""
    prompts = {name: count * len(project.variations) for name, count in counts.items()}
    return [
        Cell(
            f"extract@{model}-{dataset}",
            prompts[dataset],
            math.ceil(prompts[dataset] / project.extract.batch),
        )
        for model in project.models
        for dataset in project.datasets
    ]
