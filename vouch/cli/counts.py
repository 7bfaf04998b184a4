"""The work that a profile asks of its models, counted before anything runs.

`vouch plan` prints it: items and prompts of each dataset.
"""

import importlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from vouch.cli import ahead
from vouch.cli.lengths import TEXT_TOKENS, rows_of_pack
from vouch.cli.rewriting import Rewriting, of_questions, unread, wanted
from vouch.datasets.config import DatasetEntry
from vouch.datasets.fetch.download import is_here, locate, promised
from vouch.datasets.fetch.origin import REMOTE
from vouch.datasets.first_pass import expectation
from vouch.datasets.raw import Expected
from vouch.datasets.read.files import SourceFiles
from vouch.models.batching import Passes, PlannedRow, count_passes
from vouch.models.config import ExtractConfig
from vouch.models.kinds import sees_images
from vouch.models.packs import PACK_PROMPTS
from vouch.models.unsupported import unsupported_outputs
from vouch.params.check import kinds_of_questions
from vouch.params.project import MODELS, Project, locked_models
from vouch.pipeline.errors import UserError
from vouch.pipeline.records import intact
from vouch.prompts.combination import load_variation
from vouch.prompts.config import config_of
from vouch.prompts.draft import IMAGES, Item
from vouch.prompts.rewrites.table import read_questions
from vouch.prompts.template import read_template
from vouch.tables.asked import (
    CIRCULAR,
    INITIAL,
    KINDS,
    ORIGINAL,
    OUTPUTS,
    PROMPTS,
    TEXT,
    items_path,
    prompts_path,
    repeats,
)

Cells = Sequence[tuple[str, str]]
"""Pairs of model and dataset that will be asked."""


def variations_of(project: Project, dataset: str) -> list[str]:
    """The variations with which a dataset is asked."""
    return project.datasets[dataset].variations or project.variations


def prompt_sets(project: Project) -> tuple[int, int]:
    """How many pairs of dataset and variation a model answers: single variations, and combined ones.

    `initial` is none of them: it repeats original prompts, and asks those of items that are left out.
    """
    every = [name for dataset in project.datasets for name in variations_of(project, dataset)]
    names = [name for name in every if name != INITIAL]
    combined = sum("+" in name for name in names)
    return len(names) - combined, combined


@dataclass(frozen=True)
class Items:
    """The items of a dataset. count: None if unknown. here: whether they were counted in its source.

    groups: whether dialogues or images with several questions were counted, so that there are more items.
    questions: how many different ones they ask at most.
    """

    count: int | None
    here: bool
    groups: bool = False
    questions: int | None = None

    @property
    def text(self) -> str:
        """Their number as text for a person."""
        return "?" if self.count is None else f"over {self.count}" if self.groups else str(self.count)


def count_items(name: str, entry: DatasetEntry) -> Items:
    """Items by the loader's own count, before cleaning; if the source is not here, the expected number."""
    share = entry.sample.share if entry.sample else 1
    loader = importlib.import_module(f"vouch.datasets.loaders.{entry.loader}")
    settings = loader.Settings.model_validate(entry.settings)
    away = entry.source != REMOTE and not Path(entry.source).exists() and hasattr(loader, "expected")
    here = not away and is_here(entry.source, entry.origin)
    number: int | None = None
    if here:
        source = locate(name, entry.source, entry.origin, getattr(loader, "PLACE", ""))
        number = loader.count(source, name, settings)
    counts: Expected = {}
    with suppress(UserError):  # reported when the source is read
        if not here:
            source = promised(entry.origin) if entry.origin else SourceFiles(Path(entry.source))
        counts = expectation(loader, source, name, settings)
    known = counts.get("items") or counts.get("groups")
    if number is None and known:
        number = min(known)
    count = None if number is None else round(number * share)
    groups = not here and bool(known) and "items" not in counts
    most = [one for one in (count, max(counts.get("questions", ()), default=None)) if one is not None]
    return Items(count, here, groups, questions=min(most, default=None))


