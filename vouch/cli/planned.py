"""What a run would do: the requests to the models, their cost, and the stages that are stale."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from vouch.cli import rewriting
from vouch.cli.counts import (
    Cells,
    Count,
    Items,
    count_datasets,
    count_items,
    judge_prompts,
    take_images,
    unsupported_by_model,
    variations_of,
)
from vouch.cli.power import Sought, power
from vouch.cli.prices import model_costs
from vouch.cli.ways import PaperModel, models_of
from vouch.params.project import Project
from vouch.pipeline.dag import read_dag
from vouch.pipeline.records import check_lock, read_lock
from vouch.pipeline.state import State, states

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Plan:
    """What would run.

    stages: their number. waiting: those that are not up to date. following: names of those that run if their
    inputs change. only_dvc: names of those that `dvc repro` runs although what they read is unchanged.
    strays: files that no stage makes. paper: the models of the paper. asked: see `_requests`. models,
    judged, power: rows of the tables below. sought: what `power` is about.
    """

    project: Project
    paper: Sequence[PaperModel]
    items: Mapping[str, Items]
    counts: Mapping[str, Count]
    stages: int
    waiting: Sequence[State]
    following: Sequence[str]
    only_dvc: Sequence[str]
    strays: Sequence[str]
    asked: Row
    models: Sequence[Row]
    judged: Mapping[str, int]
    sought: Sought | None
    power: Sequence[Row]

    @property
    def stale(self) -> set[str]:
        """Names of the stages that are not up to date."""
        return {state.stage.name for state in self.waiting}


def planned(project: Project, values: Any, wanted: Sought | None, here: bool) -> Plan:
    """The plan of a profile. values: its content. here: whether they are those of params.yaml. Raises
    UserError."""
    dag = read_dag(params=values)
    check_lock()  # `dvc repro` reads dvc.lock even if all receipts fit
    every = states(dag)
    waiting = [state for state in every if not state.fresh]
    stale = {state.stage.name for state in waiting}
    following = dag.downstream(stale)
    touched = stale.union(following)
    items = {name: count_items(name, entry) for name, entry in project.datasets.items()}
    counts = count_datasets(project, items, touched)
    cells: Cells = [
        (model, dataset)
        for model in project.models
        for dataset in project.datasets
        if f"extract@{model}-{dataset}" in touched and project.extract.asks(model, dataset)
    ]
    return Plan(
        project,
        models_of(project),
        items,
        counts,
        len(every),
        waiting,
        following,
        _only_dvc(every, touched),
        strays=dag.strays() if here else [],
        asked=_requests(project, counts, stale, cells),
        models=model_costs(project, counts, cells),
        judged=judge_prompts(project, items, counts),
        sought=wanted,
        power=power(project, items, counts, wanted),
    )


def _requests(project: Project, counts: Mapping[str, Count], stale: set[str], cells: Cells) -> dict[str, Any]:
    """The requests to all models together; `later` counts cells that run only if their inputs change."""
    sees, unsupported = take_images(project), unsupported_by_model(project)
    counted = [
        counts[dataset].of(project.extract, model, dataset, sees[model], unsupported.get(model, ()))
        for model, dataset in cells
    ]
    passes = [cell.passes(project.extract) for cell in counted]
    return {
        "cells": len(counted),
        "later": sum(f"extract@{model}-{dataset}" not in stale for model, dataset in cells),
        "prompts": sum(cell.prompts for cell in counted),
        "answers": sum(cell.answers for cell in counted),
        "forward_passes": sum(one.count for one in passes),
        "rows_of_passes": sum(one.rows for one in passes),
        "filling_rows": sum(one.filling for one in passes),
        "bound": "at most" if any(cell.bound for cell in counted) else "exact",
    }


def _only_dvc(every: Sequence[State], touched: Collection[str]) -> list[str]:
    """The other stages that `dvc repro` runs: DVC knows an input as a whole, and they read only parts."""
    others = [state for state in every if state.stage.name not in touched]
    lock = read_lock() if others else {}
    return [
        state.stage.name
        for state in others
        if (state.stage.reads or state.stage.without) and lock.get(state.stage.name, state.now) != state.now
    ]


def for_programs(plan: Plan) -> dict[str, Any]:
    """The plan for JSON."""
    return {
        "profile": plan.project.profile,
        "paper": [asdict(row) | {"cells": row.cells} for row in plan.paper],
        "datasets": _named_datasets(plan.project, plan.items, plan.counts),
        **plan.asked,
        "rewrites": rewriting.for_programs(rewritings(plan.counts)),
        "models": plan.models,
        "judge": plan.judged,
        "power": plan.power,
        "stages": {state.stage.name: state.why for state in plan.waiting},
        "causes": {state.stage.name: state.causes for state in plan.waiting},
        "unsupported": unsupported_by_model(plan.project),
        "following_stages": plan.following,
        "only_dvc": plan.only_dvc,
        "strays": plan.strays,
    }


def _named_datasets(
    project: Project, items: Mapping[str, Items], counts: Mapping[str, Count]
) -> list[dict[str, Any]]:
    """The datasets, for JSON."""
    return [
        {
            "dataset": name,
            "items": items[name].count,
            "here": items[name].here,
            "prompts": counts[name].prompts,
            "bound": counts[name].bound or "exact",
            "outputs": dict(counts[name].outputs),
            "variations": variations_of(project, name),
        }
        for name in project.datasets
    ]


def rewritings(counts: Mapping[str, Count]) -> dict[str, rewriting.Rewriting]:
    return {name: count.rewriting for name, count in counts.items() if count.rewriting}
