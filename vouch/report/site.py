"""Writes the site: the pages that a registry finds, and all other files of reports/ except reports/items.

First come the terms: words of terms.csv that get a dotted line on a page, with their definition and a link to
the page Method. Then come the pages as HTML, and last the functions that write files. All pages are made
here, even those that commands write outside of reports/ (`single_page`).
"""

import csv
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from vouch.pipeline.files import replacing_folder, write_json, write_text
from vouch.report import drawing, formatting, pages, vegalite
from vouch.report.config import ReportConfig
from vouch.report.drawing import RenderCache
from vouch.report.evidence import Evidence
from vouch.report.formatting import visible
from vouch.report.page import FigureSpec, Page, PageSection, Registry, Section
from vouch.report.table import Column
from vouch.report.table_files import (
    PLOTTED,
    TABLES,
    TableFiles,
    csv_text,
    dvc_models,
    dvc_numbers,
    metrics_json,
    plotted,
    plotted_reliability,
)
from vouch.report.vegalite import Chart

METHOD = "pages/method.html"
# Tags and entities hold no words; the text of links and code is left as it is.
_CODE = re.compile("`([^`]+)`")
_APART = re.compile(r"(<a\b.*?</a>|<code>.*?</code>|<[^>]*>|&[^;\s]+;)", re.DOTALL)


_EXPLAINED = Markup('<button type="button" class="term" title="{}">{}</button>')
# A page in pieces: elements without words to break, other tags, and text.
_PIECES = re.compile(r"<(script|style|svg|title|option)\b.*?</\1>|<[^>]*>|[^<]+", re.DOTALL)
_LONG_WORD = re.compile(r"[^\s&]{25,}")
_BREAK = re.compile(r"(?<=[_/@:-])(?=\w)")


@dataclass(frozen=True)
class Term:
    """name: as the page writes it. words: those that mean it, joined by |. place: its anchor on Method. text:
    its definition in one line."""

    name: str
    words: str
    place: str
    text: str


@cache
def terms() -> dict[str, Term]:
    """The terms, each under every one of its words in lower case."""
    with files(__package__).joinpath("terms.csv").open(encoding="utf-8") as file:
        return {
            word.lower(): term
            for row in csv.DictReader(file)
            for term in [Term(**row)]
            for word in term.words.split("|")
        }


@cache
def _words() -> re.Pattern[str]:
    """Matches any of the words, the longest first; words in capitals match only in capitals."""
    every = sorted(
        {word for term in terms().values() for word in term.words.split("|")}, key=len, reverse=True
    )
    found = (re.escape(word) if word.isupper() else f"(?i:{re.escape(word)})" for word in every)
    return re.compile(rf"(?<![\w-])(?:{'|'.join(found)})(?![\w-])")


class Marker:
    """Marks the terms of one page.

    root: the path from the page to reports/; None for a page that stands alone, whose terms are not links.
    """

    def __init__(self, root: str | None) -> None:
        self._root = root
        self._seen: set[str] = set()

    def _link(self, words: str, term: Term, text: str) -> str:
        if self._root is None:
            return _EXPLAINED.format(text, Markup(words))
        place = f"{self._root}{METHOD}#term-{term.place}"
        return f'<a class="term" href="{place}" title="{escape(text)}">{words}</a>'

    def prose(self, text: str) -> Markup:
        """The text, escaped unless it is markup; a term is marked where the page first uses it."""

        def marked(match: re.Match[str]) -> str:
            term = terms()[match[0].lower()]
            if term.name in self._seen:
                return match[0]
            self._seen.add(term.name)
            return self._link(match[0], term, f"{term.name}: {term.text}.")

        plain = str(text if isinstance(text, Markup) else escape(visible(text)))
        safe = plain if isinstance(text, Markup) else _CODE.sub(r"<code>\1</code>", plain)
        parts = _APART.split(safe)  # every second part is markup
        parts[::2] = [_words().sub(marked, part) for part in parts[::2]]
        return Markup("".join(parts))

    def heading(self, column: Column) -> Markup:
        """The label of a column, with its help and the terms in it as a tooltip."""
        label = breakable(column.label)
        found = list(dict.fromkeys(terms()[word.lower()] for word in _words().findall(column.label)))
        first = found[:1] if not column.help else []
        parts = [column.help or first[0].text] if column.help or first else []
        parts += [f"{term.name}: {term.text}" for term in found if term not in first]
        if not parts:
            return Markup(label)
        text = visible(f"{'. '.join(each[:1].upper() + each[1:] for each in parts)}.")
        if found:
            return Markup(self._link(str(label), found[0], text))
        return _EXPLAINED.format(text, label)


