"""The page Provenance: which weights and engines answered, and how many tokens."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.report.project import (
    SCORING,
    Made,
    Make,
    write_tables,
)
from vouch.report.evidence import AnswerCounts
from vouch.report.loading import _tokens, load
from vouch.report.pages.provenance import PROVENANCE_SECTION
from vouch.tables.answered import (
    LETTERS,
    LIKELIHOOD,
    RESPONSES,
    TEXT,
    letters_path,
    likelihood_path,
    text_path,
)

DIGEST = "ab" * 32


def test_who_answered(make: Make) -> None:
    locked = {
        "hub": {
            "source": {"kind": "hub", "repo": "owner/name", "revision": "c0ffee"},
            "files": {"config.json": "0" * 64, "model.safetensors": DIGEST},
        },
        "loose": {"source": {"kind": "hub", "repo": "owner/other", "revision": None}},
        "program": {
            "source": {"kind": "folder", "path": "/home/me/own"},
            "files": {"model.safetensors": DIGEST},
            "program": {"driver": "/home/me/own.py", "locked": {"commit": "c0ffee-dirty"}},
        },
        "server": {"source": {"kind": "server", "url": "http://secret.example/v1", "name": "big"}},
    }
    models = {"alpha": "data/trained/alpha", "again": "data/trained/alpha", "others": "../others"}
    models |= {"mine": "/home/me/weights/mine"}
    models |= dict.fromkeys(locked, "models.lock")
    setup = {"models": models, "train": {"alpha": {}}, "locked": locked}
    answered = [
        AnswerCounts(model, "shapes", "letters", 2, 2, 0, 0, (engine,), (), (), None)
        for model, engine in (("hub", "transformers/3.1"), ("others", "released/1"))
    ]
    evidence = replace(make(Made()), setup=setup, answered=answered)
    found = PROVENANCE_SECTION.build(evidence)["models"]
    assert found is not None
    shown = {row[0].text: [f"{cell.text} {cell.note}".strip() for cell in row[1:]] for row in found.rows}
    assert shown["hub"] == [
        *("owner/name c0ffee", f"model.safetensors {DIGEST}", "transformers/3.1", "data/models/hub.json"),
        "pin@hub, extract@hub-DATASET, score@DATASET",
    ]
    assert shown["program"][0] == "own a folder; asked by own.py, code at c0ffee-dirty"
    assert shown["loose"][:2] == ["owner/other no commit", "no digest recorded"]
    assert shown["server"][:2] == ["a server big", "not known"]
    assert shown["mine"][:2] == ["mine a folder", "in the list of files"], "its pin has the digests"
    assert shown["alpha"][:2] == ["trained here train.alpha", "in the list of files"]
    assert shown["alpha"][-1] == "train@alpha, pin@alpha, extract@alpha-DATASET, score@DATASET"
    assert shown["again"][0] == "trained here train.alpha", "the same weights under another name"
    assert shown["others"][-1] == "pin@others, extract@others-DATASET, score@DATASET"
    assert shown["others"][0] == "released answers"


@pytest.mark.parametrize(
    ("tokens", "shown"), [((4, 5), "9"), ((4, None), "–"), ((None, None), "–"), ((0, 0), "0")]
)
def test_tokens_are_counted_if_all_texts_tell(make: Make, tokens: tuple[int | None, ...], shown: str) -> None:
    answered = [
        AnswerCounts("alpha", name, "text", 2, 2, 0, count, ("e/1",), (), (), None)
        for name, count in zip(("shapes", "signs"), tokens, strict=True)
    ]
    setup = {"models": {"alpha": "data/trained/alpha"}, "train": {}, "locked": {}}
    grid = PROVENANCE_SECTION.build(replace(make(Made()), setup=setup, answered=answered))["answered"]
    assert grid is not None and grid.rows[0][5].text == shown


@pytest.mark.parametrize(
    ("lists", "count"),
    [
        ([[-1.0, -2.0], [-3.0]], 3),
        ([[-1.0, -2.0], "refused"], 2),
        (["refused", "refused"], 0),
        ([[-1.0, -2.0], None], None),
        ([None, "refused"], None),
        ([[-1.0], [], "refused"], 1),
    ],
)
def test_texts_without_log_probabilities_have_no_count(
    tmp_path: Path, lists: list[Any], count: int | None
) -> None:
    table = RESPONSES["text"].table
    path, common = tmp_path / "alpha.text.parquet", {"temperature": 0.0, "sample": 0, "engine": "e/1"}
    rows = [
        {**common, "prompt": str(n), "problem": each}
        if isinstance(each, str)
        else {**common, "prompt": str(n), "text": "a b", "logprobs": each}
        for n, each in enumerate(lists)
    ]
    table.write(path, rows)
    assert _tokens(table.open(path), table.read(path)["problem"]) == count


@pytest.mark.parametrize(
    ("outputs", "words"), [(None, "those of the template"), (["text", "letters"], "text, letters")]
)
def test_provenance_names_what_is_asked_by_default(make: Make, outputs: list[str] | None, words: str) -> None:
    entry = {"loader": "jsonl", "source": "data/raw", "template": "plain"}
    setup = {"datasets": {"shapes": entry}, "outputs": outputs, "variations": ["original", "vr_b"]}
    caption = PROVENANCE_SECTION.build(replace(make(Made()), setup=setup))["asked"].caption
    assert caption.endswith(f"request types: {words}; variations: original, vr_b")


def test_engines_and_digests_of_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    paths = write_tables(Made())
    for dataset, engine in (("shapes", "transformers/3.1"), ("cubes", "transformers/2.1")):
        how = {"engine": engine, "mode": "trie", "rows": 32, "device": "cpu"}
        rows = [{"prompt": "a", **how}, {"prompt": "b", "problem": "image is damaged"}]
        LETTERS.write(letters_path("alpha", dataset), rows)
        LIKELIHOOD.write(likelihood_path("alpha", dataset), [])
        paths += [letters_path("alpha", dataset), likelihood_path("alpha", dataset)]
    texts = [
        {"prompt": "a", "temperature": 1.0, "sample": at, "text": "x", "logprobs": [-0.1] * (at + 1)}
        for at in range(3)
    ]
    TEXT.write(text_path("alpha", "shapes"), [*texts, {"prompt": "b", "problem": "too long"}])
    evidence = load([*paths, text_path("alpha", "shapes")], SCORING)
    view = PROVENANCE_SECTION.build(evidence)
    rows = [[cell.text for cell in row] for row in view["answered"].rows]
    assert rows == [
        ["alpha", "letters", "4", "2", "2", "–", "32", "trie", "cpu"],
        ["alpha", "generated text", "2", "3", "1", "6", "–", "–", "–"],
    ]
    inputs = {row[0].text: (row[1].text, row[2].text) for row in view["inputs"].rows}
    stage, digest = inputs["data/responses/shapes/alpha.letters.parquet"]
    assert stage == "extract@alpha-shapes" and len(digest) == 64
