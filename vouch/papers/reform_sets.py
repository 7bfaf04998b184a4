"""ReForm-Eval's datasets and models, and what its tables and figures rest on.

First the names, and the facts about the models; then accuracy and instability of the main evaluation by
dataset, and the published numbers that stand beside them.
"""

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any

import pandas as pd

from vouch.papers.entry import Absent, Built, Lookup, Measure, names_in
from vouch.papers.pivot import Key, Layout, pivot
from vouch.tables.asked import LIKELIHOOD, ORIGINAL, TEXT

COARSE, FINE, OCR, KIE, SPATIAL, VQA, KVQA, CROSS, CAPTIONS, DIALOGUE = (
    tuple(names_in("reform", group))
    for group in (
        *("coarse", "fine", "ocr", "kie", "spatial", "vqa", "kvqa", "cross"),
        *("captions", "dialogue"),
    )
)
_IN_DIMENSION = {
    "coarse_perception": COARSE,
    "fine_perception": FINE,
    "scene_text": (*OCR, *KIE),
    "spatial": SPATIAL,
    "visual_reasoning": (*VQA, *KVQA),
    "cross_modal": CROSS,
    "dialogue": DIALOGUE,
    "description": CAPTIONS,
}
SETS = {dimension: len(names) for dimension, names in _IN_DIMENSION.items()}
"""The number of datasets in each dimension."""
DIMENSION = {name: dimension for dimension, names in _IN_DIMENSION.items() for name in names}
"""The dimension of each dataset."""
PERCEPTION = (*COARSE, *FINE, *OCR, *KIE)
COGNITION = (*SPATIAL, *VQA, *KVQA, *CROSS, *CAPTIONS, *DIALOGUE)
MODELS = names_in("reform", "models")
_COUNTS = ("parameters", "tokens", "size", "datasets")
"""Ends of the names of facts that are counts."""


@cache
def printed_facts() -> dict[str, dict[str, Any]]:
    """What the paper says of its models: tables 7 and 8, and the groups of appendix C.4.

    In the text of the PDF one name of the group `filtered` is lost, and so are most lists of data sets.
    """
    with files(__package__).joinpath("reform_models.csv").open(encoding="utf-8") as file:
        return {
            row.pop("model"): {
                key: int(value) if key.endswith(_COUNTS) else value for key, value in row.items() if value
            }
            for row in csv.DictReader(file)
        }


def facts(lookup: Lookup) -> dict[str, dict[str, Any]]:
    """The facts on record about the models here; the paper's where models.lock has none."""
    return {
        name: {**printed_facts().get(name, {}), **lookup.evidence.facts.get(name, {})}
        for name in lookup.order
    }


BY_LABEL = {label: name for name, label in MODELS.items()}
OUTPUT_NAMES = {TEXT: "generation", LIKELIHOOD: "likelihood"}
TESTS = "tests"
ONLINE = ("dialogue_tests", "dialogue")
"""Variations that show the model's own earlier answers. The paper asks the first: five tests of each
question."""
# If the likelihood needs other prompts, it is asked in a separate entry of the dataset.
SUFFIX = "_likelihood"
NO_SETS = "no dataset of that dimension of ReForm-Eval"


SAMPLED = "first_t0.2"
"""The score of the first sample of each test at the authors' temperature."""
SEARCHED = (
    *("blip2_flan_t5_xl", "instructblip_flan_t5_xl", "instructblip_vicuna_7b", "bliva", "lynx"),
    "shikra",
)
"""Models without sampling in the authors' code: it uses beam search, with a single beam for Shikra."""


def _datasets(lookup: Lookup, wanted: Sequence[str] | None, output: str) -> dict[str, str]:
    """Datasets with an output -> their names in the benchmark; all of them if `wanted` is None.

    If the likelihood was asked both in a dataset's entry and in its separate entry, the separate one counts.
    """
    asked = [name for name in lookup.evidence.datasets if output in lookup.evidence.outputs(name)]
    if output == LIKELIHOOD:
        asked = [name for name in asked if f"{name}{SUFFIX}" not in asked]
    names = {name: name.removesuffix(SUFFIX) if output == LIKELIHOOD else name for name in asked}
    return {key: name for key, name in names.items() if wanted is None or name in wanted}


