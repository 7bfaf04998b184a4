"""Files of the item pages against the tables they come from."""

import base64
import gzip
import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

from stages.browse import REPORTS, write
from tests.browse.project import CHOICE, COUNT, HARM, MODELS, OPEN, OWN, SOLVED, write_project
from vouch.browse.answers import OptionColumns
from vouch.browse.config import BrowseConfig, config_of
from vouch.images.opening import render
from vouch.metrics.comparison.leaderboard import variations
from vouch.pipeline.errors import UserError
from vouch.tables.answered import LETTERS, LIKELIHOOD, TEXT, letters_path, likelihood_path, text_path
from vouch.tables.asked import IMAGES, ITEMS, PROMPTS, ImageStore, images_path, items_path, prompts_path
from vouch.tables.results import BLIND, OUTCOMES, blind_path, outcomes_path

ROOT = Path(__file__).parents[2]
CONFIG = BrowseConfig(images=True, thumbnail=64, budget=1_000_000)


def packed(dataset: str, name: str) -> Any:
    """The value in a file, which must be one call that hands over the value under its name."""
    text = (REPORTS / dataset / f"{name}.js").read_text("ascii")
    match = re.fullmatch(r'vouch\.put\("([^"]+)","([A-Za-z0-9+/=]+)"\);\n', text)
    assert match and match[1] == f"{dataset}/{name}"
    return json.loads(gzip.decompress(base64.b64decode(match[2])))


def all_pages(dataset: str) -> list[dict[str, Any]]:
    """Every page in order."""
    return [packed(dataset, path.stem) for path in sorted((REPORTS / dataset).glob("page-*.js"))]


def names(folder: Path) -> set[str]:
    """Names of files without their numbers."""
    return {re.sub(r"-\d+", "", path.name) for path in folder.iterdir()}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """A written project, in the working directory."""
    folder, before = tmp_path_factory.mktemp("browse"), Path.cwd()
    os.chdir(folder)
    try:
        paths = write_project()
        write(CHOICE, CONFIG, paths)
        write(OPEN, config_of({"images": True, "thumbnail": 64, "budget": 10**6}, {"images": False}), paths)
        yield paths
    finally:
        os.chdir(before)


def answers(dataset, output):
    """(model, prompt id) -> the columns of its answer, from all pages."""
    index, prompts = packed(dataset, "index"), PROMPTS.read(prompts_path(dataset))["id"].to_pylist()
    found, first = {}, 0
    for page in all_pages(dataset):
        for model, given in zip(index["models"], page["models"], strict=True):
            columns = given[output]
            places = range(len(page["prompts"])) if columns["i"] is None else columns["i"]
            for row, place in enumerate(places):
                values = {
                    name: column[row]
                    for name, column in columns.items()
                    if name not in ("i", "problems", "other")
                }
                found[model, prompts[first + place]] = values
        first += len(page["prompts"])
    return found


def test_pages_hold_every_item_and_prompt_once(inputs):
    items, prompts = (
        ITEMS.read(items_path(CHOICE)).to_pylist(),
        PROMPTS.read(prompts_path(CHOICE)).to_pylist(),
    )
    index, pages = packed(CHOICE, "index"), all_pages(CHOICE)
    assert index["items"] == COUNT and index["models"] == sorted(MODELS)
    assert [len(page["items"]) for page in pages[:-1]] == [index["page"]] * (len(pages) - 1)
    assert [item["id"] for page in pages for item in page["items"]] == [item["id"] for item in items]
    assert not [
        value for page in pages for item in page["items"] for value in item.values() if value in ("", [])
    ]
    asked = [
        (
            page["items"][row["item"]]["id"],
            index["variations"][row["variation"]],
            row["order"],
            row["answers"],
        )
        for page in pages
        for row in page["prompts"]
    ]
    assert asked == [(row["item"], row["variation"], row["order"], row["answers"]) for row in prompts]
    rows = packed(CHOICE, "rows-000") + packed(CHOICE, "rows-001")
    assert [row[0] for row in rows] == [item["id"] for item in items]
    assert [row[3] for row in rows] == [item["answers"] for item in items]


