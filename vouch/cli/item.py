"""`vouch item`: one question, and every model's answers to it. The screen: item_screen.py."""

import argparse
import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import scipy

from vouch.cli.command import argument, command, json_argument, path_argument, wide_argument
from vouch.cli.item_screen import FLIPPED, NOT_FLIPPED, SAME, question, screen
from vouch.cli.leaderboard import Row, warn_if_outdated
from vouch.cli.printing import as_json, plain
from vouch.images.opening import render
from vouch.models.kinds import sees_images
from vouch.pipeline.errors import UserError, check_name
from vouch.pipeline.records import check_run, intact
from vouch.tables import HEADLINE
from vouch.tables.answered import RESPONSES
from vouch.tables.asked import (
    ITEMS,
    KEPT,
    LETTERS,
    LIKELIHOOD,
    ORIGINAL,
    OUTPUTS,
    PROMPTS,
    TEXT,
    ImageStore,
    images_path,
    items_path,
    prompts_path,
)
from vouch.tables.results import (
    BLIND,
    OUTCOMES,
    blind_path,
    contents,
    flags_of,
    flips,
    grades,
    outcomes_path,
    solved_blind,
)
from vouch.tables.table import Table


@command(
    "item",
    "one question: what every model answered, in every variation",
    argument("id", names="items", help="id of the question, as in the tables and the report"),
    argument("--dataset", names="datasets", help="needed if several datasets have that id"),
    argument("--model", names="models", help="only this model"),
    argument(
        "--detail", action="store_true", help="options and texts of every variation, all words of texts"
    ),
    json_argument("everything that --detail shows, all digits"),
    wide_argument(),
    path_argument(
        "--images",
        metavar="FOLDER",
        help="write the images there as PNG, as models see them in each variation",
    ),
)
def run(options: argparse.Namespace) -> int:
    """Show one question: its options, images and flags, and every model's answer in every variation.

    Each line has the answer, the model's confidence, the members of its LAC and APS prediction sets, and how
    the answer compares with the one to the original prompt. Items used for calibration have no sets in the
    faithful protocol; for them `~2.1` is the mean size. A variation that keeps the correct answer shows
    `same` or `flipped`. One that changes it, `flipped` or `not_flipped` if the original answer was correct.

    Below, each model has a block that shows why: logit and probability of every option, the share of the
    probability on letters, and how the letters were spelled; of a text its words, and which parser read it
    for which reason. It is that of the original prompt; --detail shows the blocks of all variations.

    Examples:
      vouch item kite-004 --dataset kites
      vouch item kite-004 --dataset kites --model tiny_a --detail
      vouch item kite-004 --dataset kites --model tiny_a --images seen
    """
    dataset, item = find_item(options.id, options.dataset)
    item["flags"] = flags_of(item, _solved_blind(dataset))
    if options.model is not None:
        path = outcomes_path(dataset)
        known = OUTCOMES.read(intact(path), ["model"])["model"].unique().to_pylist()
        check_name("model", options.model, known, path)
    prompts = prompts_of(dataset, item["id"])
    entries = answers(dataset, prompts, options.model)
    if options.images:
        images = ImageStore(intact(images_path(dataset)))
        written = write_images(options.images, prompts, images)
    if options.json:
        named = {"dataset": dataset, "item": item, "prompts": list(prompts.values()), "answers": entries}
        print(as_json(named), end="")
    else:
        print(question(dataset, item) + "\n" + screen(entries, options.detail), end="")
        if options.images:
            print(f"images: {written} in {plain(options.images)}")
    warn_if_outdated()
    return 0


def _solved_blind(dataset: str) -> Collection[str]:
    """The items that every language model that was asked answers correctly; none before the stage score."""
    path = blind_path(dataset)
    return solved_blind(BLIND.read(intact(path))) if path.exists() else ()


def rows_of(table: Table, path: Path, column: str, wanted: list[str]) -> Iterator[dict[str, Any]]:
    """The rows of a table whose column has one of the wanted values."""
    for part in table.rows_with(intact(path), column, wanted):
        yield from part.to_pylist()


def prompts_of(dataset: str, item: str) -> dict[str, dict[str, Any]]:
    """The item's prompts by id, in the order of their table."""
    return {row["id"]: row for row in rows_of(PROMPTS, prompts_path(dataset), "item", [item])}