STATIC = Path(__file__).parent / "static"
TEMPLATES = Path(__file__).parent / "templates"
OWN = Registry(pages)
"""The report's own pages; rooms above the report may add others."""


@dataclass(frozen=True)
class Drawing:
    """A figure as a page shows it. svg: the drawing. specification: the same in vega-lite, as JSON. narrow: a
    drawing for narrow screens, if there is one. All three are trusted markup and not escaped. least: the
    width below which the drawing scrolls, pixels."""

    spec: FigureSpec
    svg: str
    specification: str
    narrow: str = ""
    least: int = 0


def breakable(text: str) -> Markup:
    """The text, escaped, with optional line breaks after underscores."""
    return Markup(str(escape(_visible(text))).replace("_", "_<wbr>"))


def with_breaks(html: str) -> str:
    """A page with optional line breaks in its long words, such as the names of models and files."""

    def broken(piece: re.Match[str]) -> str:
        if piece[0].startswith("<"):
            return piece[0]
        return _LONG_WORD.sub(lambda word: _BREAK.sub("<wbr>", word[0]), piece[0])

    return _PIECES.sub(broken, html)


def _visible(value: Any) -> Any:
    """A value as it may be written into a page; trusted markup is unchanged."""
    return formatting.visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def environment(folders: Sequence[Path] = ()) -> Environment:
    """Jinja with escaping everywhere; an unknown name in a template is an error. folders: more templates."""
    env = Environment(
        loader=FileSystemLoader([TEMPLATES, *folders]),
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
    """The files under reports/assets, by name: those of static/, and the dark colours of figures.

    The libraries for interactive figures are added as vega.js.
    """
    static = {path.name: path.read_text("utf-8") for path in sorted(STATIC.iterdir()) if path.is_file()}
    return static | {"figures.css": _dark()}


def _dark() -> str:
    """CSS rules that replace the colours of figures by their dark ones."""
    rules = [
        f'figure svg [{attribute}="{light}"]{{{attribute}:{dark}}}'
        for light, dark in vegalite.DARK.items()
        for attribute in ("fill", "stroke")
    ]
    by_choice = "\n".join(f':root[data-theme="dark"] {rule}' for rule in rules)
    by_system = "\n".join(f':root:not([data-theme="light"]) {rule}' for rule in rules)
    system = "screen and (prefers-color-scheme: dark)"
    return f"@media screen {{\n{by_choice}\n}}\n@media {system} {{\n{by_system}\n}}\n"


def build(evidence: Evidence, registry: Registry = OWN) -> dict[str, Any]:
    """The content of every section, by its name."""
    return {section.name: section.build(evidence) for section in registry.sections}


def figures(evidence: Evidence, views: Mapping[str, Any], registry: Registry = OWN) -> list[FigureSpec]:
    """All figures: those of each dataset, then those of single sections."""
    specs = [
        *(
            spec
            for dataset in evidence.datasets
            for each in registry.figures
            for spec in each.of(evidence, dataset)
        ),
        *(spec for section in registry.sections for spec in section.figures(evidence, views[section.name])),
    ]
    return list({spec.file: spec for spec in specs}.values())


def site(
    config: ReportConfig,
    evidence: Evidence,
    drawings: Mapping[str, Drawing],
    views: Mapping[str, Any] | None = None,
    registry: Registry = OWN,
) -> dict[str, str]:
    """The text of every page and of the tables on them, by path under reports/.

    drawings: by name of their files; missing ones are left out. views: the sections' content, if already
    built.
    """
    views = build(evidence, registry) if views is None else views
    parts = {page.name: [s for s in registry.sections_of(page) if views[s.name]] for page in registry.pages}
    entries = [page for page in registry.pages if parts[page.name]]
    env = environment(registry.templates)
    tables = TableFiles(evidence.datasets)
    shared = {
        "site": config.title,
        "entries": entries,
        "evidence": evidence,
        "drawings": drawings,
        "views": views,
        "file_of": tables.add,
        "inline": None,
    }
    made = {}
    for page in entries:
        template = env.select_template([f"pages/{page.name}.html.j2", "page.html.j2"])
        root = "../" * page.address.count("/")
        own = {"page": page, "parts": parts[page.name], "root": root, "marker": Marker(root)}
        made[page.address] = with_breaks(template.render(**shared, **views, **own))
    return made | {f"tables/shown/{name}": text for name, text in sorted(tables.files.items())}


def single_page(title: str, page: Page, sections: Mapping[str, Section]) -> str:
    """The text of a page that needs no other file, server or network: without figures, navigation and files
    of its tables.

    title: of the site. sections: by the id of their element.
    """
    parts = [
        PageSection(name, section.heading, lambda evidence: None, page.name, place)
        for place, (name, section) in enumerate(sections.items())
    ]
    html = (
        environment()
        .get_template("page.html.j2")
        .render(
            **{"site": title, "page": page, "entries": (), "parts": parts, "views": sections, "drawings": {}},
            **{"root": "", "marker": Marker(None), "inline": assets()},
        )
    )
    return with_breaks(html)


REPORTS = Path("reports")
# The page of `dvc plots`, named in .dvc/config; DVC fills in {plot_divs}. It loads the site's own libraries,
# however deep the folder of `dvc plots show -o` is, and nothing from the network.
PLOTS_PAGE = TEMPLATES / "plots.html.j2"
Watch = Callable[[list[FigureSpec]], Iterable[FigureSpec]]


def draw(specs: Iterable[FigureSpec], folder: Path, cache: RenderCache) -> dict[str, Drawing]:
    """Writes each figure as SVG, PNG and PDF; returns the figures for the pages, by name of their files."""

    def svg(chart: Chart) -> str:
        return cache("svg", json.dumps(chart.to_dict()), lambda: drawing.svg(chart).encode()).decode()

    drawings: dict[str, Drawing] = {}
    for spec in specs:
        drawn = svg(spec.chart)
        document = drawing.document(drawn, spec.title, spec.description)
        (folder / f"{spec.file}.svg").write_text(document, encoding="utf-8", newline="\n")
        (folder / f"{spec.file}.png").write_bytes(cache("png", drawn, partial(drawing.png, drawn)))
        (folder / f"{spec.file}.pdf").write_bytes(cache("pdf", drawn, partial(drawing.pdf, drawn)))
        prefix = f"f{len(drawings)}"
        narrow = drawing.inline(svg(spec.narrow), f"{prefix}n") if spec.narrow else ""
        specification = drawing.specification(spec.chart)
        wide = drawing.inline(drawn, prefix)
        drawings[spec.file] = Drawing(spec, wide, specification, narrow, drawing.least_width(drawn))
    return drawings


def write_plots(evidence: Evidence) -> None:
    """Writes the files that `dvc plots` needs."""
    with replacing_folder(REPORTS / "plots") as folder:
        for metric in PLOTTED:
            write_text(folder / f"{metric}.csv", csv_text(plotted(evidence, metric)))
        write_text(folder / "reliability.csv", csv_text(plotted_reliability(evidence)))
        write_text(folder / "page.html", PLOTS_PAGE.read_text("utf-8"))


def write_for_dvc(evidence: Evidence) -> None:
    """Writes what `dvc metrics` shows: headline.json of the first of `dvc_models`, which the page Provenance
    names, since it may be another one in another run; and headline/MODEL.json of each."""
    dataset, models = dvc_models(evidence)
    with replacing_folder(REPORTS / "headline") as folder:
        for model in models:
            write_json(folder / f"{model}.json", dvc_numbers(evidence, dataset, model))
    write_json(REPORTS / "headline.json", dvc_numbers(evidence, dataset, models[0]) if models else {})


def write_site(files: Mapping[str, str], tables: Mapping[str, str], cache: RenderCache) -> None:
    """Writes the pages, the tables and the assets. files: text by path under reports/."""
    script = cache("script", "", lambda: drawing.script().encode()).decode()
    loaded = assets() | {"vega.js": script}
    every = {f"assets/{name}": text for name, text in loaded.items()} | dict(files)
    every |= {f"tables/{name}": text for name, text in tables.items()}
    for name in ("assets", "pages", "tables"):
        with replacing_folder(REPORTS / name) as folder:
            for path, text in every.items():
                if path.startswith(f"{name}/"):
                    target = folder / path.removeprefix(f"{name}/")
                    target.parent.mkdir(exist_ok=True)
                    target.write_text(text, encoding="utf-8", newline="\n")
    write_text(REPORTS / "index.html", files["index.html"])


def write(config: ReportConfig, evidence: Evidence, watch: Watch = iter, registry: Registry = OWN) -> None:
    """Writes everything under reports/ in the working directory. watch: reports progress on figures."""
    cache, views = RenderCache(), build(evidence, registry)
    with replacing_folder(REPORTS / "figures") as folder:
        drawings = draw(watch(figures(evidence, views, registry)), folder, cache)
    tables = {f"{name}.csv": csv_text(table(evidence)) for name, table in TABLES.items()}
    write_site(site(config, evidence, drawings, views, registry), tables, cache)
    cache.forget_others()
    write_plots(evidence)
    write_json(REPORTS / "metrics.json", metrics_json(evidence))
    write_for_dvc(evidence)
