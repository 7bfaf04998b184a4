"""The parts of a page of the report, and the registry that finds pages.

A file of a package declares a `Page`, its sections (`PageSection`) and figures (`DatasetFigure`) at its top
level. A `Registry` finds them in the modules and packages it is given: vouch/report/pages, and any room
above the report that has pages of its own.
"""

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, TypeVar

from markupsafe import Markup

from vouch.pipeline.errors import UserError, did_you_mean
from vouch.report.evidence import Evidence
from vouch.report.leaders import lead_first
from vouch.report.table import Grid
from vouch.report.vegalite import Chart


@dataclass(frozen=True)
class FigureSpec:
    """A chart with its title and description.

    kind: a CSS class, shared by similar figures. file: name of its files without the suffix, unique. about:
    facts not in the title. description: the figure in words. narrow: a chart for narrow screens, if there
    is one.
    """

    kind: str
    file: str
    title: str
    about: str
    description: str
    chart: Chart
    narrow: Chart | None = None


@dataclass(frozen=True)
class DatasetFigure:
    """A figure that is drawn for every dataset, in reports/figures: NAME-DATASET.svg, .png and .pdf.

    draw: makes the chart of a dataset, None if there is nothing to draw. describe: the figure in words, for
    people who cannot see it. narrow: keywords of draw for narrow screens, if another layout helps.
    """

    name: str
    title: str
    draw: Callable[..., Any]
    describe: Callable[[Evidence, str], str]
    narrow: Mapping[str, Any] = field(default_factory=dict)

    def of(self, evidence: Evidence, dataset: str) -> Iterator[FigureSpec]:
        """The figure of a dataset, if there is something to show."""
        chart = self.draw(evidence, dataset)
        if chart is not None:
            narrow = self.draw(evidence, dataset, **self.narrow) if self.narrow else None
            text = self.describe(evidence, dataset)
            yield FigureSpec(self.name, f"{self.name}-{dataset}", self.title, dataset, text, chart, narrow)


@dataclass(frozen=True)
class Text:
    """A paragraph. tone: `warning`, `good summary` or `bad summary`. bold: words before the text."""

    text: str
    tone: str = ""
    bold: str = ""
    kind: ClassVar[str] = "text"


@dataclass(frozen=True)
class Sentences:
    """A list of sentences."""

    sentences: Sequence[str]
    kind: ClassVar[str] = "sentences"


@dataclass(frozen=True)
class Figures:
    """Figures by the names of their files; missing ones are left out."""

    files: Sequence[str]
    kind: ClassVar[str] = "figures"


@dataclass(frozen=True)
class Beside:
    """Blocks side by side, if there is room."""

    blocks: Sequence["Block"]
    kind: ClassVar[str] = "beside"


@dataclass(frozen=True)
class Folded:
    """Blocks that a reader opens by clicking on the summary."""

    summary: str
    blocks: Sequence["Block"]
    kind: ClassVar[str] = "folded"


Block = Text | Sentences | Figures | Beside | Folded | Grid


def sentence_list(sentences: Iterable[str]) -> list[Block]:
    """A list of the sentences that are not empty; nothing if there are none."""
    kept = tuple(filter(None, sentences))
    return [Sentences(kept)] if kept else []


@dataclass(frozen=True)
class Part:
    """Blocks under a heading. folds: whether they can be folded away. opens: whether they start open."""

    title: str
    blocks: Sequence[Block]
    folds: bool = False
    opens: bool = False


@dataclass(frozen=True)
class Section:
    """heading: its title on the page. text: an introduction, as trusted HTML. parts: its content."""

    heading: str
    text: Markup
    parts: Sequence[Part]


