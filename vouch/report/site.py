"""From evidence and pictures to the pages of the site and what they load."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from vouch.report import formatting, palette, plugins, sections
from vouch.report.config import Config
from vouch.report.evidence import Evidence
from vouch.report.figures import FigureSpec
from vouch.report.pages import PAGES, Page
from vouch.report.table_files import TableFiles
from vouch.report.terms import Marker

STATIC = Path(__file__).parent / "static"


@dataclass(frozen=True)
class Picture:
    """A figure as a page shows it. svg: the drawing. specification: the same in vega-lite, as JSON. narrow: a
    drawing for narrow screens, if it has one. All three are our own markup, not to be escaped."""

    spec: FigureSpec
    svg: str
    specification: str
    narrow: str = ""


@dataclass(frozen=True)
class Link:
    """A section as the page's list of contents names it."""

    name: str
    title: str

    @property
    def anchor(self) -> str:
        """The id of its element."""
        return self.name.replace("_", "-")


def breakable(text: str) -> Markup:
    """The text, escaped, with leave to break the line after each underscore."""
    return Markup(str(escape(_visible(text))).replace("_", "_<wbr>"))


def _visible(value: Any) -> Any:
    """What stands in a page; our own markup stays as it is."""
    return formatting.visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def environment() -> Environment:
    """Jinja with escaping everywhere; an unknown name in a template is an error."""
    env = Environment(
        loader=PackageLoader("vouch.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_visible,
    )
    env.filters["breakable"] = breakable
    return env


def assets() -> dict[str, str]:
    """What the pages load, by its name under reports/assets.

    Everything in static/ and the colours of dark figures; the libraries that interactive figures ask for
    are in vega.js.
    """
    found = {path.name: path.read_text("utf-8") for path in sorted(STATIC.iterdir()) if path.is_file()}
    return found | {"figures.css": _dark()}


def _dark() -> str:
    """Rules that swap the colours of figures for their dark ones."""
    rules = [
        f'figure svg [{attribute}="{light}"]{{{attribute}:{dark}}}'
        for light, dark in palette.DARK.items()
        for attribute in ("fill", "stroke")
    ]
    by_choice = "\n".join(f':root[data-theme="dark"] {rule}' for rule in rules)
    by_system = "\n".join(f':root:not([data-theme="light"]) {rule}' for rule in rules)
    system = "screen and (prefers-color-scheme: dark)"
    return f"@media screen {{\n{by_choice}\n}}\n@media {system} {{\n{by_system}\n}}\n"


def _links(page: Page, views: Mapping[str, Any]) -> list[Link]:
    """The sections of a page that have something to say."""
    modules = plugins(sections)
    return [Link(name, modules[name].TITLE) for name in page.sections if views[name]]


def build(evidence: Evidence) -> dict[str, Any]:
    """The view of every section, by its name."""
    return {name: module.build(evidence) for name, module in plugins(sections).items()}


def site(
    config: Config,
    evidence: Evidence,
    pictures: Mapping[str, Picture],
    views: Mapping[str, Any] | None = None,
) -> dict[str, str]:
    """Text of every page, and of the tables on them, by their path under reports/.

    pictures: by name of their files; a missing one is left out. views: of the sections, where they are built.
    """
    views = build(evidence) if views is None else views
    parts = {page.name: found for page in PAGES if (found := _links(page, views))}
    entries = [page for page in PAGES if page.name in parts]
    env = environment()
    tables = TableFiles(evidence.datasets)
    shared = {
        "site": config.title,
        "entries": entries,
        "evidence": evidence,
        "pictures": pictures,
        "views": views,
        "file_of": tables.add,
    }
    made = {}
    for page in entries:
        template = env.select_template([f"pages/{page.name}.html.j2", "page.html.j2"])
        root = "../" * page.address.count("/")
        own = {"page": page, "parts": parts[page.name], "root": root, "marker": Marker(root)}
        made[page.address] = template.render(**shared, **views, **own)
    return made | {f"tables/shown/{name}": text for name, text in sorted(tables.files.items())}