def test_a_prompt_has_the_words_of_models_with_their_own(inputs):
    rows = [row for page in all_pages(CHOICE) for row in page["prompts"]]
    ids = PROMPTS.read(prompts_path(CHOICE))["id"].to_pylist()
    own = {name: row["own"] for name, row in zip(ids, rows, strict=True) if "own" in row}
    assert own == {
        f"{CHOICE}-0{OWN}/{variation}": [
            {
                "models": ["gamma"],
                "template": "plain_kind",
                "system": "Be kind.",
                "text": f"Please: {variation}",
            }
        ]
        for variation in ("original", "option_order", "vr_b_5", "ls_n")
    }


def test_answers_are_those_of_the_tables(inputs):
    found, problems = answers(CHOICE, "letters"), 0
    for model in MODELS:
        logits = {row["prompt"]: row for row in LETTERS.read(letters_path(model, CHOICE)).to_pylist()}
        scored = OUTCOMES.read(outcomes_path(CHOICE)).to_pylist()
        for row in (row for row in scored if row["model"] == model):
            given = found.pop((model, row["prompt"]))
            weights = np.exp(np.array(logits[row["prompt"]]["logits"], float))
            assert np.abs(np.array(given["p"]) - 100 * weights / weights.sum()).max() <= 0.51
            assert abs(max(given["p"]) - 100 * row["confidence"]) <= 0.51
            assert given["k"] == row["predicted"] and given["r"] == 1 + row["correct"]
            order = np.argsort(-np.array(logits[row["prompt"]]["logits"], float), kind="stable")
            for name, size in (("l", row["size_lac"]), ("a", row["size_aps"])):
                inside = -1 if size is None else sum(1 << int(place) for place in order[:size])
                assert given[name] == inside
            for name, size in (("L", row["clean_size_lac"]), ("A", row["clean_size_aps"])):
                assert given[name] == (-1 if size is None else round(10 * size))
        problems += sum(row["problem"] is not None for row in logits.values())
    assert not found and problems == len(MODELS)
    told = [page["models"][0]["letters"]["problems"] for page in all_pages(CHOICE)]
    (only,) = told[0]
    assert only[1] == "picture is <b>damaged</b>" and not any(told[1:])


def test_letters_are_shown_in_the_spelling_that_was_scored(inputs):
    """The same probabilities of the reversed options are as sure, but not of what was predicted."""
    path = letters_path(next(iter(MODELS)), CHOICE)
    before, shown = path.read_bytes(), answers(CHOICE, "letters")
    pairs = [(row, row["logits"] and row["logits"][::-1]) for row in LETTERS.read(path).to_pylist()]
    try:
        for stored, other in (("logits", "other_logits"), ("other_logits", "logits")):
            LETTERS.write(path, [row | {stored: row["logits"], other: back} for row, back in pairs])
            write(CHOICE, CONFIG, inputs)
            assert answers(CHOICE, "letters") == shown
            others = {page["models"][0]["letters"].get("other") for page in all_pages(CHOICE)}
            assert others == {1 if stored == "other_logits" else None}
    finally:
        path.write_bytes(before)
        write(CHOICE, CONFIG, inputs)


def test_flipped_as_compare_counts_flips(inputs):
    outcomes = OUTCOMES.read(outcomes_path(CHOICE))
    rows = {
        (row["model"], row["variation"], row["metric"]): row
        for row in variations(outcomes, seed=0, resamples=10)
        if row["dataset"] == CHOICE
    }
    index = packed(CHOICE, "index")
    for number, model in enumerate(index["models"]):
        columns = packed(CHOICE, f"model-{number}")
        for variation, states in zip(index["variations"], columns["states"], strict=True):
            flipped = sum(state in "WRU" for state in states)
            metric = "not_flipped" if variation == "ls_n" else "flipped"
            row = rows.get((model, variation, metric))
            assert flipped == (0 if row is None else round(row["value"] * row["items"]))
            assert variation == "original" or flipped