@dataclass(frozen=True)
class Count:
    """The prompts of a dataset, and the requests that they make.

    outputs: prompts by request type. rows: of the passes that read them, each with its number, by estimated
    lengths. texts: prompts that ask for text, by variation. Prompts that repeat another one (`repeats`) are
    in none of the three. sampled: pairs of (prompts, samples for each), filled in by `of`. mixed: whether
    each item was counted as a question with options and as an open one.

    bound: empty if the prompts were counted; `at most` if they are an estimate with every variation on every
    item that may have it, or if some rewrites may be refused; `about` if the number of items or rotations is
    a guess as well. without_images: the same for a model that takes none, to which some variations are the
    original. refused: why `prepare` will stop at the questions, as far as their words tell. rewriting: the
    rewrites that will be made; None if there will be no new ones.
    """

    prompts: int
    outputs: Mapping[str, int]
    rows: Mapping[PlannedRow, int]
    texts: Mapping[str, int] = field(default_factory=dict)
    bound: str = ""
    sampled: tuple[tuple[int, int], ...] = ()
    mixed: bool = False
    without_images: "Count | None" = None
    refused: str = ""
    rewriting: Rewriting | None = None

    @property
    def text(self) -> str:
        """The number of prompts for a person."""
        return f"{self.bound} {self.prompts}".lstrip()

    @property
    def at_most(self) -> "Count":
        """The same as a bound."""
        bare = self.without_images
        return replace(self, bound="at most", without_images=bare and replace(bare, bound="at most"))

    def of(
        self,
        config: ExtractConfig,
        model: str,
        dataset: str,
        sees: bool = True,
        unsupported: Collection[str] = (),
    ) -> "Count":
        """The prompts that one model is asked. sees: whether it takes images. unsupported: request types that
        it does not support."""
        if not sees and self.without_images is not None:
            return self.without_images.of(config, model, dataset, unsupported=unsupported)
        if unsupported:
            outputs = {output: n for output, n in self.outputs.items() if output not in unsupported}
            rows = {row: n for row, n in self.rows.items() if row.output not in unsupported}
            texts = {} if TEXT in unsupported else self.texts
            return replace(self, outputs=outputs, rows=rows, texts=texts).of(config, model, dataset)
        sampled = (
            (sum(count for name, count in self.texts.items() if one.of_variation(name)), one.samples)
            for one in config.sampled(model, dataset)
        )
        return replace(self, sampled=tuple(sampled))

    @property
    def samples(self) -> int:
        """The number of texts that one model samples, in addition to the greedy ones."""
        return sum(prompts * times for prompts, times in self.sampled)

    @property
    def answers(self) -> int:
        """The number of all answers of one model."""
        return sum(self.outputs.values()) + self.samples

    def prompt_tokens(self, output: str) -> float:
        """The mean of the estimated lengths of prompts read one by one, images aside; with an option if these
        are scored."""
        rows = {row: n for row, n in (self.without_images or self).rows.items() if row.output == output}
        return sum(row.tokens * n for row, n in rows.items()) / max(1, sum(rows.values()))

    def passes(self, config: ExtractConfig) -> Passes:
        """The forward passes of one model, as they come, without those over shared image prefixes.

        Each sample begins anew after the pass that read its prompt; `texts` counts these as well.
        """
        read = count_passes(self.rows, config.batch, config.bucket)
        again = sum(min(prompts, read.texts) * times for prompts, times in self.sampled)
        return replace(read, count=read.count + again, texts=read.texts + again)


_QUESTION = Item(
    *("", "", "?", None, ("1", "2", "3", "4"), (0,), ("d",), "choice"),
    goes_on=True,
    rewrites=dict.fromkeys(KINDS, "?"),
)
_PROBES = (
    _QUESTION,
    replace(_QUESTION, options=("left", "right"), images=("d", "e"), exchange=("f", None)),
    replace(_QUESTION, options=(), answers=(), references=("1",), kind="text"),
)
"""Questions to which as many variations as possible apply: with four options, two images, no options."""


