"""From a number back to the weights: sources, digests, engines and stages."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.report.project import SCORING, Made, Make, write_tables
from vouch.report.loading import load
from vouch.report.pages.provenance import PROVENANCE_SECTION
from vouch.tables.answered import LETTERS, letters_path

DIGEST = "ab" * 32


def test_who_answered(make: Make) -> None:
    locked = {
        "hub": {
            "source": {"kind": "hub", "repo": "owner/name", "revision": "c0ffee"},
            "files": {"config.json": "0" * 64, "model.safetensors": DIGEST},
        },
        "loose": {"source": {"kind": "hub", "repo": "owner/other", "revision": None}},
        "server": {"source": {"kind": "server", "url": "http://secret.example/v1", "name": "big"}},
    }
    models = {"alpha": "data/trained/alpha", "again": "data/trained/alpha", "others": "../others"}
    models |= dict.fromkeys(locked, "models.lock")
    setup = {"models": models, "train": {"alpha": {}}, "locked": locked}
    evidence = replace(
        make(Made()), setup=setup, engines={"hub": ["transformers/3.1"], "others": ["released/1"]}
    )
    found = PROVENANCE_SECTION.build(evidence)["models"]
    assert found is not None
    shown = {row[0].text: [f"{cell.text} {cell.note}".strip() for cell in row[1:]] for row in found.rows}
    assert shown["hub"] == [
        "owner/name c0ffee",
        f"model.safetensors {DIGEST}",
        "transformers/3.1",
        "data/models/hub.json",
        "pin@hub, extract@hub-DATASET, score@DATASET",
    ]
    assert shown["loose"][:2] == ["owner/other no commit", "no digest recorded"]
    assert shown["server"][:2] == ["a server big", "not known"]
    assert shown["alpha"][:2] == ["trained here train.alpha", "in the list of files"]
    assert shown["alpha"][-1] == "train@alpha, pin@alpha, extract@alpha-DATASET, score@DATASET"
    assert shown["again"][0] == "trained here train.alpha", "the same weights under another name"
    assert shown["others"][-1] == "pin@others, extract@others-DATASET, score@DATASET"
    assert shown["others"][0] == "released answers"


def test_engines_and_digests_of_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    paths = write_tables(Made())
    for dataset, engine in (("shapes", "transformers/3.1"), ("cubes", "transformers/2.1")):
        rows = [{"prompt": "a", "engine": engine}, {"prompt": "b", "engine": None}]
        LETTERS.write(letters_path("alpha", dataset), rows)
        paths.append(letters_path("alpha", dataset))
    evidence = load(paths, SCORING)
    assert evidence.engines == {"alpha": ["transformers/2.1", "transformers/3.1"]}
    inputs = {
        row[0].text: (row[1].text, row[2].text) for row in PROVENANCE_SECTION.build(evidence)["inputs"].rows
    }
    stage, digest = inputs["data/responses/shapes/alpha.letters.parquet"]
    assert stage == "extract@alpha-shapes" and len(digest) == 64
