"""What a params file leaves out: defaults of the models in project.py, written out for DVC.

DVC reads params.yaml itself: what dvc.yaml names must be there, and `dvc exp run -S KEY=VALUE` changes only
what is there. So `vouch use` writes a profile's defaults into params.yaml, where people see them as well.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from vouch.datasets.cleaning.config import DatasetEntry
from vouch.params.project import Project

NAMED = (
    *("profile", "helpers", "train", "variations", "rewrite", "rewrite.rewriter", "embed", "embed.pictures"),
    *("embed.pictures.encoder", "embed.texts", "embed.texts.encoder", "extract", "score", "score.alpha"),
    *("compare", "browse", "report"),
)
"""Keys that dvc.yaml names and that have a default."""
OF_ENTRY = ("loader",)
"""The same of a dataset's entry."""


def left_out(values: Any) -> Iterator[tuple[str, Any]]:
    """Those of these keys that a params file lacks, with their defaults; a section stands for all in it."""
    every = _defaults(Project)
    for key in NAMED:
        *parents, last = key.split(".")
        level = _at(values, parents)
        if isinstance(level, Mapping) and last not in level:
            yield key, _at(every, [*parents, last])
    of_entry, datasets = _defaults(DatasetEntry), _at(values, ["datasets"])
    for name, entry in datasets.items() if isinstance(datasets, Mapping) else ():
        for key in OF_ENTRY:
            if isinstance(entry, Mapping) and key not in entry:
                yield f"datasets.{name}.{key}", of_entry[key]


def _at(values: Any, path: Sequence[str]) -> Any:
    for part in path:
        values = values.get(part) if isinstance(values, Mapping) else None
    return values


def _defaults(model: type[BaseModel]) -> dict[str, Any]:
    fields = model.model_fields.items()
    found = {name: field.get_default(call_default_factory=True) for name, field in fields}
    return {
        name: value.model_dump(mode="json", exclude_none=True) if isinstance(value, BaseModel) else value
        for name, value in found.items()
    }
