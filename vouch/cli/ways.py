"""By which way each model of a paper can be asked: for `vouch plan`, and for the tables of docs/models.md.

A profile names every model of its paper once (`paper`), and the head of a driver (`ABOUT`) those that it
asks. All else follows from the two.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from vouch.cli.printing import paragraphs, wrapped
from vouch.models.lock_entry import LockEntry
from vouch.models.program.about import About, drivers
from vouch.models.program.identity import DRIVERS
from vouch.params.project import OtherModels, Project, locked_models
from vouch.pipeline.yaml12 import load
from vouch.report.formatting import plural

BUILT_IN, DRIVER, GENERIC = "built in", "by a driver", "by the generic driver"
SERVER, RELEASED, NONE = "by a server", "by released answers", "not at all"
WAYS = (BUILT_IN, DRIVER, GENERIC, SERVER, RELEASED, NONE)
"""From the best to none."""
ASKED = WAYS[:4]
"""Those that ask the model; released answers are only scored."""
PAPERS = ("kostumov", "azad", "reform", "tu", "parc")
"""Profiles of papers, in the order of docs/models.md."""
GENERIC_DRIVER = f"{DRIVERS}/huggingface.py"
CHAT = "chat"  # the form that gives texts only
_DIGITS = 12  # of a commit


@dataclass(frozen=True)
class PaperModel:
    """A model of a paper, or several that it does not name one by one, and the best way to ask it.

    models: how many. datasets: how many the paper asked them, each counted once. entry: of models.lock.
    driver, commit: a file, and the commit of the authors' code that it ran with. form: of the generic driver.
    server: one that serves it by its documentation. why: the reason if nothing asks it.
    """

    name: str
    models: int
    datasets: int
    way: str
    entry: str | None = None
    driver: str | None = None
    commit: str | None = None
    form: str | None = None
    server: str | None = None
    why: str | None = None

    @property
    def cells(self) -> int:
        """Pairs of a model and a dataset."""
        return self.models * self.datasets

    def how(self, code: str = "") -> str:
        """The way in words. code: put around names that people write."""
        driver = f"{code}{self.driver}{code}"
        ran = f", which ran with random weights at commit {self.commit[:_DIGITS]}" if self.commit else ""
        texts = ", texts only" if self.form == CHAT else ""
        served = f", {self.server}" if self.server else ""
        also = f", or {SERVER}{served}" if self.server else ""
        return {
            DRIVER: f"by {driver}{ran}{also}",
            GENERIC: f"{GENERIC} {driver}{texts} (not run with this model){also}",
            SERVER: f"{SERVER}{served}",
            RELEASED: f"{RELEASED} alone, `vouch use released`",
        }.get(self.way, self.way)


def paper_models(
    project: Project, entries: Mapping[str, LockEntry], heads: Iterable[tuple[str, About]]
) -> list[PaperModel]:
    """Every model of a profile's paper, the best ways first. heads: what drivers say, by their names."""
    paper = project.paper
    if paper is None:
        return []
    count = len(_different(project, ()))
    rows = [_of_entry(name, slug, entries[slug], count) for name, slug in paper.entries.items()]
    claimed: dict[str, tuple[str, About]] = {}
    for driver, head in heads:
        for name in _claims(head, project.profile):
            claimed.setdefault(name, (driver, head))
    for group in paper.others:
        asked = len(_different(project, group.datasets))
        rows += [_of_other(name, group, asked, claimed.get(name), paper.released) for name in group.names]
    return sorted(rows, key=lambda row: WAYS.index(row.way))


def _claims(head: About, profile: str) -> Iterable[str]:
    """The models that a driver asks of a paper; for a profile of another name, those of all papers."""
    return head.models.get(profile, ()) if profile in PAPERS else chain.from_iterable(head.models.values())


def _different(project: Project, names: Sequence[str]) -> set[str]:
    """The datasets of some entries, by default all; entries that read the same questions are one dataset."""
    chosen = (project.datasets[name] for name in names or project.datasets)
    return {
        repr((one.loader, one.source, one.origin, one.sample, sorted(one.settings.items()))) for one in chosen
    }


def _of_entry(name: str, slug: str, entry: LockEntry, datasets: int) -> PaperModel:
    if entry.program:
        return PaperModel(name, 1, datasets, DRIVER, slug, entry.program.driver)
    return PaperModel(name, 1, datasets, SERVER if entry.source.kind == "server" else BUILT_IN, slug)


