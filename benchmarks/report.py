"""Speed and memory of the report: `python -m benchmarks.report` from the repository root.

Simulated scores of 26 models on 14 datasets in 12 variations. Building all pages, the tables on them and
those in full precision is held against writing the same tables as JSON with the standard library, from
rows that are in memory already. Drawing a figure (SVG, PNG and PDF) is timed apart, one by one.
Processor time; the peak of memory is that of the whole process before the peer's rows are made.
"""

import json
import os
import resource
import tempfile
import time
from collections.abc import Callable
from contextlib import chdir
from functools import partial
from pathlib import Path
from typing import TypeVar

from benchmarks._figure import figure
from tests.report.project import REGISTRY, SCORING, Made, write_tables
from vouch.papers.page import PAPERS_SECTION
from vouch.report.config import ReportConfig
from vouch.report.drawing import RenderCache
from vouch.report.evidence import Evidence
from vouch.report.loading import load
from vouch.report.site import draw, site, write_site
from vouch.report.table_files import TABLES, csv_text, metrics_json

MODELS, DATASETS, VARIATIONS = 26, 14, 12
NAMES = ["lr_i", "lr_c", "lr_v", "ls_n", "ls_a", "vr_b_3", "vr_l", "vr_r", "vs_s", "option_order", "blank"]
FRAMES = ("leaderboard", "differences", "costs", "reproduced", "dimensions", "rankings", "ranked")
PEER = "json.dumps of the same tables"

T = TypeVar("T")


def made() -> Made:
    """What is simulated. Accuracies are apart, so that figures have something to show."""
    return Made(
        accuracy={f"model_{number:02d}": 0.9 - 0.02 * number for number in range(MODELS)},
        datasets=[f"set_{number:02d}" for number in range(DATASETS)],
        variations=["original", *NAMES[: VARIATIONS - 1]],
        categories=("big", "middle", "small"),
    )


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """Processor time of a call, and what it returns."""
    start = time.process_time()
    found = work()
    return time.process_time() - start, found


def build(evidence: Evidence, cache: RenderCache) -> None:
    """All that is written under reports/ but figures."""
    whole = {f"{name}.csv": csv_text(table(evidence)) for name, table in TABLES.items()}
    json.dumps(metrics_json(evidence))
    write_site(site(ReportConfig(title="Vouch"), evidence, {}, registry=REGISTRY), whole, cache)


def dump(rows: dict[str, list[dict[str, object]]]) -> None:
    """The peer: every table as a list of objects in a file of its own."""
    for name, table in rows.items():
        with Path(f"{name}.json").open("w", encoding="utf-8") as file:
            file.write(json.dumps(table))
            file.flush()
            os.fsync(file.fileno())


def main() -> None:
    """Prints the figures."""
    cache = RenderCache()
    write_site(
        {"index.html": ""}, {}, cache
    )  # the libraries come out of vl-convert once, whatever the tables hold
    evidence = load(write_tables(made()), SCORING)
    taken, _ = timed(lambda: build(evidence, cache))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    rows = {name: getattr(evidence, name).to_dict("records") for name in FRAMES}
    peer, _ = timed(lambda: dump(rows))
    size = "26 models x 14 datasets x 12 variations"
    figure(f"pages and tables, {size}", taken, "s", PEER, peer, peer / taken)
    figure(f"peak memory, {size}", peak, "GiB", "2 GiB", 2.0, 2.0 / peak)
    dataset = evidence.datasets[0]
    for each in REGISTRY.figures:
        for spec in each.of(evidence, dataset):
            taken, _ = timed(partial(draw, [spec], Path(), cache))
            figure(f"figure {each.name} of {MODELS} models", taken, "s")
    everyone = list(PAPERS_SECTION.figures(evidence, PAPERS_SECTION.build(evidence)))
    taken, _ = timed(partial(draw, everyone, Path(), cache))
    figure(f"{len(everyone)} figures of papers, {size}", taken, "s")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        main()
