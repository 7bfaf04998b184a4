"""Where the numbers come from: what each was made from, by which stage, and where to find it unrounded."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from stages.report import tables
from stages.report.evidence import Evidence
from stages.report.grid import Cell, Column, Grid
from stages.report.plugins import plugins

TITLE = "Provenance"
# The folder of a file, and the stage that makes it from a dataset or a model.
MAKERS = {
    "items": "prepare",
    "defects": "prepare",
    "rejects": "prepare",
    "rewrites": "rewrite",
    "scores": "score",
    "compare": "compare",
}


@dataclass(frozen=True)
class Provenance:
    """files: names of the CSV files beside the page. chain: from what to what, by stage.

    asked: what each dataset was asked as. models: which file says which weights answered. settings: how
    was scored. inputs: the digest of every file that was read.
    """

    files: tuple[str, ...]
    chain: Grid
    asked: Grid | None
    models: Grid | None
    settings: Grid
    inputs: Grid


def build(evidence: Evidence) -> Provenance:
    """Inputs in the order of their paths."""
    return Provenance(
        files=tuple(f"{name}.csv" for name in plugins(tables)),
        chain=_chain(),
        asked=_asked(evidence),
        models=_models(evidence),
        settings=_settings(evidence),
        inputs=_inputs(evidence),
    )


def stage_of(path: str, released: frozenset[str] = frozenset()) -> str:
    """Name in dvc.lock of the stage that makes a file: `data/scores/a.metrics.parquet` -> `score@a`."""
    folder = PurePosixPath(path).parent.name
    key = PurePosixPath(path).name.partition(".")[0]
    maker = MAKERS.get(folder, "")
    if maker == "score" and key in released:
        maker = "score_released"
    return maker if maker in ("", "compare") else f"{maker}@{key}"


def _chain() -> Grid:
    columns = (Column("Number"), Column("Rests on"), Column("Made by"))
    rows = (
        ("Ranks, differences, changes by variation", "data/compare", "compare"),
        ("Accuracy, sets, calibration, signals", "data/scores/MODEL.*.parquet", "score@MODEL"),
        ("What a model answered", "data/responses/MODEL/DATASET.*.parquet", "extract@MODEL-DATASET"),
        ("Which weights answered", "data/models/MODEL.json", "pin@MODEL, or zoo@MODEL"),
        ("Every prompt, word by word", "data/prompts/DATASET.parquet", "vary@DATASET"),
        ("Questions in other words", "data/rewrites/DATASET.parquet", "rewrite@DATASET"),
        ("Questions, answers, groups, flags", "data/items/DATASET.parquet", "prepare@DATASET"),
    )
    return Grid(
        "chain", "From a number back to its source", columns, [[Cell(t) for t in row] for row in rows]
    )


def _asked(evidence: Evidence) -> Grid | None:
    datasets = evidence.setup.get("datasets", {})
    if not datasets:
        return None
    columns = (
        Column("Dataset"),
        Column("Loader", "file in stages/prepare/datasets"),
        Column("Source"),
        Column("Prompt style", "file in stages/styles"),
        Column("Settings"),
    )
    rows = []
    for name, entry in datasets.items():
        rest = {key: value for key, value in entry.items() if key not in ("loader", "source", "style")}
        settings = ", ".join(_flat(rest))
        rows.append([Cell(str(text)) for text in (name, entry["loader"], entry["source"], entry["style"])])
        rows[-1].append(Cell(settings or "–"))
    said = ", ".join(map(str, evidence.setup.get("variations", ())))
    caption = f"What was asked, and in which prompt style. Variations: {said}" if said else "What was asked"
    return Grid("asked", caption, columns, rows)


def _flat(value: object, key: str = "") -> Iterator[str]:
    """`{"settings": {"seed": 1}}` -> `settings.seed = 1`."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _flat(inner, f"{key}.{name}" if key else str(name))
    else:
        yield f"{key} = {json.dumps(value, ensure_ascii=False)}"


def _models(evidence: Evidence) -> Grid | None:
    released = set(map(str, evidence.setup.get("released", ())))
    names = [*map(str, evidence.setup.get("models", ())), *sorted(released)]
    if not names:
        return None
    columns = (Column("Model"), Column("Revision, weights and their digests"), Column("Scored by"))
    rows = [
        (
            Cell(name),
            Cell("answers that others released" if name in released else f"data/models/{name}.json"),
            Cell(stage_of(f"data/scores/{name}.metrics.parquet", frozenset(released))),
        )
        for name in names
    ]
    return Grid("models", "Which weights answered", columns, rows)


def _settings(evidence: Evidence) -> Grid:
    rows = [(Cell(f"score.{name}"), Cell(f"{value:g}")) for name, value in evidence.scoring]
    return Grid("settings", "How the answers were scored", (Column("Parameter"), Column("Value")), rows)


def _inputs(evidence: Evidence) -> Grid:
    released = frozenset(map(str, evidence.setup.get("released", ())))
    rows = [
        (Cell(path), Cell(stage_of(path, released)), Cell(digest))
        for path, digest in sorted(evidence.digests.items())
    ]
    columns = (Column("File"), Column("Stage in dvc.lock"), Column("SHA-256"))
    return Grid("inputs", "Files that these pages were made from", columns, rows)
