"""One question: its options, pictures and flags, and for every model and variation what was answered, how
sure the model was, the prediction sets, and which variation flipped the answer."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vouch.cli.item_answers import FLIPPED, UNTURNED, answers, find_item, models, prompts_of
from vouch.cli.printing import as_json, cut, number, plain, table
from vouch.cli.outdated import tell_outdated
from vouch.images.pictures import render
from vouch.pipeline.errors import UserError, did_you_mean
from vouch.pipeline.intact import intact
from vouch.tables.images import ImageStore, images_path
from vouch.tables.prompts import ORIGINAL

WIDTH = 60  # characters of a text in a table; --json has it whole
Row = Mapping[str, Any]


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `vouch item`."""
    parser.add_argument("id", help="id of the item, as the tables and the report have it")
    parser.add_argument("--dataset", help="where several datasets have that id")
    parser.add_argument("--model", help="only this model")
    parser.add_argument("--json", action="store_true", help="for scripts, with whole texts")
    parser.add_argument(
        "--pictures",
        type=lambda name: Path(name).absolute(),
        metavar="FOLDER",
        help="write the pictures there as PNG, as models see them in each variation",
    )


def run(options: argparse.Namespace) -> int:
    """Prints the item."""
    dataset, item = find_item(options.id, options.dataset)
    known = models()
    if options.model is not None and options.model not in known:
        raise UserError(f"data/scores: no model {options.model}; {did_you_mean(options.model, known)}")
    prompts = prompts_of(dataset, item["id"])
    found = [
        entry
        for model in ([options.model] if options.model else known)
        for entry in answers(model, dataset, prompts)
    ]
    written = 0
    if options.pictures:
        written = write_pictures(options.pictures, prompts, ImageStore(intact(images_path(dataset))))
    if options.json:
        named = {"dataset": dataset, "item": item, "prompts": list(prompts.values()), "answers": found}
        print(as_json(named), end="")
    else:
        print(question(dataset, item) + "\n" + said(found), end="")
        if options.pictures:
            print(f"pictures: {written} in {plain(options.pictures)}")
    tell_outdated()
    return 0


def question(dataset: str, item: Row) -> str:
    """What is known of the item, a line each."""
    lines = [f"{item['id']} of {dataset}", *_several("question", item["question"])]
    lines += _several("hint", item["hint"]) if item["hint"] else []
    for index, text in enumerate(item["options"]):
        lines.append(f"option {index + 1}: {text}" + (" (correct)" if index in item["answers"] else ""))
    lines += [f"answer: {text}" for text in item["references"] or ()]
    for place, digest in enumerate(item["images"] or (), start=1):
        lines.append(f"picture {place}: {digest} in {images_path(dataset)} (--pictures FOLDER shows it)")
    lines += [f"{key}: {item[key]}" for key in ("category", "group", "source_id") if item[key]]
    lines += [f"conversation: {', '.join(item['turns'])}"] if item["turns"] else []
    lines += [f"flags: {', '.join(item['flags'])}"] if item["flags"] else []
    return "".join(f"{plain(line)}\n" for line in lines)


def _several(name: str, text: str) -> list[str]:
    """A text of several lines, those after the first indented."""
    first, *rest = text.splitlines() or [""]
    return [f"{name}: {first}", *(f"  {line}" for line in rest)]


def said(entries: Sequence[Row]) -> str:
    """The table of answers, and which variations flipped them."""
    if not entries:
        return "no model was asked this item\n"
    head = ["model", "asked", "variation", "answer", "", "confidence", "LAC", "APS", "original", "text"]
    rows = [
        [
            *(entry["model"], entry["output"], variation(entry), cut(_answer(entry), WIDTH), _right(entry)),
            *(number(entry["confidence"]), _set(entry, "lac"), _set(entry, "aps")),
            *(entry["against_original"], cut(entry["text"] or "", WIDTH)),
        ]
        for entry in entries
    ]
    return table(head, rows, right={5}) + "\n" + "".join(map("{}\n".format, flips(entries)))


def variation(entry: Row) -> str:
    """The variation, with its number where it makes several prompts of an item."""
    _, _, last = entry["prompt"].rpartition(f"/{entry['variation']}/")
    return f"{entry['variation']} {last}" if last != entry["prompt"] else str(entry["variation"])


def _answer(entry: Row) -> str:
    return entry["problem"] or ("n.a." if entry["answer"] is None else entry["answer"])


def _right(entry: Row) -> str:
    if entry["right"] is None:
        return "n.a."
    return ("right" if entry["right"] else "wrong") + ("" if entry["kept"] else ", left out")


def _set(entry: Row, score: str) -> str:
    """Members where the item was tested in the faithful split, else the mean size over the clean splits."""
    members = entry[score]
    if members is not None:
        return cut(" ".join(each.split(". ")[0] for each in members) or "none", WIDTH)
    size = entry["clean_size"][score]
    return "n.a." if size is None else f"about {size:.1f}"


def flips(entries: Sequence[Row]) -> list[str]:
    """A line for each model and output: the variations that changed an answer that should have stayed, and
    those that left one that should have turned."""
    lines = []
    for model, output in dict.fromkeys((entry["model"], entry["output"]) for entry in entries):
        own = [entry for entry in entries if (entry["model"], entry["output"]) == (model, output)]
        asked = {entry["variation"] for entry in own}
        if ORIGINAL not in asked or len(asked) == 1:  # nothing to compare, or to compare with
            continue
        words = []
        for word, meaning in ((FLIPPED, "flipped by"), (UNTURNED, "not turned by")):
            names = [variation(entry) for entry in own if entry["against_original"] == word]
            words += [f"{meaning} {', '.join(names)}"] if names else []
        lines.append(plain(f"{model}, {output}: {'; '.join(words) or 'the answer held in every variation'}"))
    return lines


def write_pictures(folder: Path, prompts: Mapping[str, Row], images: ImageStore) -> int:
    """Writes each prompt's pictures, NUMBER-VARIATION-PLACE.png; returns how many. Raises UserError."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"{folder}: is there and not empty; name another folder")
    folder.mkdir(parents=True, exist_ok=True)
    written = 0
    for place, prompt in enumerate(prompts.values(), start=1):
        name = "".join(char if char.isalnum() or char in "_+" else "-" for char in prompt["variation"])
        for which, recipe in enumerate(prompt["pictures"], start=1):
            render(recipe, images.read).save(folder / f"{place:02d}-{name[:80]}-{which}.png")
            written += 1
    return written