def long(
    lookup: Lookup, measures: Sequence[Measure], wanted: Sequence[str] | None = None, online: bool = False
) -> pd.DataFrame:
    """The measures by dataset of the benchmark, from the main evaluation or else the original prompts.

    Of the benchmark's dialogues only prompts that show the model's own earlier answers count. online: of all
    datasets only such prompts.
    """
    parts = [pd.DataFrame(columns=["model", "dataset", "measure"])]
    for index, measure in enumerate(measures):
        for dataset, name in _datasets(lookup, wanted, measure.output).items():
            asked = lookup.evidence.variations(dataset)
            candidates = ONLINE if online or name in DIALOGUE else (TESTS, ORIGINAL)
            variation = next((one for one in candidates if one in asked), None)
            if variation is not None:
                frame = lookup.of(replace(measure, variation=variation))
                parts.append(frame[frame["dataset"] == dataset].assign(dataset=name, measure=index))
    return pd.concat(parts[1:] or parts, ignore_index=True)


def accuracy(output: str) -> Measure:
    """The measure of accuracy for an output."""
    return Measure("Acc", "accuracy", output=output, better="high")


def means(lookup: Lookup) -> pd.DataFrame:
    """Mean accuracy over the datasets: a row per model that has all of them, a column per output."""
    frame = long(lookup, [accuracy(output) for output in OUTPUT_NAMES])
    if frame.empty:
        raise Absent("no model was asked for texts or likelihoods")
    frame = frame.dropna(subset=["value"])
    most = frame.groupby("measure")["dataset"].nunique()
    found = frame.groupby(["model", "measure"])["value"].agg(["mean", "count"]).unstack()
    return found["mean"].where(found["count"] == most).dropna(how="all").dropna(axis=1, how="all")


def cider(lookup: Lookup) -> Measure:
    """CIDEr as the authors compute it, or else of tokenized captions."""
    known = set(lookup.evidence.leaderboard["metric"])
    return Measure("CIDEr", "cider" if "cider" in known else "cider_d", output=TEXT, better="high")


def with_sampled(*measures: Measure) -> tuple[Measure, ...]:
    """The measures, followed by those of generated texts once more, computed from the first samples."""
    return (*measures, *(twin(measure) for measure in measures if measure.output == TEXT))


def twin(measure: Measure) -> Measure:
    return replace(measure, label=f"{measure.label}, sampled", score=SAMPLED)


def printed(
    lookup: Lookup, file: str, columns: Sequence[str], dataset: str = "", **chosen: str
) -> dict[Key, str]:
    """Published cells. columns: the file's, one for each measure. dataset: used if the file names none."""
    return {
        (index, BY_LABEL[row["model"]], dataset or row["dataset"]): row[column]
        for row in lookup.printed(file, **chosen)
        for index, column in enumerate(columns)
    }


def beside(prints: Mapping[Key, str], frame: pd.DataFrame, measures: Sequence[Measure]) -> dict[Key, str]:
    """Moves published cells to the measure that was made in the same way: for models that sample, samples.

    prints: by position among the measures of greedy texts. frame: the rows that are shown; if it has no
    number from samples, the cell stays. measures: as `with_sampled` gives them.
    """
    places = {measure: index for index, measure in enumerate(measures)}
    held = set(zip(frame["measure"], frame["model"], frame["dataset"], strict=True))
    found = {}
    for (index, model, dataset), cell in prints.items():
        there = (places.get(twin(measures[index]), index), model, dataset)
        found[there if there in held and model not in SEARCHED else (index, model, dataset)] = cell
    return found


def table(
    lookup: Lookup,
    caption: str,
    frame: pd.DataFrame,
    measures: Sequence[Measure],
    columns: Iterable[str],
    prints: Mapping[Key, str],
    name: str = "",
    help: Mapping[str, str] | None = None,
    last: Mapping[str, str] | None = None,
) -> Built:
    """A table with a row for each model. prints: see `beside`. last: rows below those of the models."""
    heads = {column: column for column in columns}
    cells = beside(prints, frame, measures)
    rows = lookup.models(MODELS) | dict(last or {})
    layout = Layout(caption, measures, rows, heads, name, prints=cells, help=help or {})
    return pivot(frame, layout)
