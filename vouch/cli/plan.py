"""Say what would run before anything runs: datasets, models, prompts, forward passes, stages.

Of the present params.yaml, or of another profile, which changes nothing and needs neither a network nor data.
Numbers of prompts marked `about` are estimates: every variation applied to every item.

Examples:
  vouch plan
  vouch plan kostumov                    the size of a study, before `vouch use kostumov`
"""

import argparse
import importlib
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from vouch.cli.printing import and_more, plain, table
from vouch.cli.use import PROFILES, profile_text
from vouch.datasets.cleaning.config import DatasetEntry
from vouch.datasets.cleaning.expected import expectation
from vouch.datasets.fetch.locate import is_here, locate, promised
from vouch.datasets.fetch.origin import REMOTE
from vouch.datasets.read.files import Source
from vouch.models.requests.config import Config
from vouch.models.requests.keys import PACK_PROMPTS
from vouch.params.check import check_params
from vouch.params.project import MODELS, Models, Project
from vouch.pipeline.dag import PARAMS, read_dag
from vouch.pipeline.errors import UserError
from vouch.pipeline.freshness import State, by_reason, states
from vouch.pipeline.intact import intact
from vouch.pipeline.yaml12 import load, loads
from vouch.prompts.build.combination import load_variation
from vouch.prompts.build.config import template_name
from vouch.prompts.build.template import read_template
from vouch.prompts.rewrites.table import kinds_of
from vouch.prompts.variations.marks import ALPHABETS
from vouch.tables.prompts import PROMPTS, TEXT, prompts_path


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `vouch plan`."""
    parser.add_argument("profile", nargs="?", help="a file in profiles/, without .yaml; default: params.yaml")


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
    counts = {
        name: estimate(items[name].count or 0, entry, variations_of(project, name))
        if f"vary@{name}" in touched
        else count_prompts(prompts_path(name))
        for name, entry in project.datasets.items()
    }
    print(_head(project) + _datasets(project, items, counts), end="")
    print(_cells(project, counts, stale, touched) + _rewrites(project, items, stale), end="")
    print(_away(project, items) + _absent(project), end="")
    if strays := [] if options.profile else dag.strays():
        print(
            f"made by no stage of this profile, so stages will refuse it: {plain(strays[0])}"
            f"{and_more(strays)}; `vouch store prune` removes what an earlier profile made"
        )
    print(_stages(waiting, following), end="")
    return 0


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


def _datasets(project: Project, items: Mapping[str, "Items"], counts: Mapping[str, "Count"]) -> str:
    rows = [
        [
            *(name, entry.loader, items[name].said),
            *(counts[name].said if items[name].count is not None else "?", ", ".join(counts[name].outputs)),
            *(template_name(entry.template, entry.variant), str(len(variations_of(project, name)))),
        ]
        for name, entry in project.datasets.items()
    ]
    head = ["dataset", "loader", "items", "prompts", "outputs", "template", "variations"]
    return table(head, rows, right={2, 3, 6})


def _cells(project: Project, counts: Mapping[str, "Count"], stale: set[str], touched: set[str]) -> str:
    names = {
        f"extract@{model}-{dataset}": counts[dataset]
        for model in project.models
        for dataset in project.datasets
        if f"extract@{model}-{dataset}" in touched
    }
    cells, later = list(names.values()), len(names.keys() - stale)
    where = f", {later} of them only if their inputs change" if later else ""
    prompts = sum(cell.prompts for cell in cells)
    answers = sum(cell.answers(project.extract) for cell in cells)
    passes = sum(cell.passes(project.extract) for cell in cells)
    return (
        f"{len(cells)} cells (model x dataset) to extract{where}: {prompts} prompts, {answers} answers, "
        f"at least {passes} forward passes of {project.extract.batch} rows (more for texts, one a token, and "
        "for models that keep the size of pictures, one row a pass; passes over the pictures' prefixes are "
        "not counted); answers in the work cache are not asked again\n"
    )


def _rewrites(project: Project, items: Mapping[str, "Items"], stale: set[str]) -> str:
    count = sum(
        (items[name].count or 0)
        * (len(kinds_of(variations_of(project, name))) + (name in project.rewrite.clean))
        for name in project.datasets
        if f"rewrite@{name}" in stale
    )
    if not project.rewrite.model or not count:
        return ""
    return f"at most {count} rewrites to ask of {project.rewrite.model}, one a distinct question and kind\n"


def _away(project: Project, items: Mapping[str, "Items"]) -> str:
    """What is still to be brought here, and pinned."""
    away = [name for name, found in items.items() if not found.here]
    fetched = [name for name in away if project.datasets[name].source == REMOTE]
    own = [f"{name} ({project.datasets[name].source})" for name in away if name not in fetched]
    unknown = [name for name in away if items[name].count is None]
    models = Models.model_validate(load(MODELS)).models
    used = {**project.models, **project.helpers}
    bare = [name for name, path in used.items() if path == str(MODELS) and not models[name].pinned]
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


def variations_of(project: Project, dataset: str) -> list[str]:
    """The variations that a dataset is asked with."""
    return project.datasets[dataset].variations or project.variations


def prompt_sets(project: Project) -> tuple[int, int]:
    """Pairs of dataset and variation that every model answers: of one variation, and of two at once."""
    names = [name for dataset in project.datasets for name in variations_of(project, dataset)]
    combined = sum("+" in name for name in names)
    return len(names) - combined, combined


def sizes(project: Project) -> list[tuple[int, int]]:
    """(models, datasets) of the profile with what it leaves out, the largest first: the size of the paper.

    Models that are asked the same datasets count together. Entries that read the same questions (with another
    template or other variations) are one dataset.
    """
    different = {
        name: repr((entry.loader, entry.source, entry.origin, entry.sample, sorted(entry.settings.items())))
        for name, entry in project.datasets.items()
    }
    counts = Counter({frozenset(different.values()): len(project.models)})
    for absent in project.paper.absent if project.paper else ():
        asked = absent.datasets or list(project.datasets)
        counts[frozenset(different[name] for name in asked)] += absent.count
    return sorted(((models, len(datasets)) for datasets, models in counts.items()), reverse=True)


@dataclass(frozen=True)
class Items:
    """Entries of a dataset, None where nobody knows. here: whether they were counted in its source.

    groups: they are dialogues, or pictures with several questions each, so there are more items.
    """

    count: int | None
    here: bool
    groups: bool = False

    @property
    def said(self) -> str:
        """Their number for a person."""
        return "?" if self.count is None else f"over {self.count}" if self.groups else str(self.count)


def count_items(name: str, entry: DatasetEntry) -> Items:
    """Items by the loader's own count, before cleaning; where the source is not here, what it should hold."""
    share = entry.sample.share if entry.sample else 1
    loader = importlib.import_module(f"vouch.datasets.loaders.{entry.loader}")
    settings = loader.Settings.model_validate(entry.settings)
    place = getattr(loader, "PLACE", "")
    away = entry.source != REMOTE and not Path(entry.source).exists() and hasattr(loader, "expected")
    if not away and is_here(entry.source, entry.origin):
        source = locate(name, entry.source, entry.origin, place)
        return Items(round(loader.count(source, name, settings) * share), here=True)
    try:
        source = promised(entry.origin) if entry.origin else Source(Path(entry.source))
        counts = expectation(loader, source, name, settings)
    except UserError:
        counts = {}  # said when it is read
    known = counts.get("items") or counts.get("groups")
    found = round(min(known) * share) if known else None
    return Items(found, here=False, groups=bool(known) and "items" not in counts)


