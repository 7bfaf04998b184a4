"""`vouch item`: one question, and every model's answers to it, or the wrong answers of a model (wrong.py)."""

import argparse
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from vouch.cli.command import argument, command, json_argument, number, one_of, path_argument, wide_argument
from vouch.cli.item_answers import answers, rows_of
from vouch.cli.item_screen import question, screen
from vouch.cli.leaderboard import Row, warn_if_outdated
from vouch.cli.printing import as_json, plain
from vouch.cli.wrong import described, ordered, wrong_answers, wrong_screen
from vouch.images.opening import render
from vouch.pipeline.errors import UserError, check_name
from vouch.pipeline.records import check_run, intact
from vouch.tables.asked import (
    ITEMS,
    MODEL_PROMPTS,
    ORIGINAL,
    OUTPUTS,
    PROMPTS,
    ImageStore,
    images_path,
    items_path,
    prompt_for,
    prompts_path,
)
from vouch.tables.results import (
    BLIND,
    OUTCOMES,
    blind_path,
    flags_of,
    outcomes_path,
    solved_blind,
)

LIMIT = 20
"""How many wrong answers are listed if no --limit says so."""


@command(
    "item",
    "one question: what every model answered, and how it was graded; or a model's wrong answers",
    one_of(
        argument("id", nargs="?", names="items", help="id of the question, as in the tables and the report"),
        argument("--wrong", metavar="MODEL", names="models", help="list the wrong answers of this model"),
        required=True,
    ),
    argument(
        "--dataset", names="datasets", help="needed if several datasets have that id; with --wrong: only this"
    ),
    argument("--model", names="models", help="only this model"),
    argument(
        "--detail", action="store_true", help="every prompt as asked, and all that is behind its answers"
    ),
    argument("--variation", names="variations", help="with --wrong: of this variation (default: original)"),
    argument("--output", choices=OUTPUTS, help="only this request type; with --wrong, default: the main one"),
    argument("--limit", type=number(int, 1), help=f"with --wrong: most lines (default: {LIMIT})"),
    json_argument("everything that --detail shows, or all wrong answers; all digits"),
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
    probability on letters, and how the letters were spelled; of a text its words, which parser read it for
    which reason, and what it was compared with. It is that of the original prompt; --detail shows the blocks
    of all variations, and every prompt as it was asked.

    --wrong lists the questions that a model answers wrongly, the answers in which it is most confident first.

    Examples:
      vouch item --wrong tiny_a
      vouch item --wrong tiny_a --dataset kites --variation ls_n --limit 100
      vouch item kite-004 --dataset kites
      vouch item kite-004 --dataset kites --model tiny_a --detail
      vouch item kite-004 --dataset kites --model tiny_a --images seen
    """
    _check_options(options)
    print(_wrong(options) if options.wrong is not None else _one(options), end="")
    warn_if_outdated()
    return 0


def _check_options(options: argparse.Namespace) -> None:
    """Raises UserError for an option that has no meaning beside the others."""
    of_wrong = {"--variation": options.variation, "--limit": options.limit}
    of_item = {"--model": options.model, "--detail": options.detail, "--images": options.images}
    unused, other = (of_item, "one question") if options.wrong is not None else (of_wrong, "--wrong")
    if name := next((name for name, value in unused.items() if value), None):
        raise UserError(f"vouch item: {name} goes with {other}; leave it out")


def _wrong(options: argparse.Namespace) -> str:
    """The wrong answers of a model, for a person or as JSON."""
    entries = wrong_answers(options.wrong, options.dataset, options.variation, options.output)
    if options.json:
        return as_json(described(ordered(entries)))
    return wrong_screen(options.wrong, options.variation, entries, options.limit or LIMIT)


def _one(options: argparse.Namespace) -> str:
    """One question with its answers, for a person or as JSON. Writes the images if asked to."""
    dataset, item = find_item(options.id, options.dataset)
    item["flags"] = flags_of(item, _solved_blind(dataset))
    if options.model is not None:
        path = outcomes_path(dataset)
        known = OUTCOMES.read(intact(path), ["model"])["model"].unique().to_pylist()
        check_name("model", options.model, known, path)
    prompts = prompts_of(dataset, item["id"])
    entries = [
        entry
        for entry in answers(dataset, item, prompts, options.model)
        if options.output in (None, entry["output"])
    ]
    if options.output and not entries:
        raise UserError(f"{item['id'][:80]} of {dataset}: no answers as {options.output}; leave out --output")
    if options.images:
        images = ImageStore(intact(images_path(dataset)))
        written = write_images(options.images, prompts, images)
    if options.json:
        asked = [prompt_for(options.model, row) if options.model else row for row in prompts.values()]
        return as_json({"dataset": dataset, "item": item, "prompts": asked, "answers": entries})
    text = question(dataset, item) + "\n" + screen(entries, list(prompts.values()), options.detail)
    return text + (f"images: {written} in {plain(options.images)}\n" if options.images else "")


def _solved_blind(dataset: str) -> Collection[str]:
    """The items that every language model that was asked answers correctly; none before the stage score."""
    path = blind_path(dataset)
    return solved_blind(BLIND.read(intact(path))) if path.exists() else ()


AS_ASKED = (
    *("system", "turns", "text", "response", "earlier", "options", "labels", "images"),
    MODEL_PROMPTS.name,
)
"""Columns of PROMPTS that a model is given, or some models."""


def prompts_of(dataset: str, item: str) -> dict[str, dict[str, Any]]:
    """The item's prompts by id, in the order of their table. same_as_original: whether a variation changed
    nothing."""
    prompts = {row["id"]: row for row in rows_of(PROMPTS, prompts_path(dataset), "item", [item])}
    original = next((row for row in prompts.values() if row["variation"] == ORIGINAL), None)
    for row in prompts.values():
        unchanged = original is not None and all(row.get(name) == original.get(name) for name in AS_ASKED)
        row["same_as_original"] = unchanged and row is not original
    return prompts


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