def answers(dataset: str, prompts: Mapping[str, Row], model: str | None) -> list[dict[str, Any]]:
    """An entry for JSON for each prompt and request type, of all models or of one."""
    by_model = defaultdict[str, list[Row]](list)
    for row in rows_of(OUTCOMES, outcomes_path(dataset), "prompt", list(prompts)):
        by_model[row["model"]].append(row)
    wanted = sorted(by_model) if model is None else [model]
    return [entry for name in wanted for entry in _of_model(name, dataset, prompts, by_model[name])]


def _of_model(model: str, dataset: str, prompts: Mapping[str, Row], rows: list[Row]) -> list[dict[str, Any]]:
    responses_of = defaultdict[tuple[str, str], list[Row]](list)
    for output in sorted({row["output"] for row in rows}):
        responses, path = RESPONSES[output]
        for row in rows_of(responses, path(model, dataset), "prompt", list(prompts)):
            responses_of[output, row["prompt"]].append(row)
    sees = sees_images(model, None)  # as it was when it answered
    position = {name: number for number, name in enumerate(prompts)}
    rows.sort(key=lambda row: (OUTPUTS.index(row["output"]), position[row["prompt"]]))
    return [
        {"sees": sees}
        | _entry(row, prompts[row["prompt"]], responses_of[row["output"], row["prompt"]], change)
        for row, change in zip(rows, against(rows), strict=True)
    ]


def _entry(row: Row, prompt: Row, responses: Sequence[Row], change: str) -> dict[str, Any]:
    scores = _scores(row["output"], prompt, responses)
    ranked = sorted(range(len(scores)), key=lambda index: (-scores[index], index))
    texts = responses if row["output"] == TEXT else []
    first: Row = next((each for each in responses if not each.get("temperature")), {})
    chosen = row["predicted"]
    return {
        **{key: row[key] for key in ("model", "output", "variation", "prompt", "effect")},
        "answer": row["answer"] if chosen is None else option(prompt, chosen),
        "correct": row["correct"],
        "kept": row["clean_correct"] is not None,
        **{key: row[key] for key in ("confidence", "half")},
        **{score: _members(prompt, ranked, row[f"size_{score}"]) for score in HEADLINE},
        "clean_size": {score: row[f"clean_size_{score}"] for score in HEADLINE},
        "text": next((each["text"] for each in texts if each["temperature"] == 0), None),
        "samples": [
            {key: each[key] for key in ("temperature", "sample", "text")}
            for each in texts
            if each["temperature"]
        ],
        **{key: row[key] for key in ("parser", "reason")},
        "options": _options(row, prompt, scores, responses),
        **{key: first.get(key) for key in _OF_ANSWER},
        "problem": next((each["problem"] for each in responses if each["problem"]), None),
        "against_original": change,
    }


_OF_ANSWER = ("letter_mass", "bracket_mass", "spelling", "reasoning", "flags", "engine", "mode", "device")
"""Columns of the response tables that an entry has as they are; null if the request type has none."""


def option(prompt: Row, index: int) -> str:
    """An option with its label, as it is shown."""
    label = f"{prompt['labels'][index]}. " if index < len(prompt["labels"] or ()) else ""
    return f"{label}{prompt['options'][index]}"


def _scores(output: str, prompt: Row, responses: Sequence[Row]) -> list[float]:
    """Logit, or negated NLL, of each option; empty for texts and missing answers."""
    count = len(prompt["options"] or ())
    if output == LETTERS and responses and responses[0]["logits"]:
        return list(responses[0]["logits"])[:count]
    if output == LIKELIHOOD and responses and not any(row["nll"] is None for row in responses):
        nll = {row["option"]: row["nll"] for row in responses}
        return [-nll.get(index, math.inf) for index in range(count)]
    return []