@dataclass(frozen=True)
class Count:
    """Prompts of a dataset. asks: how many ask for what; packs: in how many packs (see asking.py).

    exact: counted from the prompts; else from the items, as if every variation applied to each of them.
    """

    prompts: int
    outputs: Mapping[str, int]
    packs: Mapping[str, int]
    exact: bool

    @property
    def said(self) -> str:
        """The number of prompts for a person."""
        return str(self.prompts) if self.exact else f"about {self.prompts}"

    def answers(self, config: Config) -> int:
        """Of one model."""
        return sum(count * _times(output, config) for output, count in self.outputs.items())

    def passes(self, config: Config) -> int:
        """Fewest forward passes of one model, those over pictures' prefixes not counted."""
        return sum(
            math.ceil(count / config.batch) * _times(output, config) for output, count in self.packs.items()
        )


def _times(output: str, config: Config) -> int:
    """Answers to a prompt: of texts the greedy one and every sample."""
    return 1 + sum(sampling.samples for sampling in config.sampling) if output == TEXT else 1


def estimate(items: int, entry: DatasetEntry, variations: Sequence[str]) -> Count:
    """Before there are prompts."""
    template = read_template(entry.template, entry.variant)
    several = {"marks": len(ALPHABETS), "instruction": max(len(template.instructions), 1)}
    prompts = items * sum(
        math.prod(
            part.level or 1 if part.file in ("tests", "shuffled") else several.get(part.file, 1)
            for part in load_variation(variation).parts
        )
        for variation in variations
    )
    outputs = dict.fromkeys(template.outputs, prompts)
    return Count(prompts, outputs, outputs, exact=False)


def count_prompts(path: Path) -> Count:
    """What a table of prompts holds. Raises UserError."""
    prompts, groups = 0, Counter[tuple[str, str, str]]()
    columns = ["item", "variation", "outputs"]
    for batch in PROMPTS.open(intact(path)).iter_batches(columns=columns, use_threads=False):
        for row in batch.to_pylist():
            prompts += 1
            groups.update((output, row["item"], row["variation"]) for output in row["outputs"])
    outputs, packs = Counter[str](), Counter[str]()
    for (output, _, _), count in groups.items():
        outputs[output] += count
        packs[output] += count if output == TEXT else math.ceil(count / PACK_PROMPTS)
    return Count(prompts, outputs, packs, exact=True)
