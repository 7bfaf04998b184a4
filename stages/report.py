"""report: reads what the other stages found and writes reports/."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from vouch.params.start import run_stage
from vouch.pipeline.errors import UserError
from vouch.pipeline.files import replacing_folder, write_json, write_text
from vouch.pipeline.stage import Run
from vouch.pipeline.yaml12 import load
from vouch.report import drawing, plots, tables, vega
from vouch.report.config import Config, Scoring
from vouch.report.csv_text import csv_text
from vouch.report.evidence import Evidence
from vouch.report.facts import Facts, facts
from vouch.report.figure_spec import Sketch, of_datasets
from vouch.report.metrics_json import metrics_json
from vouch.report.plugins import plugins
from vouch.report.render_cache import Kept
from vouch.report.sections.papers import sketches as of_papers
from vouch.report.site import Picture, assets, build, site
from vouch.report.sources import Sources, sources
from vouch.report.vegalite import Chart
from vouch.tables.compared import DIFFERENCES, DIMENSIONS, LEADERBOARD, REPRODUCED, VARIATIONS
from vouch.tables.defects import DEFECTS
from vouch.tables.distances import DISTANCES, TRENDS
from vouch.tables.items import ITEMS
from vouch.tables.outcomes import OUTCOMES
from vouch.tables.rankings import RANKED, RANKINGS
from vouch.tables.rejects import REJECTS
from vouch.tables.rewrites import REWRITES
from vouch.tables.table import Table
from vouch.tables.text import RESPONSES

REPORTS = Path("reports")
LOCK = Path("models.lock")
# The page needs no more of these two tables; the rest of them would fill memory.
OF_OUTCOMES = (
    "model",
    "dataset",
    "prompt",
    "variation",
    "output",
    "parser",
    "predicted",
    "clean_correct",
    "confidence",
    "clean_size_lac",
)
OF_ITEMS = ("group", "options", "answers", "images", "category", "flags")


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _all(table: Table, paths: Sequence[Path], columns: Sequence[str]) -> pd.DataFrame:
    parts = [table.read(path, columns) for path in paths]
    empty = pa.schema([table.schema.field(name) for name in columns]).empty_table()
    return pa.concat_tables([empty, *parts]).to_pandas()


def _by_dataset(table: Table, paths: Iterable[Path], columns: Sequence[str]) -> pd.DataFrame:
    """Tables whose file name is the dataset, which becomes a column."""
    parts = [table.read(path, columns).to_pandas().assign(dataset=path.stem) for path in paths]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=[*columns, "dataset"])


def read_printed(paths: Iterable[Path]) -> dict[str, pd.DataFrame]:
    """What papers printed, to the printed digit."""
    return {path.stem: pd.read_csv(path, dtype=str, keep_default_na=False) for path in paths}


def read_engines(paths: Iterable[Path]) -> dict[str, list[str]]:
    """The engines, with their revisions, that a model's answers name."""
    tables = {path("m", "d").suffixes[0]: table for table, path in RESPONSES.values()}
    found: dict[str, set[str]] = {}
    for path in paths:
        names = tables[path.suffixes[0]].read(path, ["engine"])["engine"].unique().to_pylist()
        found.setdefault(path.parent.name, set()).update(filter(None, names))
    return {model: sorted(names) for model, names in found.items()}


