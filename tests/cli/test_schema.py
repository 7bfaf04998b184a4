"""docs/schema: as the models have it, and saying the same as what checks the files."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from vouch.cli import main
from vouch.cli.schema import FOLDER, ChoiceLine, OpenLine, schemas
from vouch.datasets.loaders import jsonl
from vouch.datasets.raw import RawItem
from vouch.datasets.read.files import SourceFiles
from vouch.pipeline.yaml12 import load

ROOT = Path(__file__).parents[2]
WRITTEN = sorted([ROOT / "params.yaml", ROOT / "models.lock", *(ROOT / "profiles").glob("*.yaml")])
CHOICE = {"question": "What?", "options": ["a", "b"], "answer": 1}
OPEN = {"question": "What?", "references": ["a"]}


def validator(name: str) -> Draft202012Validator:
    schema = json.loads((ROOT / FOLDER / f"{name}.json").read_text("utf-8"))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def test_none_is_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """What `vouch schema` writes is what lies there."""
    monkeypatch.chdir(ROOT)
    stale = {path for path, text in schemas().items() if path.read_text("utf-8") != text}
    assert not stale, "run `vouch schema`"
    shutil.copytree(ROOT / "vouch", tmp_path / "vouch", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "stages").mkdir()
    (tmp_path / "dvc.yaml").touch()
    monkeypatch.chdir(tmp_path)
    assert main.main(["schema"]) == 0 and "docs/schema/items.json" in capsys.readouterr().out
    for path in (tmp_path / FOLDER).iterdir():
        assert path.read_bytes() == (ROOT / FOLDER / path.name).read_bytes()
    assert main.main(["schema"]) == 0 and "up to date" in capsys.readouterr().out


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.name)
def test_what_lies_here_is_valid_and_names_its_schema(path: Path) -> None:
    name, _, schema = path.read_text("utf-8").partition("\n")[0].partition("$schema=")
    assert name == "# yaml-language-server: "
    found = Draft202012Validator(json.loads((path.parent / schema).read_text("utf-8")))
    assert not [error.message for error in found.iter_errors(load(path))]


def test_numbers_are_such_for_every_reader() -> None:
    """`7_000` is a number for DVC and a text for editors."""
    for path in WRITTEN:
        assert not re.search(r"[:,\[] *\d+_\d+ *[],}\n]", path.read_text("utf-8"))


@pytest.mark.parametrize(
    ("name", "path", "value"),
    [
        ("params", ["scores"], {}),
        ("params", ["score", "alfa"], 0.1),
        ("params", ["score", "splits"], "100"),
        ("params", ["datasets", "shapes", "loader"], "shape"),
        ("params", ["datasets", "shapes", "settings", "itmes"], 3),
        ("params", ["datasets", "shapes", "settings", "items"], "3"),
        ("params", ["models", "Bad"], "x"),
        ("params", ["released"], {"folder": "x"}),
        ("models", ["models", "llava_v1_5_7b", "dtyp"], "float16"),
        ("models", ["models", "llava_v1_5_7b", "dtype"], "int3"),
        ("models", ["models", "llava_v1_5_7b", "source", "kind"], "hug"),
        ("models", ["models", "llava_v1_5_7b", "engine"], "vllm"),
    ],
)
def test_what_is_wrong_fails(name: str, path: list[str], value: Any) -> None:
    values = load(ROOT / {"params": "params.yaml", "models": "models.lock"}[name])
    assert validator(name).is_valid(values)
    *parents, last = path
    level = values
    for parent in parents:
        level = level[parent]
    level[last] = value
    assert not validator(name).is_valid(values)


@pytest.mark.parametrize(
    "line",
    [
        *(CHOICE, OPEN, {**CHOICE, "answer": "B"}, {**CHOICE, "answer": [0, "b"]}, {**CHOICE, "mine": 3}),
        *({**CHOICE, "id": 3}, {**CHOICE, "id": None, "hint": None, "group": 7, "category": "x"}),
        *(
            {**CHOICE, "images": ["a", "b"], "turns": [1, "q"], "exchange": [None, "b"]},
            {**CHOICE, "image": "a"},
        ),
        *({**OPEN, "options": None}, {**OPEN, "references": "a"}, {**CHOICE, "references": None}),
        *({**CHOICE, "options": ["a", None]}, {**OPEN, "answer": True}),
        *({"question": "x"}, {**CHOICE, **OPEN}, {**CHOICE, "answer": True}, {**CHOICE, "answer": 1.5}),
        *({**CHOICE, "options": "ab"}, {**CHOICE, "options": [1, 2]}, {**CHOICE, "question": 3}, {}),
        *(
            {**OPEN, "references": [3]},
            {**CHOICE, "id": 1.5},
            {**CHOICE, "id": True},
            {**CHOICE, "group": [1]},
        ),
        *(
            {**CHOICE, "images": "a"},
            {**CHOICE, "turns": "a"},
            {**CHOICE, "exchange": [3]},
            {**CHOICE, "hint": 3},
        ),
        *({**CHOICE, "image": 3}, {**CHOICE, "category": 3}, {**CHOICE, "boxes": []}, {**CHOICE, "boxes": 3}),
        {"question": "x", "options": ["a"], "answr": 0},
    ],
    ids=json.dumps,
)
def test_a_line_is_valid_where_the_reader_takes_it(line: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "items.jsonl").write_text(json.dumps(line) + "\n", "utf-8")
    (read,) = jsonl._entries(SourceFiles(tmp_path), "x", jsonl.Settings())
    assert validator("items").is_valid(line) == isinstance(read, RawItem), read


def test_lines_have_the_keys_of_the_reader() -> None:
    known = {*jsonl.FieldKeys.model_fields, jsonl.GROUP}
    assert {*ChoiceLine.model_fields} == {*OpenLine.model_fields} == known