def estimate(
    items: Items, entry: DatasetEntry, variations: Sequence[str], outputs: Sequence[str] | None = None
) -> Count:
    """Estimates prompts for a dataset that has none yet, by its kinds of questions.

    variations, outputs: the profile's, for entries that name none. Raises UserError.
    """
    config = config_of(entry.model_dump(), variations, outputs)
    template = read_template(config.template, config.variant, config.outputs)
    loaded = list(map(load_variation, config.variations))
    kinds = kinds_of_questions(entry)
    count, prompts, asked = items.count or 0, 0, {}
    for one in loaded:
        drafts = [
            len(one.drafts(probe, template)[0])
            for probe in _PROBES
            if probe.kind in kinds and one.answers(probe) is not None
        ]
        most = max(drafts, default=0)
        repeated = bool(most) and repeats(f"/{one.name}/1", one.name) in config.variations
        prompts += count * most
        asked[one.name] = count * (most - repeated)
    given = {*(template.outputs if "choice" in kinds else ()), *((TEXT,) if "text" in kinds else ())}
    given = given if config.asked else set()
    guessed = items.groups or any(part.name == CIRCULAR for one in loaded for part in one.parts)

    def counted(asked: Mapping[str, int]) -> Count:
        answers = {output: sum(asked.values()) for output in OUTPUTS if output in given}
        texts = asked if TEXT in given else {}
        rows = {PlannedRow(output, TEXT_TOKENS): number for output, number in answers.items()}
        bound = "about" if guessed else "at most"
        return Count(prompts, answers, rows, texts, bound, mixed=len(kinds) > 1)

    bare = {name: number for name, number in asked.items() if not (ORIGINAL in asked and _of_images(name))}
    return replace(counted(asked), without_images=counted(bare))


@lru_cache
def _of_images(variation: str) -> bool:
    """Whether a variation changes nothing but images: without them it is the original."""
    try:
        parts = load_variation(variation).parts
    except UserError:  # of a table that is made anew
        return False
    return variation != ORIGINAL and all(part.declaration.parts == (IMAGES,) for part in parts)


_READ = ["item", "variation", "outputs", "system", "turns", "text", "response", "options", "images"]


def count_prompts(path: Path) -> Count:
    """Counts the prompts in a table, and estimates their lengths. Raises UserError."""
    return counted(lambda columns: _rows(path, columns))


def counted(read: Callable[[list[str]], Iterable[Mapping[str, Any]]]) -> Count:
    """Counts rows of the prompts table. read: gives them anew, with at least these columns."""
    asked = {(row["item"], row["variation"]) for row in read(_READ[:2])}
    tallies, prompts = {True: _Tally(), False: _Tally()}, 0
    for (item, variation), group in groupby(read(_READ), key=itemgetter("item", "variation")):
        of_group = list(group)
        prompts += len(of_group)
        repeated = (item, repeats(f"{item}/{variation}/1", variation)) in asked
        for sees, tally in tallies.items():
            if sees or (item, ORIGINAL) not in asked or not _of_images(variation):
                tally.add(of_group, repeated, sees)
    counts = {sees: Count(prompts, *tally.counted()) for sees, tally in tallies.items()}
    return replace(counts[True], without_images=counts[False])


def _rows(path: Path, columns: list[str]) -> Iterator[Mapping[str, Any]]:
    for batch in PROMPTS.open(intact(path)).iter_batches(columns=columns, use_threads=False):
        yield from batch.to_pylist()


