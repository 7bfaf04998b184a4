"""What is known of a model apart from its answers: its names in the papers, family, series and size."""

import csv
import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

Facts = Mapping[str, Any]
"""Keys as `facts` of models.lock; `total_parameters` and the like are numbers of parameters."""
# `_7b` at the end or before another part of a name, `_1_8b` for 1.8
SIZE = re.compile(r"(?:^|_)(\d+(?:_\d+)?)b(?=_|$)")


def facts(
    locked: Mapping[str, Mapping[str, Any]], train: Mapping[str, Mapping[str, Any]]
) -> dict[str, Facts]:
    """By model: those of models.lock, and of demo models family and size.

    The size of a demo model is 12 x layers x width^2, the weights of its transformer blocks without
    embeddings and image encoder (Kaplan et al. 2020).
    """
    known: dict[str, Facts] = {name: entry.get("facts") or {} for name, entry in locked.items()}
    for name, built in train.items():
        known[name] = {
            "family": "demo models",
            "series": built["family"],
            "language_model_parameters": 12 * built["layers"] * built["width"] ** 2,
        }
    return known


def size(model: str, known: Mapping[str, Facts]) -> float | None:
    """Number of parameters: of the whole model, else of its language model, else what its name says."""
    found = known.get(model, {})
    for key in ("total_parameters", "language_model_parameters"):
        if found.get(key):
            return float(found[key])
    named = SIZE.findall(model)
    # A name may hold the size of an encoder or of one expert as well: the largest counts.
    return max(float(text.replace("_", ".")) for text in named) * 1e9 if named else None


def family(model: str, known: Mapping[str, Facts]) -> str:
    """The family that is on record, else the name up to its first number."""
    stated = known.get(model, {}).get("family")
    return str(stated) if stated else re.split(r"_?v?\d", model, maxsplit=1)[0].strip("_") or model


def series(model: str, known: Mapping[str, Facts]) -> str:
    """Models that differ in size alone: the series that is on record, else the family."""
    return str(known.get(model, {}).get("series") or family(model, known))


def paper_models(paper: str) -> dict[str, str]:
    """The models that a paper has, in its order: our name to the paper's label (models.csv)."""
    with files("vouch.papers").joinpath("models.csv").open(encoding="utf-8") as file:
        return {row["model"]: row["label"] for row in csv.DictReader(file) if row["paper"] == paper}
