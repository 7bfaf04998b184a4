"""Say what would run before anything runs: datasets, models, prompts, forward passes, GPU hours, stages.

Of the present params.yaml, or of another profile, which changes nothing and needs neither a network nor data.
A dataset without prompts yet has `at most` so many: what its loader counts before cleaning, every variation
applied to each item of a kind that it can apply to. `about`: the number of items or rotations is a guess.

Forward passes are a lower bound: texts need one a token, models that keep the size of pictures one a row, and
passes over the pictures' prefixes are not counted. Answers in the work cache are not asked again.

Examples:
  vouch plan
  vouch plan --json                      for programs
  vouch plan kostumov                    the size of a study, before `vouch use kostumov`
  vouch plan --power 3                   can it find a difference of 3 points, and if not, what would?
"""

import argparse
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from vouch.cli.counts import (
    Count,
    Items,
    count_datasets,
    count_items,
    judge_prompts,
    prompt_sets,
    sizes,
    variations_of,
)
from vouch.cli.entries import PROFILES
from vouch.cli.model_costs import Places, hours_table, model_costs, prices_table
from vouch.cli.power import power, power_table
from vouch.cli.printing import and_more, as_json, json_option, plain, table
from vouch.cli.use import profile_text
from vouch.datasets.fetch.origin import REMOTE
from vouch.params.check import check_params
from vouch.params.project import MODELS, Project, locked_models
from vouch.pipeline.dag import PARAMS, read_dag
from vouch.pipeline.files import UNUSED
from vouch.pipeline.freshness import State, by_reason, states
from vouch.pipeline.yaml12 import load, loads
from vouch.prompts.build.config import template_name
from vouch.prompts.rewrites.table import kinds_of


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `vouch plan`."""
    parser.add_argument("profile", nargs="?", help="a file in profiles/, without .yaml; default: params.yaml")
    parser.add_argument(
        "--power",
        metavar="POINTS",
        nargs="?",
        type=float,
        const=5.0,
        help="which differences of accuracy the questions find, and how many find this one; default: 5",
    )
    parser.add_argument(
        "--discordant",
        type=float,
        default=0.2,
        help="of questions without results: share on which just one of two models is right; default: 0.2",
    )
    parser.add_argument(
        "--design",
        type=float,
        default=1.0,
        help="likewise: 1 + (questions of a group - 1) x their correlation; default: 1",
    )
    json_option(parser)


def run(options: argparse.Namespace) -> int:
    """Prints the plan."""
    where = str(PROFILES / f"{options.profile}.yaml") if options.profile else PARAMS
    values = loads(profile_text(options.profile, []), where) if options.profile else load(Path(PARAMS))
    project = check_params(values, where)
    dag = read_dag(params=values)
    waiting = [state for state in states(dag) if not state.fresh]
    stale = {state.stage.name for state in waiting}
    following = dag.downstream(stale)
    touched = stale.union(following)
    items = {name: count_items(name, entry) for name, entry in project.datasets.items()}
    counts = count_datasets(project, items, touched)
    found = power(project, items, counts, options.power, options.discordant, options.design)
    strays = [] if options.profile else dag.strays()
    places = _places(project, touched)
    models, asked = model_costs(project, counts, places), _cells(project, counts, stale, places)
    judges = judge_prompts(project, items, counts)
    if options.json:
        waits = {state.stage.name: state.why for state in waiting}
        more = {"models": models, "judge": judges, "power": found, "stages": waits}
        more |= {"following_stages": following, "strays": strays}
        print(as_json(_named(project, items, counts) | asked | more), end="")
        return 0
    told = power_table(found, project, items, options.discordant, options.design)
    print(
        *(_head(project), _datasets(project, items, counts), _asked(project, asked)),
        *(hours_table(models), told, prices_table(models), _rewrites(project, items, stale)),
        _judged(judges),
        *(_away(project, items), _absent(project), _strays(strays), _stages(waiting, following)),
        sep="",
        end="",
    )
    return 0


def _places(project: Project, touched: Collection[str]) -> Places:
    """Cells to extract."""
    return [
        (model, dataset)
        for model in project.models
        for dataset in project.datasets
        if f"extract@{model}-{dataset}" in touched and project.extract.asks(model, dataset)
    ]


def _judged(most: Mapping[str, int]) -> str:
    return (
        f"the judge: at most {most['open']} prompts for open answers, and of {most['options']} texts for "
        "questions with options those that no rule decides\n"
        if most
        else ""
    )


def _strays(strays: list[str]) -> str:
    if not strays:
        return ""
    return (
        f"made by no stage of this profile, so the run will move it to {UNUSED}: "
        f"{plain(strays[0])}{and_more(strays)}\n"
    )


def _head(project: Project) -> str:
    text = (
        f"profile {plain(project.profile)}: {len(project.datasets)} datasets, {len(project.models)} models\n"
    )
    if project.paper:
        said = " and ".join(f"{models} models x {datasets} datasets" for models, datasets in sizes(project))
        text += f"{plain(project.paper.title)}: {said}\n"
    single, combined = prompt_sets(project)
    more = f", and {combined} of two variations at once" if combined else ""
    return f"{text}prompt sets of a model (dataset x variation): {single}{more}\n"


def _datasets(project: Project, items: Mapping[str, Items], counts: Mapping[str, Count]) -> str:
    rows = [
        [
            *(name, entry.loader, items[name].said),
            *(counts[name].said if items[name].count is not None else "?", ", ".join(counts[name].outputs)),
            *(template_name(entry.template, entry.variant), str(len(variations_of(project, name)))),
        ]
        for name, entry in project.datasets.items()
    ]
    head = ["dataset", "loader", "items", "prompts", "outputs", "template", "variations"]
    by_picture = [
        name
        for name, entry in project.datasets.items()
        if entry.loader == "jsonl" and not entry.settings.get("group")
    ]
    said = plain(f"questions about one picture are one group, which no split parts: {', '.join(by_picture)}")
    return table(head, rows, right={2, 3, 6}) + (
        f"{said} (another: `group` on a line)\n" if by_picture else ""
    )


def _named(project: Project, items: Mapping[str, Items], counts: Mapping[str, Count]) -> dict[str, Any]:
    """The profile and its datasets, as JSON has them."""
    datasets = [
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
    return {"profile": project.profile, "datasets": datasets}


def _cells(project: Project, counts: Mapping[str, Count], stale: set[str], places: Places) -> dict[str, Any]:
    """What will be asked of all models together. later: cells that run only if their inputs change."""
    cells = [counts[dataset].of(project.extract, model, dataset) for model, dataset in places]
    return {
        "cells": len(cells),
        "later": sum(f"extract@{model}-{dataset}" not in stale for model, dataset in places),
        "prompts": sum(cell.prompts for cell in cells),
        "answers": sum(cell.answers for cell in cells),
        "forward_passes": sum(cell.passes(project.extract.batch) for cell in cells),
        "bound": "at most" if any(cell.bound for cell in cells) else "exact",
    }


def _asked(project: Project, asked: Mapping[str, Any]) -> str:
    where = f", {asked['later']} of them only if their inputs change" if asked["later"] else ""
    most, least = ("", "at least") if asked["bound"] == "exact" else ("at most ", "about")
    return (
        f"{asked['cells']} cells (model x dataset) to extract{where}: {most}{asked['prompts']} prompts, "
        f"{most}{asked['answers']} answers, {least} {asked['forward_passes']:,} forward passes of "
        f"{project.extract.batch} rows\n"
    )


def _rewrites(project: Project, items: Mapping[str, Items], stale: set[str]) -> str:
    count = sum(
        (items[name].count or 0)
        * (len(kinds_of(variations_of(project, name))) + (name in project.rewrite.clean))
        for name in project.datasets
        if f"rewrite@{name}" in stale
    )
    if not project.rewrite.model or not count:
        return ""
    return f"at most {count} rewrites to ask of {project.rewrite.model}, one a distinct question and kind\n"


def _away(project: Project, items: Mapping[str, Items]) -> str:
    """What is still to be brought here, and pinned."""
    away = [name for name, found in items.items() if not found.here]
    fetched = [name for name in away if project.datasets[name].source == REMOTE]
    own = [f"{name} ({project.datasets[name].source})" for name in away if name not in fetched]
    unknown = [name for name in away if items[name].count is None]
    models = locked_models()
    bare = [name for name, path in project.sources.items() if path == str(MODELS) and not models[name].pinned]
    said = [
        (fetched, "not here yet, `vouch fetch` downloads them"),
        (own, "not here yet, to be put there by hand (docs/datasets.md)"),
        (unknown, "number of items unknown, counted as none above"),
        (bare, f"not pinned in {MODELS}, `vouch lock NAME` pins them"),
    ]
    return "".join(plain(f"{what}: {', '.join(names)}") + "\n" for names, what in said if names)


def _absent(project: Project) -> str:
    absent = project.paper.absent if project.paper else []
    if not absent:
        return ""
    rows = [[", ".join(one.names), str(one.count), one.why] for one in absent]
    return "in the paper, but not run here:\n" + table(["models", "number", "because"], rows, right={1})


def _stages(waiting: list[State], following: list[str]) -> str:
    said = _kinds_of([state.stage.name for state in waiting])
    text = f"{len(waiting)} stages are not up to date" + (f": {said}" if waiting else "") + "\n"
    if following:
        text += f"{len(following)} more run if their inputs change: {_kinds_of(following)}\n"
    missing = [  # stages that never ran have one reason in common, not each its own file
        replace(state, why="outputs are missing") if state.why.endswith(" is missing") else state
        for state in waiting
    ]
    rows = [list(line) for line in by_reason(missing)]
    return text + (table(["stages", "because"], rows) if rows else "")


def _kinds_of(names: list[str]) -> str:
    kinds = Counter(name.partition("@")[0] for name in names)
    return ", ".join(f"{count} {kind}" for kind, count in kinds.items())