@dataclass
class _Tally:
    """What the prompts of a table ask of one kind of model. See Count."""

    outputs: Counter[str] = field(default_factory=Counter)
    rows: Counter[PlannedRow] = field(default_factory=Counter)
    texts: Counter[str] = field(default_factory=Counter)

    def add(self, group: Sequence[Mapping[str, Any]], repeated: bool, sees: bool) -> None:
        """The prompts of an item and variation. repeated: whether the first one is another one once more."""
        for output in OUTPUTS:
            rows = [row for row in group if output in (row["outputs"] or ())][repeated:]
            size = 1 if output == TEXT else PACK_PROMPTS
            for start in range(0, len(rows), size):
                self.rows.update(rows_of_pack(output, rows[start : start + size], sees))
            self.outputs[output] += len(rows)
            self.texts[group[0]["variation"]] += len(rows) if output == TEXT else 0

    def counted(self) -> tuple[dict[str, int], Counter[PlannedRow], Counter[str]]:
        """Outputs that are asked for, rows and texts."""
        return {output: number for output, number in self.outputs.items() if number}, self.rows, self.texts


def take_images(project: Project) -> dict[str, bool]:
    """Whether each model takes images, as far as is known."""
    locked = locked_models()
    return {name: sees_images(name, source, locked.get(name)) for name, source in project.models.items()}


def unsupported_by_model(project: Project) -> dict[str, dict[str, str]]:
    """By model, the request types that it does not support, with the reason, as far as is known."""
    locked = locked_models()
    listed = [
        name
        for name, source in project.models.items()
        if source == str(MODELS) or (name in locked and locked[name].program)
    ]
    return {name: reasons for name in listed if (reasons := unsupported_outputs(locked[name]))}


def count_datasets(
    project: Project, items: Mapping[str, Items], touched: Collection[str]
) -> dict[str, Count]:
    """Prompts of each dataset: counted in its table or, if `touched` stages will make a new one, in the lines
    of its source, and estimated if these do not tell or if `prepare` will refuse them."""
    return {
        name: _count_ahead(project, name, items[name], touched)
        if f"vary@{name}" in touched
        else count_prompts(prompts_path(name))
        for name in project.datasets
    }


def _count_ahead(project: Project, name: str, items: Items, touched: Collection[str]) -> Count:
    made = None
    with suppress(UserError):  # of `rewrite` or `vary`, which will say it
        made = ahead.prompts(name, project)
    rewrites = _rewriting(project, name, items, touched, made)
    if made and not made.refused:
        count = replace(counted(lambda _: made.rows), rewriting=rewrites)
        return count if made.exact else count.at_most
    count = estimate(items, project.datasets[name], project.variations, project.outputs)
    return replace(count, refused=made.refused if made else "", rewriting=rewrites)


def _rewriting(
    project: Project, name: str, items: Items, touched: Collection[str], made: ahead.Ahead | None
) -> Rewriting | None:
    """The rewrites of a dataset if `rewrite` will run: of its questions in memory or in the items table."""
    if f"rewrite@{name}" not in touched or not wanted(project, name):
        return None
    if made and made.rewriting:
        return made.rewriting
    if f"prepare@{name}" not in touched:
        try:
            return of_questions(project, name, read_questions(intact(items_path(name))))
        except UserError:  # a wrong decision, which `rewrite` will name
            return None
    return unread(project, name, items.questions or 0, items.questions == items.count)


def judge_prompts(
    project: Project, items: Mapping[str, Items], counts: Mapping[str, Count]
) -> dict[str, int]:
    """The greatest number of prompts that the judge can get; empty without a judge.

    `open`: answers to open questions in their original wording. `options`: texts for questions with options;
    the judge gets only those that no rule decides.
    """
    judge = project.score.judge
    if not judge.model:
        return {}
    most = {"open": 0, "options": 0}
    for name, entry in project.datasets.items():
        kinds = kinds_of_questions(entry)
        models = sum(project.extract.asks(one, name) for one in project.models)
        if "text" in kinds and judge.open and ORIGINAL in variations_of(project, name):
            most["open"] += models * (items[name].count or 0)
        if "choice" in kinds:
            most["options"] += models * counts[name].outputs.get(TEXT, 0)
    return most
