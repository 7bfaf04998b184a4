"""Three pages behind the numbers: Items, Method (formulas) and Provenance (what each number rests on)."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any

from vouch.metrics.metric import ALL
from vouch.prompts.variations import in_words
from vouch.report import formatting
from vouch.report.claims import baselines
from vouch.report.evidence import AnswerCounts, Evidence
from vouch.report.gates import INFINITE, MINIMUM, SIGNIFICANCE, TESTED
from vouch.report.leaders import representative
from vouch.report.page import Page, PageSection
from vouch.report.table import MISSING, Cell, Column, Grid, cells, whole
from vouch.report.table_files import TABLES, dvc_models
from vouch.tables.asked import OUTPUTS, TEXT


@dataclass(frozen=True)
class ItemsFrame:
    """The frame of the page Items, which loads its data itself (vouch/browse).

    datasets: names, those with scores first. leads: JSON, dataset -> the model to show first, empty if none
    has scores. blind: JSON, dataset -> the models that are asked without images, if there are any. meanings:
    JSON, name of a variation -> what it does. uncalibrated: JSON, dataset -> protocol -> model -> request
    type -> the variations without prediction sets, because too few questions calibrate.
    """

    datasets: tuple[str, ...]
    leads: str
    blind: str
    meanings: str
    uncalibrated: str


def build_items(evidence: Evidence) -> ItemsFrame:
    """Every dataset that has items."""
    names = sorted(set(evidence.costs["variation"]))
    meanings = {name: words for name in names if (words := in_words(name))}
    datasets = tuple(dict.fromkeys([*evidence.datasets, *evidence.items["dataset"].unique()]))
    leads = {name: representative(evidence, name) if name in evidence.datasets else "" for name in datasets}
    blind = {name: models for name in evidence.datasets if (models := evidence.blind(name))}
    texts = (leads, blind, meanings, _uncalibrated(evidence))
    return ItemsFrame(datasets, *(json.dumps(each, ensure_ascii=False) for each in texts))


def _uncalibrated(evidence: Evidence) -> dict[str, Any]:
    """Where a threshold is infinite: see ItemsFrame."""
    frame = evidence.headlines
    frame = frame[(frame["metric"] == INFINITE) & (frame["category"] == ALL) & (frame["value"] > 0)]
    names: dict[str, Any] = {}
    keys = ("dataset", "protocol", "model", "output", "variation")
    for *path, output, variation in sorted(frame[list(keys)].itertuples(index=False, name=None)):
        of_model = names
        for each in path:
            of_model = of_model.setdefault(each, {})
        of_model.setdefault(output, []).append(variation)
    return names


ITEMS_SECTION = PageSection("items", "Items", build_items, page="items", place=10)


def build_method(evidence: Evidence) -> dict[str, str]:
    """The scoring parameters, as text."""
    scoring = evidence.scoring
    return {
        "alpha": f"{scoring.alpha:g}",
        "target": formatting.percent(evidence.target, 0),
        "calibration": formatting.percent(scoring.calibration, 0),
        "splits": formatting.plural(scoring.splits, "split"),
        "bins": str(scoring.bins),
        "significance": f"{SIGNIFICANCE:g}",
        "tested": f"{TESTED:g}",
        "baseline": "yes" if baselines(evidence) else "",
        "minimum": str(MINIMUM),
    }


METHOD_SECTION = PageSection("method", "Method", build_method, page="method", place=10)


# The folder of a file -> the stage that makes it from a dataset or a model.
MAKERS = {
    **dict.fromkeys(("items", "defects", "rejects"), "prepare"),
    **{"rewrites": "rewrite", "scores": "score", "compare": "compare"},
}


def build_provenance(evidence: Evidence) -> dict[str, Any]:
    """files: names of the CSV files in full precision. chain: what each number rests on, by stage.

    asked: loader, source and template of each dataset. models: weights and engine of each model. answered:
    how much each model was asked. settings: scoring parameters. inputs: the digest of every file that was
    read, by path.
    """
    setup = evidence.setup
    return {
        "files": [f"{name}.csv" for name in TABLES],
        "chain": _chain(evidence),
        "asked": _asked(setup) if setup.get("datasets") else None,
        "models": _models(evidence) if setup.get("models") else None,
        "answered": _answered(evidence.answered) if evidence.answered else None,
        "settings": Grid(
            "settings",
            "How the answers were scored",
            (Column("Parameter"), Column("Value")),
            [cells(f"score.{name}", f"{value:g}") for name, value in evidence.scoring],
        ),
        "inputs": Grid(
            "inputs",
            "Files that these pages were made from",
            (Column("File"), Column("Stage in dvc.lock"), Column("SHA-256")),
            [cells(path, stage_of(path), digest) for path, digest in sorted(evidence.digests.items())],
        ),
    }


PROVENANCE_SECTION = PageSection("provenance", "Provenance", build_provenance, page="provenance", place=10)


def stage_of(path: str) -> str:
    """Name in dvc.lock of the stage that makes a file: `data/scores/d.metrics.parquet` -> `score@d`."""
    *_, above, folder, name = PurePosixPath("/", path).parts[-3:]
    key = name.partition(".")[0]
    if above == "responses":
        return f"extract@{key}-{folder}"
    maker = MAKERS.get(folder, "")
    return maker if maker in ("", "compare") else f"{maker}@{key}"


def _chain(evidence: Evidence) -> Grid:
    dataset, models = dvc_models(evidence)
    first = f"{models[0]} on {dataset}, as in reports/headline" if models else "no model"
    columns = (Column("Number"), Column("Rests on"), Column("Made by"))
    rows = (
        ("Ranks, differences, changes by variation", "data/compare", "compare"),
        ("Accuracy, sets, calibration, label-free scores", "data/scores/DATASET.*.parquet", "score@DATASET"),
        ("The answers of a model", "data/responses/DATASET/MODEL.*.parquet", "extract@MODEL-DATASET"),
        ("The weights of a model", "data/models/MODEL.json", "pin@MODEL"),
        ("Every prompt in full", "data/prompts/DATASET.parquet", "vary@DATASET"),
        ("Rewritten questions", "data/rewrites/DATASET.parquet", "rewrite@DATASET"),
        ("Questions, answers, groups, flags", "data/items/DATASET.parquet", "prepare@DATASET"),
        ("reports/headline.json, for dvc metrics", first, "report"),
    )
    return Grid("chain", "What each number rests on", columns, [cells(*row) for row in rows])


def _asked(setup: Mapping[str, Any]) -> Grid:
    columns = (
        Column("Dataset"),
        Column("Loader", "file in vouch/datasets/loaders"),
        Column("Source"),
        Column("Prompt template", "file in vouch/prompts/templates"),
        Column("Settings"),
    )
    rows = []
    for name, entry in setup["datasets"].items():
        rest = {key: value for key, value in entry.items() if key not in ("loader", "source", "template")}
        settings = ", ".join(_flat(rest)) or "–"
        rows.append(cells(name, entry["loader"], entry["source"], str(entry["template"]), settings))
    outputs = ", ".join(setup["outputs"] or ()) or "those of the template"
    caption = (
        "What was asked, and with which prompt template. If the settings name no others, request types: "
        f"{outputs}; variations: {', '.join(map(str, setup['variations']))}"
    )
    return Grid("asked", caption, columns, rows)


def _flat(value: object, key: str = "") -> Iterator[str]:
    """`{"settings": {"seed": 1}}` -> `settings.seed = 1`."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _flat(inner, f"{key}.{name}" if key else str(name))
    else:
        yield f"{key} = {json.dumps(value, ensure_ascii=False)}"