def read(
    found: Sources,
    scoring: Scoring,
    setup: Mapping[str, Any] | None = None,
    known: Mapping[str, Facts] | None = None,
) -> Evidence:
    """Reads every table. known: facts of models by model.

    Raises UserError where a table is missing or damaged, or where nothing was scored.
    """
    leaderboard = LEADERBOARD.read(found.leaderboard).to_pandas()
    if leaderboard.empty:
        raise UserError(
            f"{found.leaderboard}: holds no scores; name a model in params.yaml and run `dvc repro`"
        )
    return Evidence(
        leaderboard=leaderboard,
        differences=DIFFERENCES.read(found.differences).to_pandas(),
        reproduced=REPRODUCED.read(found.reproduced).to_pandas(),
        costs=VARIATIONS.read(found.variations).to_pandas(),
        rankings=RANKINGS.read(found.rankings).to_pandas(),
        ranked=RANKED.read(found.ranked).to_pandas(),
        outcomes=_all(OUTCOMES, found.outcomes, OF_OUTCOMES),
        items=_by_dataset(ITEMS, found.items, OF_ITEMS),
        rejects=_all(REJECTS, found.rejects, REJECTS.schema.names),
        defects=_by_dataset(DEFECTS, found.defects, DEFECTS.schema.names),
        rewrites=_by_dataset(REWRITES, found.rewrites, REWRITES.schema.names),
        dimensions=DIMENSIONS.read(found.dimensions).to_pandas(),
        distances=DISTANCES.read(found.distances).to_pandas(),
        trends=TRENDS.read(found.trends).to_pandas(),
        scoring=scoring,
        setup=setup or {},
        engines=read_engines(found.responses),
        digests={path.as_posix(): _digest(path) for path in found.every},
        printed=read_printed(found.printed),
        facts=known or {},
    )


def draw(sketches: Iterable[Sketch], folder: Path, kept: Kept) -> dict[str, Picture]:
    """Writes each figure as SVG, PNG and PDF, and returns it for the pages, by name of its files."""

    def svg(chart: Chart) -> str:
        return kept("svg", json.dumps(chart.to_dict()), lambda: drawing.svg(chart).encode()).decode()

    pictures: dict[str, Picture] = {}
    for sketch in sketches:
        drawn = svg(sketch.chart)
        document = drawing.document(drawn, sketch.title, sketch.description)
        (folder / f"{sketch.file}.svg").write_text(document, encoding="utf-8", newline="\n")
        (folder / f"{sketch.file}.png").write_bytes(kept("png", drawn, partial(drawing.png, drawn)))
        (folder / f"{sketch.file}.pdf").write_bytes(kept("pdf", drawn, partial(drawing.pdf, drawn)))
        prefix = f"f{len(pictures)}"
        narrow = drawing.inline(svg(sketch.narrow), f"{prefix}n") if sketch.narrow else ""
        specification = drawing.specification(sketch.chart)
        pictures[sketch.file] = Picture(sketch, drawing.inline(drawn, prefix), specification, narrow)
    return pictures


def write_plots(evidence: Evidence) -> None:
    """Writes what `dvc plots` needs."""
    with replacing_folder(REPORTS / "plots") as folder:
        write_text(folder / "models.csv", csv_text(plots.models(evidence)))
        write_text(folder / "reliability.csv", csv_text(plots.reliability(evidence)))
        write_text(folder / "page.html", plots.PAGE)


def write_site(files: Mapping[str, str], tables: Mapping[str, str], kept: Kept) -> None:
    """Writes the pages, the tables and what the pages load. files: by path under reports/."""
    script = kept("script", "", lambda: vega.script().encode()).decode()
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


def write(config: Config, evidence: Evidence, run: Run | None = None) -> None:
    """Writes everything under reports/ in the working directory."""
    kept, views = Kept(), build(evidence)
    sketches = [*of_datasets(evidence), *of_papers(views["papers"])]
    with replacing_folder(REPORTS / "figures") as folder:
        pictures = draw(run.progress(sketches, label="figures") if run else sketches, folder, kept)
    whole = {f"{name}.csv": csv_text(module.build(evidence)) for name, module in plugins(tables).items()}
    write_site(site(config, evidence, pictures, views), whole, kept)
    kept.forget_others()
    write_plots(evidence)
    write_json(REPORTS / "metrics.json", metrics_json(evidence))


def main(run: Run) -> None:
    """Reads the declared inputs, writes the report."""
    config = Config.model_validate(run.params["report"])
    scoring = Scoring.model_validate(run.params["score"])
    setup = {name: run.params[name] for name in ("datasets", "models", "variations", "train")}
    setup["locked"] = load(LOCK)["models"]
    known = facts(setup["locked"], setup["train"])
    write(config, read(sources(run.inputs), scoring, setup, known), run)


if __name__ == "__main__":
    run_stage("report", main)
