"""Keys of params.yaml that have another name now: one line that gives it."""

from collections.abc import Iterator
from typing import Any

TOP = {
    "zoo": "train",
    "liken": "embed.texts",
    "pin": "models",
    "unpinned": "models, with `unpinned: true` in models.lock",
    "ingest": "models",
    "released": "models",
}


def moved(values: Any) -> Iterator[str]:
    """What to write instead of each key of an earlier layout in the content of a params file."""
    for old, new in _moved(values if isinstance(values, dict) else {}):
        yield f"unknown key {old:.80}; it is {new} now, as in profiles/demo.yaml"
    for key in ("models", "helpers"):
        if isinstance(values, dict) and isinstance(values.get(key), list):
            yield f"{key}: is a list; write NAME: source for each, as in profiles/demo.yaml"


def _moved(values: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield from ((old, new) for old, new in TOP.items() if old in values)
    datasets = values.get("datasets")
    for name, entry in datasets.items() if isinstance(datasets, dict) else ():
        if isinstance(entry, dict) and "style" in entry:
            yield f"datasets.{name}.style", "template"
    if isinstance(values.get("embed"), dict) and "encoder" in values["embed"]:
        yield "embed.encoder", "embed.pictures.encoder and embed.texts.encoder"