def _models(evidence: Evidence) -> Grid:
    columns = (
        Column("Model"),
        Column("From", "entry of models.lock, or recipe of params.yaml"),
        Column("SHA-256 of weights"),
        Column("Engine", "its name in models.lock, with its revision and that of image decoding"),
        Column("List of files", "SHA-256 of each loaded file, number format, chat template"),
        Column("Stages in dvc.lock"),
    )
    rows = [_model(evidence, name) for name in sorted(evidence.setup["models"])]
    return Grid("models", "The weights that answered, and their engine", columns, rows)


def _answered(answered: Sequence[AnswerCounts]) -> Grid:
    columns = (
        Column("Model"),
        Column("Asked for"),
        Column("Prompts", "different ones, over all datasets and variations", True),
        Column("Answers", "one for each option of a likelihood, and for each sample of a text", True),
        Column("Without an answer", "", True),
        Column(
            "Generated tokens",
            "of all texts, with those that end them; log-probabilities tell",
            True,
        ),
        Column("Rows of a pass", "the most prompts in one forward pass", True),
        Column("Mode", "how the engine computed; trie: a beginning that prompts share is read once"),
        Column("Device", "where it computed; kernels can differ in the last digits"),
    )
    groups: dict[tuple[str, str], list[AnswerCounts]] = {}
    for one in sorted(answered, key=lambda one: (one.model, OUTPUTS.index(one.output))):
        groups.setdefault((one.model, one.output), []).append(one)
    rows = []
    for (model, output), own in groups.items():
        counts = [sum(getattr(one, name) for one in own) for name in ("prompts", "answers", "unanswered")]
        known = [one.tokens for one in own if one.tokens is not None]
        tokens = whole(sum(known)) if output == TEXT and len(known) == len(own) else MISSING
        largest = max((one.rows for one in own if one.rows is not None), default=None)
        names = (sorted({name for one in own for name in getattr(one, what)}) for what in ("mode", "device"))
        rows.append(
            cells(
                *(model, formatting.OUTPUT_NAMES[output], *counts, tokens),
                MISSING if largest is None else whole(largest),
                *(", ".join(each) or "–" for each in names),
            )
        )
    return Grid("answered", "How much each model was asked", columns, rows)


