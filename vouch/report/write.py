"""Writes everything under reports/ but reports/items."""

import json
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path

from vouch.pipeline.files import replacing_folder, write_json, write_text
from vouch.report import drawing
from vouch.report.config import Config
from vouch.report.csv_tables import TABLES, csv_text
from vouch.report.drawing import RenderCache
from vouch.report.evidence import Evidence
from vouch.report.figures import FigureSpec, of_datasets
from vouch.report.headline import PLOTTED, metrics_json, plotted, plotted_reliability
from vouch.report.sections import distances
from vouch.report.sections.papers import figure_specs
from vouch.report.site import Picture, assets, build, site
from vouch.report.vegalite import Chart

REPORTS = Path("reports")
# DVC fills in {plot_divs}. Without {scripts} it loads nothing from the network, but the libraries of the
# site, from as deep a folder as `dvc plots show -o` may have been given. .dvc/config names it.
PLOTS_PAGE = Path(__file__).parent / "templates/plots.html.j2"
Watch = Callable[[list[FigureSpec]], Iterable[FigureSpec]]


def draw(specs: Iterable[FigureSpec], folder: Path, cache: RenderCache) -> dict[str, Picture]:
    """Writes each figure as SVG, PNG and PDF, and returns it for the pages, by name of its files."""

    def svg(chart: Chart) -> str:
        return cache("svg", json.dumps(chart.to_dict()), lambda: drawing.svg(chart).encode()).decode()

    pictures: dict[str, Picture] = {}
    for spec in specs:
        drawn = svg(spec.chart)
        document = drawing.document(drawn, spec.title, spec.description)
        (folder / f"{spec.file}.svg").write_text(document, encoding="utf-8", newline="\n")
        (folder / f"{spec.file}.png").write_bytes(cache("png", drawn, partial(drawing.png, drawn)))
        (folder / f"{spec.file}.pdf").write_bytes(cache("pdf", drawn, partial(drawing.pdf, drawn)))
        prefix = f"f{len(pictures)}"
        narrow = drawing.inline(svg(spec.narrow), f"{prefix}n") if spec.narrow else ""
        specification = drawing.specification(spec.chart)
        pictures[spec.file] = Picture(spec, drawing.inline(drawn, prefix), specification, narrow)
    return pictures


def write_plots(evidence: Evidence) -> None:
    """Writes what `dvc plots` needs."""
    with replacing_folder(REPORTS / "plots") as folder:
        for metric in PLOTTED:
            write_text(folder / f"{metric}.csv", csv_text(plotted(evidence, metric)))
        write_text(folder / "reliability.csv", csv_text(plotted_reliability(evidence)))
        write_text(folder / "page.html", PLOTS_PAGE.read_text("utf-8"))


def write_site(files: Mapping[str, str], tables: Mapping[str, str], cache: RenderCache) -> None:
    """Writes the pages, the tables and what the pages load. files: by path under reports/."""
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


def write(config: Config, evidence: Evidence, watch: Watch = iter) -> None:
    """Writes everything under reports/ in the working directory. watch: shows how far the figures are."""
    cache, views = RenderCache(), build(evidence)
    every = (*of_datasets(evidence), *figure_specs(views["papers"]), *distances.figure_specs(evidence))
    specs = list({spec.file: spec for spec in every}.values())
    with replacing_folder(REPORTS / "figures") as folder:
        pictures = draw(watch(specs), folder, cache)
    tables = {f"{name}.csv": csv_text(table(evidence)) for name, table in TABLES.items()}
    write_site(site(config, evidence, pictures, views), tables, cache)
    cache.forget_others()
    write_plots(evidence)
    write_json(REPORTS / "metrics.json", metrics_json(evidence))
