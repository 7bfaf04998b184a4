"""JSON schemas of the files that people write, for editors and other programs: `vouch schema`, docs/schema.

Those of params.yaml and models.lock come from the models that check them. The reader of items.jsonl checks by
hand (vouch/datasets/loaders/jsonl.py): here stands what it takes, and a test holds the two together.
"""

import importlib
import json
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from vouch.datasets.cleaning.config import DatasetEntry
from vouch.params.check import plugins
from vouch.params.declared import pages
from vouch.params.project import Models, Project, Released, Slug

FOLDER = Path("docs/schema")
LOADERS = "vouch/datasets/loaders"
Id = str | int


class Profile(Project):
    """params.yaml, or a profile that it is made of."""

    datasets: dict[Slug, DatasetEntry]
    released: Released | None = None


class _Line(BaseModel):
    model_config = ConfigDict(extra="allow")

    question: str
    id: Id | None = None
    image: str | None = None
    images: list[str] | None = None
    hint: str | None = None
    category: str | None = None
    group: Id | None = None
    turns: list[Id] | None = None
    exchange: list[str | None] | None = None
    boxes: Annotated[list[list[float]], Field(min_length=1)] | None = None


class ChoiceLine(_Line):
    """A question with options. answer: index from 0, letter or text of the right one, or a list."""

    options: list[str | None]
    answer: Id | list[Id]
    references: None = None


class OpenLine(_Line):
    """A question without options. references: the right answers."""

    references: str | list[str]
    options: None = None
    answer: Any = None


def schemas() -> dict[Path, str]:
    """The text of each file, and of the pages with tables of what is declared."""
    made = {
        "params": _profile(),
        "models": _models(),
        "items": TypeAdapter(ChoiceLine | OpenLine).json_schema(),
    }
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return pages() | {
        FOLDER / f"{name}.json": json.dumps(head | _closed(schema), indent=1, ensure_ascii=False) + "\n"
        for name, schema in made.items()
    }


def _closed(schema: Any) -> Any:
    """Names that fit no pattern are refused, which pydantic does and leaves out of the schema."""
    if isinstance(schema, list):
        return [_closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    more = {"additionalProperties": False} if "patternProperties" in schema else {}
    return {key: _closed(value) for key, value in schema.items()} | more


def _profile() -> dict[str, Any]:
    """A dataset's settings are those of its loader."""
    whole = Profile.model_json_schema()
    entry = whole["$defs"]["DatasetEntry"]
    loaders = plugins(LOADERS)
    entry["properties"]["loader"]["enum"] = loaders
    entry["properties"]["template"]["enum"] = plugins("vouch/prompts/templates")
    entry["allOf"] = []
    for name in loaders:
        settings = importlib.import_module(f"{LOADERS.replace('/', '.')}.{name}").Settings
        schema = settings.model_json_schema(ref_template=f"#/$defs/{name}.{{model}}")
        whole["$defs"] |= {f"{name}.{key}": value for key, value in schema.pop("$defs", {}).items()}
        named = {} if name == DatasetEntry.model_fields["loader"].default else {"required": ["loader"]}
        chosen = {"properties": {"loader": {"const": name}}} | named
        entry["allOf"].append({"if": chosen, "then": {"properties": {"settings": schema}}})
    return whole


def _models() -> dict[str, Any]:
    whole = Models.model_json_schema()
    whole["$defs"]["LockEntry"]["properties"]["engine"]["enum"] = plugins("vouch/models/engines")
    return whole
