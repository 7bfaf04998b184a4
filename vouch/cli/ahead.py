"""The prompts of a user's own questions, made in memory by the code of the stages, before any stage has run.

Only files of lines (`loader: jsonl`) are read: they are on this machine, and what they ask follows from their
words. Images are not opened. So the prompts are those that `vary` will write, unless an image is broken.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from vouch.cli.rewriting import Rewriting, by_rules, of_questions, of_rows, wanted
from vouch.datasets.config import DatasetEntry
from vouch.datasets.first_pass import Dataset, ItemRows, reject_row, sampled
from vouch.datasets.raw import RawItem, Rejected, Unusable
from vouch.params.project import Project
from vouch.pipeline.errors import UserError
from vouch.prompts.build import COLUMNS, ItemBuilder, Prompts, Rewrites, items_of, keeping
from vouch.prompts.combination import load_variation
from vouch.prompts.config import config_of, template_name
from vouch.prompts.exchange import Exchanges
from vouch.prompts.exchange import decisions_path as exchanges_path
from vouch.prompts.fit import Fit
from vouch.prompts.rewrites.table import distinct, variation_tasks
from vouch.prompts.template import read_template
from vouch.tables.asked import ACCEPTED, CLEAN

LOADER = "jsonl"
MOST = 20_000  # questions that are read: some seconds
REWRITTEN = 2_000  # different questions that are rewritten by rules: some seconds
Row = Mapping[str, Any]


def readable(entry: DatasetEntry) -> bool:
    """Whether the questions of a dataset can be read here without its images."""
    return entry.loader == LOADER and entry.options is None and Path(entry.source).exists()


def questions(name: str, entry: DatasetEntry) -> list[Row]:
    """The items that `prepare` will make, in columns COLUMNS and `index`; paths stand for digests of images.

    Raises UserError at the first line that stops `prepare`.
    """
    dataset = Dataset.of(name, entry.model_dump())
    template = read_template(entry.template, entry.variant)
    fit = Fit(template, template_name(entry.template, entry.variant), counted=True)
    stop, items, rows = dataset.settings.on_error == "stop", ItemRows(fit.problem), list[Row]()
    for raw in sampled(dataset.loader.read(dataset.source, name, dataset.settings), entry.sample):
        try:
            if isinstance(raw, Rejected):
                raise Unusable(raw.reason)
            rows.append(items.row(raw, _names(raw), heights=[]))
        except Unusable as error:
            reject_row(name, raw, str(error), stop)
        if len(rows) > MOST:
            break
    return [{name: row[name] for name in COLUMNS} | {"index": index} for index, row in enumerate(rows)]


def _names(raw: RawItem) -> list[str]:
    """What stands for the digests of an entry's images: their paths, or else a name of each."""
    images = [*raw.images, *(image for image in raw.exchange if image is not None)]
    return [image if isinstance(image, str) else f"{raw.id} {number}" for number, image in enumerate(images)]


class Ahead(NamedTuple):
    """Rows of the prompts table. exact: whether `vary` will write as many, and not fewer.

    rewriting: of the questions. refused: why `prepare` will stop, if it will; then there is nothing else.
    """

    rows: Sequence[Row]
    exact: bool
    rewriting: Rewriting | None = None
    refused: str = ""


def prompts(name: str, project: Project) -> Ahead | None:
    """The prompts of a dataset; None if its source is not here or is large, or if they depend on which images
    people chose. Raises UserError if `rewrite` or `vary` would."""
    entry = project.datasets[name]
    if not readable(entry):
        return None
    try:
        asked = questions(name, entry)
    except UserError as error:
        return Ahead([], exact=False, refused=str(error))
    if len(asked) > MOST or exchanges_path(name).exists():
        return None
    config = config_of(entry.model_dump(), project.variations, project.outputs)
    template = read_template(config.template, config.variant, config.outputs)
    rewrites, exact, rewriting = _rewrites(name, project, distinct(asked))
    builder = ItemBuilder(rewrites, Exchanges([]), keeping(config, template))
    making = Prompts(list(map(load_variation, config.variations)), template, config.name, 1, config.asked)
    source = Path(entry.source)
    made = making.of_items(items_of(asked, builder, source), source)
    rows = [row for _, rows in made for row in rows]
    return Ahead(rows, exact and entry.settings.get("on_error") != "skip", rewriting)


def _rewrites(name: str, project: Project, questions: Mapping[str, bool]) -> tuple[Rewrites, bool, Rewriting]:
    """The rewrites, whether they are those that will be made, and their numbers.

    If there are many, or if a model makes them, every question has one of each kind.
    """
    kinds = wanted(project, name)
    if kinds and (project.rewrite.model or len(questions) > REWRITTEN):
        tasks = variation_tasks(questions, [kind for kind in kinds if kind != CLEAN])
        return (
            Rewrites(
                {"original": one.question, "kind": one.kind, "status": ACCEPTED, "rewrite": one.question}
                for one in tasks
            ),
            False,
            of_questions(project, name, questions),
        )
    made = by_rules(project, name, questions)
    return Rewrites(made), True, of_rows(len(questions), made)