def test_columns_are_those_of_the_tables(inputs):
    items, index, columns = (
        ITEMS.read(items_path(CHOICE)).to_pylist(),
        packed(CHOICE, "index"),
        packed(CHOICE, "columns"),
    )
    assert [columns["categories"][at] for at in columns["category"]] == [item["category"] for item in items]
    assert columns["flags"] == ["shared_image", "solved_blind"]
    assert columns["flagged"] == [list(range(0, COUNT, 10)), list(range(SOLVED))]
    (first, *_) = [item for page in all_pages(CHOICE) for item in page["items"]]
    assert first["flags"] == ["shared_image", "solved_blind"]
    right = np.zeros(COUNT, int)
    for number in range(len(index["models"])):
        states = packed(CHOICE, f"model-{number}")["states"][index["variations"].index("original")]
        right += np.array([state == "r" for state in states])
    assert columns["correct"] == right.tolist() and set(columns["answered"]) == {3}


def test_texts_are_kept_whole_or_say_what_is_missing(inputs):
    found, (page,) = answers(OPEN, "text"), all_pages(OPEN)
    said = [found["alpha", f"{OPEN}-{number:04d}/original"]["t"] for number in range(len(HARM))]
    assert said[:-1] == list(HARM[:-1])
    assert len(said[-1]) < 5000 and "more characters" in said[-1]
    assert [item["question"] for item in page["items"][:4]] == list(HARM[:4])
    for path in (REPORTS / OPEN).glob("*.js"):
        assert not set("<>&") & set(path.read_text("ascii")), path


def test_no_pixel_leaves_where_images_are_not_allowed(inputs):
    assert "sheet.webp" in names(REPORTS / CHOICE)
    assert names(REPORTS / OPEN) == {f"{n}.js" for n in ("index", "rows", "page", "columns", "model", "ids")}
    assert packed(OPEN, "index")["images"] is None
    assert all(row["tiles"] == [None] for row in all_pages(OPEN)[0]["prompts"])


def test_pictures_are_those_that_the_models_saw(inputs):
    store, prompts = ImageStore(images_path(CHOICE)), PROMPTS.read(prompts_path(CHOICE)).to_pylist()
    shown = [row for page in all_pages(CHOICE) for row in page["prompts"]]
    for at in (0, 2, 9, 15):
        number, wide, high, left, top, width, height = shown[at]["tiles"][0]
        with Image.open(REPORTS / CHOICE / f"sheet-{number:04d}.webp") as sheet:
            assert sheet.size == (wide, high)
            seen = sheet.convert("RGB").crop((left, top, left + width, top + height))
        recipe = prompts[at]["images"][0]
        true = render(recipe, store.read)
        assert np.abs(np.asarray(seen, float) - np.asarray(true, float)).mean() < 12
        assert shown[at]["steps"] == (["blur 5"] if recipe["steps"] else [""])


def test_the_budget_holds_and_originals_come_first(inputs, tmp_path, monkeypatch):
    folder = Path("reports/items") / CHOICE
    sizes = [path.stat().st_size for path in sorted(folder.glob("sheet-*.webp"))]
    data = Path("data").resolve()
    monkeypatch.chdir(tmp_path)
    Path("data").symlink_to(data)
    write(CHOICE, CONFIG.model_copy(update={"budget": sizes[0]}), inputs)
    assert [path.stat().st_size for path in sorted(folder.glob("sheet-*.webp"))] == sizes[:1]
    prompts = [row for page in all_pages(CHOICE) for row in page["prompts"]]
    assert all((row["tiles"][0] is None) == ("blur 5" in row["steps"]) for row in prompts)
    assert packed(CHOICE, "index")["images"]["left_out"] == 40


