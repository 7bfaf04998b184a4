"""How much a profile asks: items, prompts, answers and forward passes, before or after its prompts exist."""

import importlib
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from vouch.datasets.cleaning.config import DatasetEntry
from vouch.datasets.cleaning.expected import expectation
from vouch.datasets.fetch.locate import is_here, locate, promised
from vouch.datasets.fetch.origin import REMOTE
from vouch.datasets.read.files import Source
from vouch.models.requests.config import Config
from vouch.models.requests.keys import PACK_PROMPTS
from vouch.params.project import Project
from vouch.pipeline.errors import UserError
from vouch.pipeline.intact import intact
from vouch.prompts.build.combination import load_variation
from vouch.prompts.build.template import Template, read_template
from vouch.prompts.variations.marks import ALPHABETS
from vouch.tables.prompts import PROMPTS, TEXT


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

    Models count together that are asked the same datasets. Entries that read the same questions (another
    style or other variations) are one dataset.
    """
    different = {name: _questions(entry) for name, entry in project.datasets.items()}
    counts = Counter({frozenset(different.values()): len(project.models)})
    for absent in project.paper.absent if project.paper else ():
        asked = absent.datasets or list(project.datasets)
        counts[frozenset(different[name] for name in asked)] += absent.count
    return sorted(((models, len(datasets)) for datasets, models in counts.items()), reverse=True)


def _questions(entry: DatasetEntry) -> str:
    return repr((entry.loader, entry.source, entry.origin, entry.sample, sorted(entry.settings.items())))


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
    loader = importlib.import_module(f"vouch.datasets.loaders.{entry.loader}")
    settings = loader.Settings.model_validate(entry.settings)
    place = getattr(loader, "PLACE", "")
    away = entry.source != REMOTE and not Path(entry.source).exists() and hasattr(loader, "expected")
    if not away and is_here(entry.source, entry.origin):
        source = locate(name, entry.source, entry.origin, place)
        return Items(_part(int(loader.count(source, name, settings)), entry), True)
    try:
        source = promised(entry.origin) if entry.origin else Source(Path(entry.source))
        counts = expectation(loader, source, name, settings)
    except UserError:
        counts = {}  # said when it is read
    known = counts.get("items") or counts.get("groups")
    found = _part(min(known), entry) if known else None
    return Items(found, here=False, groups=bool(known) and "items" not in counts)


def _part(items: int, entry: DatasetEntry) -> int:
    """How many of the items a sample is expected to hold."""
    return round(items * entry.sample.share) if entry.sample else items


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
    prompts = items * sum(_prompts(name, template) for name in variations)
    outputs = dict.fromkeys(template.outputs, prompts)
    return Count(prompts, outputs, outputs, exact=False)


def _prompts(variation: str, template: Template) -> int:
    """Prompts that a variation makes of an item, where that does not depend on the item."""
    several = {"marks": len(ALPHABETS), "instruction": max(len(template.instructions), 1)}
    return math.prod(
        part.level or 1 if part.file in ("tests", "shuffled") else several.get(part.file, 1)
        for part in load_variation(variation).parts
    )


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
