"""From evidence and pictures to the pages of the site and what they load."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from vouch.report import formatting, pages, palette, sections
from vouch.report.config import Config
from vouch.report.evidence import Evidence
from vouch.report.figure_spec import Sketch
from vouch.report.grid_files import GridFiles
from vouch.report.plugins import plugins

STATIC = Path(__file__).parent / "static"
INDEX = "index"


@dataclass(frozen=True)
class Picture:
    """A figure as a page shows it. svg: the drawing. specification: the same in vega-lite, as JSON. narrow: a
    drawing for narrow screens, if it has one. All three are our own markup, not to be escaped."""

    sketch: Sketch
    svg: str
    specification: str
    narrow: str = ""


@dataclass(frozen=True)
class Entry:
    """A page as the others link to it. address: its path under reports/."""

    name: str
    title: str
    description: str
    address: str


@dataclass(frozen=True)
class Part:
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


def address(name: str) -> str:
    """Path of a page under reports/."""
    return f"{name}.html" if name == INDEX else f"pages/{name}.html"


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


def _parts(page: ModuleType, views: Mapping[str, Any]) -> list[Part]:
    """The sections of a page that have something to say."""
    modules = plugins(sections)
    return [Part(name, modules[name].TITLE) for name in page.SECTIONS if views[name]]


def _marked(picture: Picture) -> dict[str, Any]:
    """The same for a template, which escapes what is not marked."""
    drawn = {name: Markup(getattr(picture, name)) for name in ("svg", "specification", "narrow")}
    return {**vars(picture.sketch), **drawn}


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
    modules = sorted(plugins(pages).items(), key=lambda entry: (entry[1].PLACE, entry[0]))
    parts = {name: found for name, module in modules if (found := _parts(module, views))}
    entries = [
        Entry(name, module.TITLE, module.DESCRIPTION, address(name))
        for name, module in modules
        if name in parts
    ]
    env = environment()
    tables = GridFiles(evidence.datasets)
    shared = {
        "site": config.title,
        "entries": entries,
        "evidence": evidence,
        "pictures": {name: _marked(picture) for name, picture in pictures.items()},
        "file_of": tables.add,
    }
    made = {}
    for entry in entries:
        template = env.select_template([f"pages/{entry.name}.html.j2", "page.html.j2"])
        made[entry.address] = template.render(
            **shared,
            **views,
            page=entry,
            parts=parts[entry.name],
            scripts=getattr(plugins(pages)[entry.name], "SCRIPTS", ()),
            root="../" * entry.address.count("/"),
        )
    return made | {f"tables/shown/{name}": text for name, text in sorted(tables.files.items())}