def by_dataset(
    heading: str,
    text: Markup,
    blocks: Callable[[Evidence, str], Sequence[Block]],
    opened: int | None = None,
    above: Callable[[Evidence, str], Grid | None] | None = None,
) -> Callable[[Evidence], Section | None]:
    """The `build` of a section with a part for each dataset that has blocks; None if there are none.

    The dataset of the first page comes first. opened: how many parts are open at first; None if parts
    cannot be folded away. above: a small table for each dataset, all of them side by side before the parts.
    """

    def build(evidence: Evidence) -> Section | None:
        shown = {dataset: made for dataset in lead_first(evidence) if (made := blocks(evidence, dataset))}
        small = [grid for dataset in shown if above and (grid := above(evidence, dataset))]
        parts = [Part("", [Beside(small)])] if small else []
        for index, (dataset, made) in enumerate(shown.items()):
            parts.append(Part(dataset, made, folds=opened is not None, opens=index < (opened or 0)))
        return Section(heading, text, parts) if parts else None

    return build


@dataclass(frozen=True)
class PageSection:
    """A section of a page.

    title: its entry in the page's table of contents. build: returns a `Section`, or the values that
    templates/NAME.html.j2 shows, or None if there is nothing to say. page: name of its page. place: its
    position there. figures: makes the section's own figures from the result of build. summary: what it says
    in a sentence or two, for a page that folds.
    """

    name: str
    title: str
    build: Callable[[Evidence], Any]
    page: str
    place: int
    figures: Callable[[Evidence, Any], Iterable[FigureSpec]] = lambda evidence, view: ()
    summary: Callable[[Evidence], Iterable[str]] = lambda evidence: ()

    @property
    def anchor(self) -> str:
        """The id of its element."""
        return self.name.replace("_", "-")


@dataclass(frozen=True)
class Page:
    """A page of the site: `index` is reports/index.html, NAME pages/NAME.html.

    title: the link in the navigation, and the heading. description: one sentence on what the page answers.
    place: position in the navigation. scripts: files in static/ that it loads. Sections name it. A page
    whose sections have nothing to say is left out, with all links to it. folds: whether it begins with a
    summary, and its sections are folded. Its frame is templates/pages/NAME.html.j2 if that exists, else
    templates/page.html.j2.
    """

    name: str
    title: str
    description: str
    place: int
    scripts: tuple[str, ...] = ()
    folds: bool = False

    @property
    def address(self) -> str:
        """Path under reports/."""
        return "index.html" if self.name == "index" else f"pages/{self.name}.html"


T = TypeVar("T")


def declared(module: ModuleType, kind: type[T]) -> list[T]:
    """Every object of a kind that a module, or any file of a package, declares at its top level."""
    names = sorted(info.name for info in pkgutil.iter_modules(getattr(module, "__path__", [])))
    modules = [importlib.import_module(f"{module.__name__}.{name}") for name in names] or [module]
    objects = (each for module in modules for each in vars(module).values() if isinstance(each, kind))
    return list({id(each): each for each in objects}.values())  # once, even if other files import it


class Registry:
    """The pages, sections and figures that some modules, or the files of packages, declare."""

    def __init__(self, *modules: ModuleType) -> None:
        self._modules = modules

    def _declared(self, kind: type[T]) -> list[T]:
        every = [each for module in self._modules for each in declared(module, kind)]
        return list({id(each): each for each in every}.values())

    @cached_property
    def pages(self) -> Sequence[Page]:
        return sorted(self._declared(Page), key=attrgetter("place"))

    @cached_property
    def sections(self) -> Sequence[PageSection]:
        """Every section, in the order of its page. Raises UserError if no page has the name that it gives."""
        names = [page.name for page in self.pages]
        sections = sorted(self._declared(PageSection), key=attrgetter("place"))
        for section in sections:
            if section.page not in names:
                meant = did_you_mean(section.page, names)
                raise UserError(f"section {section.name}: no page is named {section.page}; {meant}")
        return sections

    @cached_property
    def figures(self) -> Sequence[DatasetFigure]:
        return sorted(self._declared(DatasetFigure), key=attrgetter("name"))

    def sections_of(self, page: Page) -> list[PageSection]:
        """The sections of a page, in order."""
        return [section for section in self.sections if section.page == page.name]

    @property
    def templates(self) -> list[Path]:
        """Folders in which the modules may have templates of their own."""
        return [Path(str(module.__file__)).parent / "templates" for module in self._modules]
