"""`vouch schema`: JSON schemas of files that people write, and tables of declarations for the pages.

The schemas of params.yaml and models.lock come from the models that check them. items.jsonl is checked by
other code (vouch/datasets/loaders/jsonl.py); the classes below describe it, and a test compares the two.
"""

import argparse
import importlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from vouch.cli.command import command
from vouch.cli.ways import PAPERS, cells_table, drivers_table, paper_table
from vouch.datasets.config import DatasetEntry
from vouch.metrics.comparison.rankers import PROBABILITIES, RANKERS
from vouch.metrics.conformal.scores import SCORES
from vouch.metrics.metric import metrics
from vouch.metrics.uncertainty import ESTIMATES
from vouch.models.engine import ENGINES
from vouch.params.check import plugins
from vouch.params.project import Models, Project, Released, Slug
from vouch.pipeline.files import write_text
from vouch.prompts.variations import declared, documentation
from vouch.tables.asked import KNOWN

FOLDER = Path("docs/schema")
VARIATIONS = Path("docs/variations.md")
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
    """A question with options. answer: index from 0, letter or text of the correct one, or a list."""

    options: list[str | None]
    answer: Id | list[Id]
    references: None = None


class OpenLine(_Line):
    """A question without options. references: the correct answers."""

    references: str | list[str]
    options: None = None
    answer: Any = None


@command("schema", "write JSON schemas of params.yaml and the like, for editors")
def run(_options: argparse.Namespace) -> int:
    """Write the JSON schemas of params.yaml, models.lock and a line of items.jsonl into docs/schema.

    The table of docs/variations.md is written as well, from the declarations in vouch/prompts/variations.

    Editors with yaml-language-server find them by the first line of params.yaml and of each profile.
    They then complete and check keys while you type. Run this again after a change of a parameter's
    model, or of a variation.

    Examples:
      vouch schema
    """
    made = schemas()
    stale = [path for path, text in made.items() if not path.is_file() or path.read_text("utf-8") != text]
    for path in stale:
        write_text(path, made[path])
    print(f"schema: {', '.join(map(str, stale)) or 'all are up to date'}")
    return 0


def schemas() -> dict[Path, str]:
    """The text of each schema, and of each page with tables of declarations."""
    made = {
        "params": _profile(),
        "models": _models(),
        "items": TypeAdapter(ChoiceLine | OpenLine).json_schema(),
    }
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return {
        FOLDER / f"{name}.json": json.dumps(head | _closed(schema), indent=1, ensure_ascii=False) + "\n"
        for name, schema in made.items()
    } | (_variations() | pages())


def _variations() -> dict[Path, str]:
    """The page on variations, with its tables as declared; empty if the page is missing."""
    if not VARIATIONS.is_file():
        return {}
    text = VARIATIONS.read_text("utf-8")
    for table in (documentation(), _strengths()):
        head, _, _ = table.partition("\n")
        text = re.sub(rf"^{re.escape(head)}\n.*?\n(?=\n)", lambda _: table, text, flags=re.M | re.S)  # noqa: B023
    return {VARIATIONS: text}


def _strengths() -> str:
    """The strengths of the variations that put images through an operation with levels."""
    from vouch.images.operations import LEVELLED, LEVELS

    rows = [
        f"| level |{'|'.join(f' {level} ' for level in range(1, LEVELS + 1))}|",
        "|---" * (LEVELS + 1) + "|",
    ]
    for one in declared().values():
        if one.operation in LEVELLED:
            operation = LEVELLED[one.operation]
            cells = [", ".join(f"{number:g}" for number in np.ravel(each)) for each in operation.strengths]
            rows.append(f"| `{one.name}`: {operation.what} | {' | '.join(cells)} |")
    return "".join(f"{row}\n" for row in rows)