def test_same_bytes_in_another_process(inputs, tmp_path, monkeypatch):
    def digests(folder):
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}

    first, data = digests(REPORTS / CHOICE), Path("data").resolve()
    monkeypatch.chdir(tmp_path)
    Path("data").symlink_to(data)
    again = (
        "from pathlib import Path; from stages.browse import write;"
        "from vouch.browse.config import BrowseConfig;"
        f"write({CHOICE!r}, BrowseConfig(images=True, thumbnail=64, budget=1_000_000), [Path(p) for p in {[str(p) for p in inputs]!r}])"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "7", "LC_ALL": "C"}
    subprocess.run([sys.executable, "-c", again], check=True, env=environment)
    assert digests(REPORTS / CHOICE) == first


def test_odd_datasets(inputs, tmp_path, monkeypatch):
    """Items that nobody was asked, letters that are no options, damaged pictures, a model without answers."""
    items, prompts = (
        ITEMS.read(items_path(CHOICE)).slice(0, 4),
        PROMPTS.read(prompts_path(CHOICE)).slice(0, 4),
    )
    answered = LETTERS.read(letters_path("alpha", CHOICE)).slice(0, 4).to_pylist()
    scored = OUTCOMES.read(outcomes_path(CHOICE)).to_pylist()
    monkeypatch.chdir(tmp_path)
    ITEMS.write(items_path("odd"), items)
    PROMPTS.write(prompts_path("odd"), prompts)
    digests = [digest for images in items["images"].to_pylist() for digest in images]
    IMAGES.write(images_path("odd"), [{"digest": digest, "bytes": b"no picture"} for digest in digests])
    for model, rows in (
        ("alpha", [row | {"logits": [*row["logits"], 99.0]} for row in answered]),
        ("none", []),
    ):
        LETTERS.write(letters_path(model, "odd"), rows)
        LIKELIHOOD.write(likelihood_path(model, "odd"), [])
        TEXT.write(text_path(model, "odd"), [])
    OUTCOMES.write(
        outcomes_path("odd"), [row | {"dataset": "odd"} for row in scored if row["model"] == "alpha"]
    )
    BLIND.write(blind_path("odd"), [])
    write("odd", CONFIG, [path.relative_to(tmp_path) for path in tmp_path.rglob("*.parquet")])
    (page,) = all_pages("odd")
    assert [row["item"] for row in page["prompts"]] == [0, 0, 0, 0] and len(page["items"]) == 4
    assert all(row["tiles"] == [None] for row in page["prompts"]) and "sheet.webp" not in names(
        REPORTS / "odd"
    )
    of_alpha, of_none = page["models"]
    assert [len(shares) for shares in of_alpha["letters"]["p"]] == [4] * 4 and of_none == {}
    assert {sum(shares) for shares in of_alpha["letters"]["p"]} <= {99, 100, 101}
    assert packed("odd", "columns")["answered"] == [1, 0, 0, 0]
    PROMPTS.write(
        prompts_path("odd"),
        pa.Table.from_pylist([row | {"item": "elsewhere"} for row in prompts.to_pylist()], prompts.schema),
    )
    with pytest.raises(UserError, match="not in the order of"):
        write("odd", CONFIG, [])


def test_prompts_with_little_mass_on_letters_are_told_by_their_number_on_the_page():
    mass = np.array([0.9, 0.42, np.nan, 0.004])
    options = OptionColumns(
        np.arange(10, 14), np.arange(0, 9, 2), np.full(8, 0.5), np.tile([0, 1], 4), mass
    )  # two options each
    assert options.page(10, 14)["low"] == [[1, 42], [3, 0]]
    assert "low" not in options.page(10, 11) and "low" not in options.page(0, 5)