def _of_other(
    name: str, group: OtherModels, datasets: int, claimed: tuple[str, About] | None, released: bool
) -> PaperModel:
    def row(way: str, **of_way: str | None) -> PaperModel:
        return PaperModel(name, group.models, datasets, way, **of_way)

    if claimed:
        driver, head = claimed
        return row(DRIVER, driver=f"{DRIVERS}/{driver}.py", commit=head.commit, server=group.server)
    if group.generic:
        return row(GENERIC, driver=GENERIC_DRIVER, form=group.generic, server=group.server)
    if group.server:
        return row(SERVER, server=group.server)
    return row(RELEASED if released else NONE, why=group.why)


def models_of(project: Project) -> list[PaperModel]:
    """Every model of a profile's paper, as this checkout can ask it. Raises UserError."""
    return paper_models(project, locked_models(), drivers()) if project.paper else []


def sizes(rows: Sequence[PaperModel]) -> list[tuple[int, int]]:
    """The sizes of a study as (models, datasets), largest first."""
    counts: Counter[int] = Counter()
    for row in rows:
        counts[row.datasets] += row.models
    return sorted(((models, datasets) for datasets, models in counts.items()), reverse=True)


def cells_by_way(rows: Iterable[PaperModel]) -> Counter[str]:
    """The cells (model x dataset) of each way."""
    cells: Counter[str] = Counter()
    for row in rows:
        cells[row.way] += row.cells
    return cells


def screen(rows: Sequence[PaperModel], project: Project) -> str:
    """The models of a paper for a person, a paragraph for each way."""
    if not rows or project.paper is None:
        return ""
    cells = cells_by_way(rows)
    released = "; the answers of all are released (`vouch use released`)" if project.paper.released else ""
    own = "; for a driver you write the entry (docs/models.md)" if cells[DRIVER] or cells[GENERIC] else ""
    head = (
        f"of the paper's {plural(cells.total(), 'cell')} (model x dataset) "
        f"{sum(cells[way] for way in ASKED)} can be asked{released}{own}:"
    )
    return wrapped(head) + paragraphs(f" {line}" for line in _by_way(rows))


def _by_way(rows: Sequence[PaperModel]) -> Iterator[str]:
    """A line for each way, its models together."""
    for group in _groups(rows, by_entry=False):
        first = group[0]
        names = ", ".join(row.entry or row.name for row in group)
        count = sum(row.models for row in group)
        yield f"{first.how()} ({count}): {names}" + (f": {first.why}" if first.why else "")


def _groups(rows: Iterable[PaperModel], by_entry: bool) -> Iterable[list[PaperModel]]:
    """Rows with one way and reason together. by_entry: but each with an entry alone."""
    groups: dict[tuple[str | None, ...], list[PaperModel]] = {}
    for row in rows:
        groups.setdefault((row.how(), row.why, row.entry if by_entry else None), []).append(row)
    return groups.values()


# Tables of docs/models.md


def of_profile(name: str) -> list[PaperModel]:
    """The models of the paper of a profile of this checkout. Raises UserError."""
    project = Project.model_validate(load(Path(f"profiles/{name}.yaml")))
    return models_of(project)


def paper_table(name: str) -> list[list[str]]:
    """The models of a paper, their cells and their way; a row for each entry, and for each other way."""
    return [["models", "cells", "way"]] + [
        [
            ", ".join(f"{row.name} ({row.models})" if row.models > 1 else row.name for row in group),
            str(sum(row.cells for row in group)),
            group[0].how("`") + "".join(f": {of}" for of in (_code(group[0].entry), group[0].why) if of),
        ]
        for group in _groups(of_profile(name), by_entry=True)
    ]


def _code(entry: str | None) -> str | None:
    return f"`{entry}`" if entry else None


def cells_table() -> list[list[str]]:
    """The cells of all papers by way."""
    counts = {name: cells_by_way(of_profile(name)) for name in PAPERS}
    counts["all"] = sum(counts.values(), Counter())
    return [["paper", *WAYS, "cells"]] + [
        [name, *(f"{cells[way]:,}" for way in WAYS), f"{cells.total():,}"] for name, cells in counts.items()
    ]


def drivers_table() -> list[list[str]]:
    """The drivers that say which authors' code they ran with, and the `program` of an entry."""
    return [["driver", "authors' code", "its licence", "models of the papers", "`program` of an entry"]] + [
        [
            f"`{name}`",
            f"{head.repository} at `{head.commit[:_DIGITS]}`",
            head.licence,
            "; ".join(f"{paper}: {', '.join(models)}" for paper, models in head.models.items()),
            f"`{{driver: {DRIVERS}/{name}.py, environment: {head.environment}, code: {_clone(head)}, "
            "trust_code: true}`",
        ]
        for name, head in drivers()
    ]


def _clone(head: About) -> str:
    """The folder of the authors' code, cloned beside the checkout."""
    return "/".join(filter(None, ("..", head.repository.partition("/")[2], head.folder)))