def _closed(schema: Any) -> Any:
    """Forbids names that fit no pattern: pydantic refuses them, but does not say so in the schema."""
    if isinstance(schema, list):
        return [_closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    more = {"additionalProperties": False} if "patternProperties" in schema else {}
    return {key: _closed(value) for key, value in schema.items()} | more


def _profile() -> dict[str, Any]:
    """The schema of a profile, in which a dataset's settings are those of its loader."""
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
    whole["$defs"]["LockEntry"]["properties"]["engine"]["enum"] = sorted(ENGINES)
    return whole


def pages() -> dict[Path, str]:
    """The existing pages with such tables, with these tables up to date."""
    made = {}
    for page, tables in _TABLES.items():
        path = Path(page)
        if path.is_file():
            text = path.read_text("utf-8")
            for name, table in tables.items():
                text = _replaced(text, name, table())
            made[path] = text
    return made


def _replaced(text: str, name: str, table: str) -> str:
    return re.sub(rf"(<!-- {name}\b[^>]*-->\n\n)(?:\|.*\n)*", lambda marker: marker[1] + table, text)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    escaped = ([cell.replace("|", "\\|") for cell in cells] for cells in lines)
    return "".join(f"|{'|'.join(f' {cell} ' if cell else ' ' for cell in cells)}|\n" for cells in escaped)


def _rows(rows: Sequence[Sequence[str]]) -> str:
    return _table(rows[0], rows[1:])


def _paper(name: str) -> str:
    return _rows(paper_table(name))


def _scores() -> str:
    rows = ((name, each.formula, each.source) for name, each in SCORES.items())
    return _table(("score", "S(x, y)", "source"), rows)


def _parameters() -> str:
    rows = [
        (f"`{name}: {{{key}}}`", f"{each.default:g}", f"{each.least:g} to {each.most:,.0f}", each.meaning)
        for name, score in SCORES.items()
        for key, each in score.parameters.items()
    ]
    return _table(("`score.settings`", "default", "bounds", "meaning"), rows)


def _metrics() -> str:
    rows = (
        (
            name,
            each.label,
            "; ".join(filter(None, (each.help, each.detail))),
            each.better,
            each.unit,
            each.source,
        )
        for name, each in sorted(metrics().items())
    )
    return _table(("metric", "label", "meaning", "better", "unit", "source"), rows)


def _rankers() -> str:
    def needs(name: str) -> str:
        each = RANKERS[name]
        outputs = "letters, likelihood" if each.needs == (PROBABILITIES,) else "text" if each.needs else "any"
        outputs = "any" if len(each.needs) > 1 else outputs
        outputs = "any, several variations" if each.needs == ("variation_entropy",) else outputs
        return f"{outputs}; a proxy" if each.by_proxy else outputs

    rows = ((name, each.label, each.note, needs(name)) for name, each in RANKERS.items())
    return _table(("ranker", "label", "what it is", "needs"), rows)


def _estimates() -> str:
    rows = ((name, each.label, each.help) for name, each in ESTIMATES.items())
    return _table(("estimate", "label", "what it is"), rows)


def _flags() -> str:
    def meaning(text: str) -> str:
        return re.sub(r"<.*?>|\[\[.*?\]\]", r"`\g<0>`", text)

    rows = ((name, defect.treatment, meaning(defect.meaning)) for name, defect in KNOWN.items())
    return _table(("flag", "treatment", "found when"), rows)


_TABLES: Mapping[str, Mapping[str, Callable[[], str]]] = {
    "docs/prediction-sets.md": {"scores": _scores, "parameters": _parameters},
    "docs/metrics.md": {"metrics": _metrics},
    "docs/ranking.md": {"rankers": _rankers},
    "docs/beyond.md": {"estimates": _estimates},
    "docs/cleaning.md": {"flags": _flags},
    "docs/models.md": {
        "cells": lambda: _rows(cells_table()),
        **{name: partial(_paper, name) for name in PAPERS},
        "drivers": lambda: _rows(drivers_table()),
    },
}
