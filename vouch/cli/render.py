"""`vouch review render`: the images of a variation as files, with a page for a person to look at."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from pathlib import Path

from vouch.cli.command import argument, command, path_argument
from vouch.cli.leaderboard import Row, long_name
from vouch.cli.printing import plain
from vouch.cli.review import project_with
from vouch.datasets.config import DatasetEntry
from vouch.images.opening import render
from vouch.pipeline.errors import UserError
from vouch.pipeline.files import replacing_folder
from vouch.pipeline.records import intact
from vouch.prompts.build import ItemBuilder, Prompts, Rewrites, read_items
from vouch.prompts.combination import load_variation
from vouch.prompts.exchange import Exchanges, decisions_path, read_decisions
from vouch.prompts.template import read_template
from vouch.tables.asked import ORIGINAL, REWRITES, ImageStore, images_path, items_path, rewrites_path

FOLDER = Path("renders")
_PAGE = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>'
    "body{{font:16px sans-serif;margin:2em}}img{{max-width:320px;border:1px solid #ccc}}"
    "td{{vertical-align:top;padding:.5em;max-width:45em}}pre{{white-space:pre-wrap;margin:.3em 0}}"
    "</style><h1>{title}</h1>\n{body}"
)


@command(
    "review render",
    "write the images of a variation as files, to look at",
    argument("dataset", names="datasets", help="a dataset of params.yaml"),
    argument(
        "variation", names="variations", help="code of a variation, such as vr_b_5 or option_order+jpeg"
    ),
    argument("--items", type=int, default=12, metavar="N", help="how many items (default: 12)"),
    path_argument("--into", metavar="FOLDER", help="default: renders/DATASET/VARIATION"),
)
def run(options: argparse.Namespace) -> int:
    """Write the images of a variation as files, to look at.

    For the first items to which the variation applies, each image, as a model would get it, becomes a PNG
    file, beside those of `original`, with a page that shows the prompts and the correct options. The
    variation need not be in params.yaml. The dataset's items, images and rewrites must exist (`dvc repro
    rewrite@DATASET`).

    Examples:
      vouch review render kites vr_b_5
      vouch review render kites option_order+jpeg --items 3 --into seen
    """
    name, variation = options.dataset, options.variation
    project = project_with(name)
    if options.items < 1:
        raise UserError(f"--items: give a number of items from 1, not {options.items}")
    folder = options.into or FOLDER / name / variation
    check_folder(folder, "render")
    by_item = prompts(name, project.datasets[name], variation)
    first = [rows for _, rows in zip(range(options.items), by_item, strict=False)]
    if not first:
        raise UserError(f"{variation}: no item of {name} gets such a prompt; docs/variations.md says why")
    images, body, written = ImageStore(intact(images_path(name))), "", 0
    with folder_of_pages(folder, "render") as made:
        for number, rows in enumerate(first, start=1):
            files = write_images(rows, number, images, made)
            cells = "".join(f"<td>{_prompt_cell(row, files)}" for row in rows)
            body += f"<h2>{escape(rows[0]['item'])}</h2>\n<table><tr>{cells}</table>\n"
            written += len(files)
        write_page(made / "index.html", f"{name}: {long_name(variation)}", body)
    print(f"render: {len(first)} items, {written} images in {plain(folder)}")
    return 0


def check_folder(folder: Path, command: str) -> None:
    """Raises UserError if the folder holds files that the command did not make."""
    is_empty = folder.is_dir() and not any(folder.iterdir())
    if folder.exists() and not is_empty and not _signature(folder, command).is_file():
        raise UserError(
            f"{folder}: exists, and `vouch review {command}` did not make it; name another folder"
        )


@contextmanager
def folder_of_pages(folder: Path, command: str) -> Iterator[Path]:
    """Yields a folder to fill, which then replaces one that the command made earlier. Raises UserError."""
    check_folder(folder, command)
    with replacing_folder(folder) as made:
        yield made
        text = f"made by `vouch review {command}`; written anew each time\n"
        _signature(made, command).write_text(text, "utf-8")


def _signature(folder: Path, command: str) -> Path:
    """The file that says which command made a folder."""
    return folder / f"{command}.txt"


def write_page(file: Path, title: str, body: str) -> None:
    """Writes a page. title: text; body: HTML."""
    file.write_text(_PAGE.format(title=escape(title), body=body), encoding="utf-8")


def prompts(name: str, entry: DatasetEntry, variation: str) -> Iterator[Sequence[Row]]:
    """For each item to which the variation applies: its original prompt, then those of the variation."""
    loaded = [load_variation(each) for each in dict.fromkeys((ORIGINAL, variation))]
    template = read_template(entry.template, entry.variant)
    all_prompts = Prompts(loaded, template, entry.template, None)
    path = decisions_path(name)
    builder = ItemBuilder(
        Rewrites(REWRITES.read(intact(rewrites_path(name))).to_pylist()),
        Exchanges(read_decisions(path)),
        lambda _: True,
    )
    source = intact(items_path(name))
    for _, rows in all_prompts.of_items(read_items(source, builder), source):
        if rows and rows[-1]["variation"] == variation:
            yield rows


def write_images(rows: Sequence[Row], number: int, images: ImageStore, folder: Path) -> dict[str, str]:
    """Writes the images of an item's prompts; returns recipe (`repr`) -> file name. number: the item's."""
    files: dict[str, str] = {}
    for row in rows:
        for position, recipe in enumerate(row["images"], start=1):
            if repr(recipe) not in files:
                prompt = row["id"].removeprefix(f"{row['item']}/").replace("/", ".")
                files[repr(recipe)] = f"{number:03}.{prompt}.{position}.png"
                render(recipe, images.read).save(folder / files[repr(recipe)], "PNG")
    return files


def _prompt_cell(row: Row, files: Mapping[str, str]) -> str:
    images = ""
    for recipe in row["images"]:
        steps = (f"{step['operation']} {step['severity'] or ''}".strip() for step in recipe["steps"])
        operations = escape(", ".join(steps) or "as it is")
        images += f'<p><img src="{escape(files[repr(recipe)])}" alt="{operations}"><br>{operations}'
    context = [row["system"], *(text for turn in row["turns"] for text in (turn["question"], turn["answer"]))]
    words = "".join(f"<pre>{escape(text)}</pre>" for text in [*context, row["text"], row["response"]] if text)
    correct = "; ".join(row["options"][index] for index in row["answers"]) or "none of its options"
    return f"<p><b>{escape(row['id'])}</b>{images}{words}<p>Correct ({row['effect']}): {escape(correct)}\n"
