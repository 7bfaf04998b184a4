"""`vouch item`: one question, and every model's answers to it."""

import argparse
import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from vouch.cli.command import argument, command, json_argument, path_argument
from vouch.cli.leaderboard import Row, long_name, warn_if_outdated
from vouch.cli.printing import as_json, cut, number, plain, plain_lines, table
from vouch.images.opening import render
from vouch.pipeline.errors import UserError, check_name
from vouch.pipeline.records import intact
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
from vouch.tables.results import OUTCOMES, contents, flips, grades, outcomes_path
from vouch.tables.table import Table

FLIPPED, SAME, NOT_FLIPPED = "flipped", "same", "not_flipped"
WIDTH = 60  # characters of a text in the table; --json has all of it


@command(
    "item",
    "one question: what every model answered, in every variation",
    argument("id", names="items", help="id of the question, as in the tables and the report"),
    argument("--dataset", names="datasets", help="needed if several datasets have that id"),
    argument("--model", names="models", help="only this model"),
    json_argument("whole texts"),
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
    faithful protocol; for them `about` gives the mean size. A variation that keeps the correct answer shows
    `same` or `flipped`. One that changes it, `flipped` or `not_flipped` if the original answer was correct.

    Examples:
      vouch item kite-004 --dataset kites
      vouch item kite-004 --dataset kites --model tiny_a --images seen
    """
    dataset, item = find_item(options.id, options.dataset)
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
        print(question(dataset, item) + "\n" + screen(entries), end="")
        if options.images:
            print(f"images: {written} in {plain(options.images)}")
    warn_if_outdated()
    return 0


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
    position = {name: number for number, name in enumerate(prompts)}
    rows.sort(key=lambda row: (OUTPUTS.index(row["output"]), position[row["prompt"]]))
    return [
        _entry(row, prompts[row["prompt"]], responses_of[row["output"], row["prompt"]], change)
        for row, change in zip(rows, against(rows), strict=True)
    ]


def _entry(row: Row, prompt: Row, responses: Sequence[Row], change: str) -> dict[str, Any]:
    ranked = _likely(row["output"], prompt, responses)
    texts = [each["text"] for each in responses if row["output"] == TEXT and each["temperature"] == 0]
    chosen = row["predicted"]
    return {
        **{key: row[key] for key in ("model", "output", "variation", "prompt", "effect")},
        "answer": row["answer"] if chosen is None else option(prompt, chosen),
        "correct": row["correct"],
        "kept": row["clean_correct"] is not None,
        **{key: row[key] for key in ("confidence", "half")},
        **{score: _members(prompt, ranked, row[f"size_{score}"]) for score in HEADLINE},
        "clean_size": {score: row[f"clean_size_{score}"] for score in HEADLINE},
        "text": texts[0] if texts else None,
        "problem": next((each["problem"] for each in responses if each["problem"]), None),
        "against_original": change,
    }


def option(prompt: Row, index: int) -> str:
    """An option with its label, as it is shown."""
    label = f"{prompt['labels'][index]}. " if index < len(prompt["labels"] or ()) else ""
    return f"{label}{prompt['options'][index]}"


def _likely(output: str, prompt: Row, responses: Sequence[Row]) -> list[int]:
    """Indices of the options, likeliest first (ties: lowest); empty for texts and missing answers."""
    if output == LETTERS and responses and responses[0]["logits"]:
        worth = list(responses[0]["logits"])[: len(prompt["options"])]
    elif output == LIKELIHOOD and responses and not any(row["nll"] is None for row in responses):
        nll = {row["option"]: row["nll"] for row in responses}
        worth = [-nll.get(index, math.inf) for index in range(len(prompt["options"]))]
    else:
        return []
    return sorted(range(len(worth)), key=lambda index: (-worth[index], index))


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


def question(dataset: str, item: Row) -> str:
    """The facts about the item, one per line."""
    lines = [f"{item['id']} of {dataset}"]
    for name in ("question", "hint") if item["hint"] else ("question",):
        first, *rest = item[name].splitlines() or [""]
        lines += [f"{name}: {first}", *(f"  {line}" for line in rest)]
    for index, text in enumerate(item["options"]):
        lines.append(f"option {index + 1}: {text}" + (" (correct)" if index in item["answers"] else ""))
    lines += [f"answer: {text}" for text in item["references"] or ()]
    for position, digest in enumerate(item["images"] or (), start=1):
        lines.append(f"image {position}: {digest} in {images_path(dataset)} (--images FOLDER shows it)")
    lines += [f"{key}: {item[key]}" for key in ("category", "group", "source_id") if item[key]]
    lines += [f"conversation: {', '.join(item['turns'])}"] if item["turns"] else []
    lines += [f"flags: {', '.join(item['flags'])}"] if item["flags"] else []
    return plain_lines(lines)


def screen(entries: Sequence[Row]) -> str:
    """The table of answers, and the variations that flipped them."""
    if not entries:
        return "no model was asked this question\n"
    head = ["model", "output", "variation", "answer", "", "confidence", "LAC", "APS", "original", "text"]
    rows = [
        [
            *(entry["model"], entry["output"], variation(entry), cut(_answer(entry), WIDTH), _verdict(entry)),
            *(number(entry["confidence"]), _set(entry, "lac"), _set(entry, "aps")),
            *(entry["against_original"], cut(entry["text"] or "", WIDTH)),
        ]
        for entry in entries
    ]
    return table(head, rows, right={5}) + "\n" + plain_lines(flips_by_model(entries))


def variation(entry: Row) -> str:
    """The variation, with a number if it makes several prompts from one item."""
    _, _, last = entry["prompt"].rpartition(f"/{entry['variation']}/")
    name = long_name(entry["variation"])
    return f"{name} {last}" if last != entry["prompt"] else name


def _answer(entry: Row) -> str:
    return entry["problem"] or ("n.a." if entry["answer"] is None else entry["answer"])


def _verdict(entry: Row) -> str:
    if entry["correct"] is None:
        return "n.a."
    return ("correct" if entry["correct"] else "wrong") + ("" if entry["kept"] else ", left out")


def _set(entry: Row, score: str) -> str:
    """The members if the item was tested in the faithful split, else the mean size over the clean splits."""
    members = entry[score]
    if members is not None:
        return cut(" ".join(each.split(". ")[0] for each in members) or "none", WIDTH)
    size = entry["clean_size"][score]
    return "n.a." if size is None else f"about {size:.1f}"


def flips_by_model(entries: Sequence[Row]) -> list[str]:
    """A line for each model and request type: the variations that wrongly changed or kept the answer."""
    lines = []
    for model, output in dict.fromkeys((entry["model"], entry["output"]) for entry in entries):
        own = [entry for entry in entries if (entry["model"], entry["output"]) == (model, output)]
        variations = {entry["variation"] for entry in own}
        if ORIGINAL not in variations or len(variations) == 1:  # there is nothing to compare
            continue
        words = []
        wrong = [one for one in own if one["effect"] in (None, KEPT) or one["against_original"] != FLIPPED]
        for word, meaning in ((FLIPPED, "flipped by"), (NOT_FLIPPED, "wrongly unchanged by")):
            names = [variation(entry) for entry in wrong if entry["against_original"] == word]
            words += [f"{meaning} {', '.join(names)}"] if names else []
        lines.append(f"{model}, {output}: {'; '.join(words) or 'the answer held in every variation'}")
    return lines


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