def _model(evidence: Evidence, name: str) -> list[Cell]:
    known = sorted({engine for one in evidence.answered if one.model == name for engine in one.engine})
    stages = [f"pin@{name}", f"extract@{name}-DATASET", "score@DATASET"]
    recipe = PurePosixPath(str(evidence.setup["models"][name])).name
    if recipe in evidence.setup.get("train", {}):
        origin, weights = Cell("trained here", f"train.{recipe}"), IN_LIST
        stages.insert(0, f"train@{recipe}")
    elif any(engine.startswith("released/") for engine in known):
        origin, weights = Cell("released answers"), Cell("–")
    else:
        folder = {"source": {"path": str(evidence.setup["models"][name])}}  # a model without an entry
        origin, weights = _locked(evidence.setup.get("locked", {}).get(name, folder))
    return cells(
        *(name, origin, weights, ", ".join(known) or "–"), f"data/models/{name}.json", ", ".join(stages)
    )


IN_LIST = Cell("in the list of files")
"""The digests of a folder's weights are recorded by its pin alone."""


def _locked(entry: dict[str, Any]) -> tuple[Cell, Cell]:
    """Source with revision, and digests of the weights, of an entry of models.lock."""
    source, files = entry.get("source", {}), entry.get("files") or {}
    if source.get("kind") == "hub":
        revision = source.get("revision")
        origin = Cell(str(source["repo"]), revision or "no commit", tone="" if revision else "bad")
    elif source.get("kind") == "server":
        return Cell("a server", str(source.get("name") or "")), Cell("not known")
    else:
        origin = Cell(PurePosixPath(str(source.get("path") or "a folder")).name, "a folder")
        if not files:
            return origin, IN_LIST
    if program := entry.get("program"):
        commit = (program.get("locked") or {}).get("commit")
        asked = f"asked by {PurePosixPath(program['driver']).name}" + (
            f", code at {commit}" if commit else ""
        )
        origin = replace(origin, note=f"{origin.note}; {asked}")
    weights = [f"{name} {digest}" for name, digest in files.items() if name.endswith(".safetensors")]
    return origin, Cell(", ".join(weights)) if weights else Cell("no digest recorded", tone="bad")


ITEMS_PAGE = Page(
    "items",
    "Items",
    "Every question, every variation of its prompt, and every model's answer.",
    place=80,
    scripts=(
        "items_data.js",
        "items_maths.js",
        "items_dom.js",
        "items_query.js",
        "items_view.js",
        "items_save.js",
        "items.js",
    ),
)

METHOD_PAGE = Page("method", "Method", "Every formula and its source.", place=90)

PROVENANCE_PAGE = Page(
    "provenance", "Provenance", "What every number rests on, and where to find it unrounded.", place=100
)