def _options(
    row: Row, prompt: Row, scores: Sequence[float], responses: Sequence[Row]
) -> list[dict[str, Any]]:
    """An entry for each option, for JSON; a number is null if it is unknown, or not finite."""
    with np.errstate(invalid="ignore"):
        shares = scipy.special.softmax(scores).tolist() if scores else []
    of_option = {each["option"]: each for each in responses} if row["output"] == LIKELIHOOD else {}
    entries = []
    for index, score in enumerate(scores):
        entry = {
            "option": option(prompt, index),
            "answer": index == row["predicted"],
            "correct": index in (prompt["answers"] or ()),
            "probability": _finite(shares[index]),
        }
        if row["output"] == LETTERS:
            named = {"logit": scores, **{key: responses[0][key] or () for key in ("other_logits", "upper")}}
            entry |= {key: _finite(of[index]) if index < len(of) else None for key, of in named.items()}
        else:
            tokens = of_option.get(index, {}).get("tokens")
            entry |= {"nll": _finite(-score), "tokens": tokens}
        entries.append(entry)
    return entries


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _members(prompt: Row, ranked: Sequence[int], size: int | None) -> list[str] | None:
    """The options in a prediction set of the faithful split; sets of LAC and APS hold the likeliest ones.

    None for rows used for calibration: they have no set.
    """
    if size is None or not ranked:
        return None
    return [option(prompt, index) for index in ranked[:size]]


def against(rows: Sequence[Row]) -> list[str]:
    """How each answer compares with the one to the original prompt: a word for each row of OUTCOMES.

    If the variation keeps the correct answer: same or flipped. If it changes the correct answer, and the
    original was answered correctly: flipped, as it should be, or not_flipped. Otherwise the word is empty.
    """
    table = pa.Table.from_pylist(list(rows), OUTCOMES.schema)
    originals = {row["output"]: index for index, row in enumerate(rows) if row["variation"] == ORIGINAL}
    first = np.array([originals.get(row["output"], index) for index, row in enumerate(rows)], dtype=int)
    answer, kept = contents(table), np.array([row["effect"] in (None, KEPT) for row in rows], dtype=bool)
    flipped = flips(answer, answer[first], grades(table)[first], kept)
    words = np.where(kept, np.where(flipped, FLIPPED, SAME), np.where(flipped, NOT_FLIPPED, FLIPPED))
    counts = (first != np.arange(len(rows))) & ~np.isnan(flipped)
    return [str(word) for word in np.where(counts, words, "")]


def write_images(folder: Path, prompts: Mapping[str, Row], images: ImageStore) -> int:
    """Writes the images of each prompt as NUMBER-VARIATION-IMAGE.png; returns how many. Raises UserError."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"{folder}: exists and is not empty; name another folder")
    folder.mkdir(parents=True, exist_ok=True)
    written = 0
    for prompt_number, prompt in enumerate(prompts.values(), start=1):
        name = "".join(char if char.isalnum() or char in "_+" else "-" for char in prompt["variation"])
        for image_number, recipe in enumerate(prompt["images"], start=1):
            render(recipe, images.read).save(folder / f"{prompt_number:02d}-{name[:80]}-{image_number}.png")
            written += 1
    return written


def find_item(wanted: str, dataset: str | None) -> tuple[str, dict[str, Any]]:
    """The dataset of an item, and its row of ITEMS. Raises UserError, with similar ids, if there is none."""
    folder = items_path("x").parent
    known = sorted(path.stem for path in folder.glob("*.parquet"))
    if not known:
        check_run(folder)
        raise UserError(f"{folder}: no items; run `dvc repro`, or `dvc pull` to fetch them")
    if dataset is not None:
        check_name("dataset", dataset, known, folder)
    datasets = [dataset] if dataset else known
    matches = [(name, row) for name in datasets for row in rows_of(ITEMS, items_path(name), "id", [wanted])]
    if not matches:
        tables = (ITEMS.read(intact(items_path(each)), ["id"]) for each in datasets)
        ids = [name for table in tables for name in table["id"].to_pylist()]
        raise UserError(
            f"{dataset or folder}: no item {wanted[:80]!r}; did you mean {', '.join(close(wanted, ids))}?"
        )
    if len(matches) > 1:
        names = ", ".join(name for name, _ in matches)
        raise UserError(f"item {wanted[:80]!r}: is in {names}; choose one by --dataset")
    return matches[0]


def close(wanted: str, ids: Collection[str]) -> list[str]:
    """The five ids most similar to the wanted one, quoted and cut. difflib takes minutes for 100,000 ids."""
    from rapidfuzz import fuzz, process

    matches = process.extract(wanted, ids, scorer=fuzz.ratio, processor=str.casefold, limit=5)
    return [repr(name[:80]) for name, *_ in matches]
