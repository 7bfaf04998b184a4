"""Write the pictures of a variation as files, to look at.

Of the first items that the variation applies to: each picture as a model would get it, beside those of
`original`, as PNG files, and a page with the prompts and the correct options. The variation need not be one
of params.yaml. The dataset's items, images and rewrites must be there (`dvc repro rewrite@DATASET`).

Examples:
  vouch review render kites vr_b_5
  vouch review render kites option_order+jpeg --items 3 --into seen
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Any

from vouch.cli.printing import file_argument, long_name, plain
from vouch.cli.review import project_with
from vouch.datasets.cleaning.config import DatasetEntry
from vouch.images.opening import render
from vouch.pipeline.errors import UserError
from vouch.pipeline.files import replacing_folder
from vouch.pipeline.intact import intact
from vouch.prompts.build import Before, Making, Prompts, Rewrites, read_items
from vouch.prompts.combination import load_variation
from vouch.prompts.exchange import Exchanges, decisions_path, read_decisions
from vouch.prompts.template import read_template
from vouch.tables.asked import ORIGINAL, REWRITES, ImageStore, images_path, items_path, rewrites_path
from vouch.tables.decisions import are_there

_PAGE = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>'
    "body{{font:16px sans-serif;margin:2em}}img{{max-width:320px;border:1px solid #ccc}}"
    "td{{vertical-align:top;padding:.5em;max-width:45em}}pre{{white-space:pre-wrap;margin:.3em 0}}"
    "</style><h1>{title}</h1>\n{body}"
)


def check_folder(folder: Path, command: str) -> None:
    """Raises UserError where a folder is there that holds what the command did not make."""
    if folder.exists() and not _mark(folder, command).is_file() and not _is_empty(folder):
        raise UserError(
            f"{folder}: is there and was not made by `vouch review {command}`; name another folder"
        )


@contextmanager
def folder_of_pages(folder: Path, command: str) -> Iterator[Path]:
    """A folder to fill, which takes the place of one that the command made earlier. Raises UserError."""
    check_folder(folder, command)
    with replacing_folder(folder) as made:
        yield made
        _mark(made, command).write_text(
            f"made by `vouch review {command}`; written anew each time\n", "utf-8"
        )


def write_page(file: Path, title: str, body: str) -> None:
    """Writes a page. title: text; body: HTML."""
    file.write_text(_PAGE.format(title=escape(title), body=body), encoding="utf-8")


def _mark(folder: Path, command: str) -> Path:
    """The file that says that a folder was made here."""
    return folder / f"{command}.txt"


def _is_empty(folder: Path) -> bool:
    return folder.is_dir() and not any(folder.iterdir())


FOLDER = Path("renders")
Row = Mapping[str, Any]


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `vouch review render`."""
    parser.add_argument("dataset", help="a dataset of params.yaml")
    parser.add_argument("variation", help="code of a variation, such as vr_b_5 or option_order+jpeg")
    parser.add_argument("--items", type=int, default=12, metavar="N", help="how many items (default: 12)")
    parser.add_argument(
        "--into", type=file_argument, metavar="FOLDER", help="default: renders/DATASET/VARIATION"
    )


def run(options: argparse.Namespace) -> int:
    """Renders."""
    name, variation = options.dataset, options.variation
    project = project_with(name)
    if options.items < 1:
        raise UserError(f"--items: give a number of items from 1, not {options.items}")
    folder = options.into or FOLDER / name / variation
    check_folder(folder, "render")
    found = prompts(name, project.datasets[name], variation)
    first = [rows for _, rows in zip(range(options.items), found, strict=False)]
    if not first:
        raise UserError(f"{variation}: no item of {name} gets such a prompt; docs/variations.md says why")
    images, body, pictures = ImageStore(intact(images_path(name))), "", 0
    with folder_of_pages(folder, "render") as made:
        for number, rows in enumerate(first, start=1):
            files = write_pictures(rows, number, images, made)
            cells = "".join(f"<td>{_prompt(row, files)}" for row in rows)
            body += f"<h2>{escape(rows[0]['item'])}</h2>\n<table><tr>{cells}</table>\n"
            pictures += len(files)
        write_page(made / "index.html", f"{name}: {long_name(variation)}", body)
    print(f"render: {len(first)} items, {pictures} pictures in {plain(folder)}")
    return 0


def prompts(name: str, entry: DatasetEntry, variation: str) -> Iterator[Sequence[Row]]:
    """Of each item that the variation applies to: its original prompt and then those of the variation."""
    names = dict.fromkeys((ORIGINAL, variation))
    template = read_template(entry.template, entry.variant)
    made = Prompts([load_variation(each) for each in names], template, entry.template, None)
    path = decisions_path(name)
    making = Making(
        Rewrites(REWRITES.read(intact(rewrites_path(name))).to_pylist()),
        Exchanges(read_decisions(path) if are_there(path) else []),
        lambda _: True,
    )
    group, before = None, Before()
    for item in read_items(intact(items_path(name)), making):
        if item.group != group:
            group, before = item.group, {}
        rows = list(made.rows(item, before)) if item.kept else []
        if rows and rows[-1]["variation"] == variation:
            yield rows


def write_pictures(rows: Sequence[Row], number: int, images: ImageStore, folder: Path) -> dict[str, str]:
    """Writes the pictures of an item's prompts; file name by recipe (`repr`). number: of the item, from 1."""
    files: dict[str, str] = {}
    for row in rows:
        for place, recipe in enumerate(row["pictures"], start=1):
            if repr(recipe) not in files:
                prompt = row["id"].removeprefix(f"{row['item']}/").replace("/", ".")
                files[repr(recipe)] = f"{number:03}.{prompt}.{place}.png"
                render(recipe, images.read).save(folder / files[repr(recipe)], "PNG")
    return files


def _prompt(row: Row, files: Mapping[str, str]) -> str:
    pictures = ""
    for recipe in row["pictures"]:
        steps = (f"{step['operation']} {step['severity'] or ''}".strip() for step in recipe["steps"])
        done = escape(", ".join(steps) or "as it is")
        pictures += f'<p><img src="{escape(files[repr(recipe)])}" alt="{done}"><br>{done}'
    said = [row["system"], *(text for turn in row["turns"] for text in (turn["question"], turn["answer"]))]
    words = "".join(f"<pre>{escape(text)}</pre>" for text in [*said, row["text"], row["response"]] if text)
    correct = "; ".join(row["options"][place] for place in row["answers"]) or "none of its options"
    return f"<p><b>{escape(row['id'])}</b>{pictures}{words}<p>Correct ({row['effect']}): {escape(correct)}\n"
