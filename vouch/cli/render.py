"""Write the pictures of a variation, to look at: of the first items that it applies to, each picture as a
model would get it, beside those of `original`, as PNG files and a page with the words and the correct
options. The variation need not be one of params.yaml. The dataset's items, images and rewrites must be
there (`dvc repro rewrite@DATASET`)."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from vouch.cli.layout import plain
from vouch.cli.render_page import MARK, Shown, page
from vouch.datasets.cleaning.config import DatasetEntry
from vouch.images.pictures import render
from vouch.params.check import check_project
from vouch.pipeline.errors import UserError, did_you_mean
from vouch.pipeline.files import replacing_folder
from vouch.pipeline.intact import intact
from vouch.prompts.build.accepted_rewrites import Rewrites
from vouch.prompts.build.combination import load_variation
from vouch.prompts.build.exchange import Exchanges
from vouch.prompts.build.exchange_decisions import decisions_path, read_decisions
from vouch.prompts.build.items import Making, read_items
from vouch.prompts.build.rows import Before, Prompts
from vouch.prompts.build.template import read_template
from vouch.tables.decisions import are_there
from vouch.tables.images import ImageStore, images_path
from vouch.tables.items import items_path
from vouch.tables.prompts import ORIGINAL
from vouch.tables.rewrites import REWRITES, rewrites_path

FOLDER = Path("renders")
Row = Mapping[str, Any]


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `vouch render`."""
    parser.add_argument("dataset", help="name of the dataset, as in params.yaml")
    parser.add_argument("variation", help="name of a variation, such as vr_b_5 or option_order+jpeg")
    parser.add_argument("--items", type=int, default=12, metavar="N", help="how many items (default: 12)")
    parser.add_argument(
        "--into",
        type=lambda name: Path(name).absolute(),
        metavar="FOLDER",
        help="where to write (default: renders/DATASET/VARIATION)",
    )


def run(options: argparse.Namespace) -> int:
    """Renders."""
    name, variation = options.dataset, options.variation
    datasets = check_project().datasets
    if name not in datasets:
        raise UserError(f"params.yaml: no dataset {name}; {did_you_mean(name, list(datasets))}")
    if options.items < 1:
        raise UserError(f"--items: give a number of items from 1, not {options.items}")
    folder = options.into or FOLDER / name / variation
    if folder.exists() and not (folder / MARK).is_file() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"{plain(folder)}: is there and was not made by `vouch render`; name another folder")
    found = prompts(name, datasets[name], variation)
    first = [rows for _, rows in zip(range(options.items), found, strict=False)]
    if not first:
        raise UserError(f"{variation}: no item of {name} gets such a prompt; docs/variations.md says why")
    with replacing_folder(folder) as made:
        images = ImageStore(intact(images_path(name)))
        shown = [write(rows, number, images, made) for number, rows in enumerate(first, start=1)]
        (made / "index.html").write_text(page(name, variation, shown), encoding="utf-8")
        (made / MARK).write_text("made by `vouch render`; written anew each time\n", encoding="utf-8")
    print(f"render: {len(first)} items, {sum(len(one.files) for one in shown)} pictures in {plain(folder)}")
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


def write(rows: Sequence[Row], number: int, images: ImageStore, folder: Path) -> Shown:
    """Writes the pictures of an item's prompts, equal ones once. number: of the item, from 1."""
    files: dict[str, str] = {}
    for row in rows:
        for place, recipe in enumerate(row["pictures"], start=1):
            if repr(recipe) not in files:
                prompt = row["id"].removeprefix(f"{row['item']}/").replace("/", ".")
                files[repr(recipe)] = f"{number:03}.{prompt}.{place}.png"
                render(recipe, images.read).save(folder / files[repr(recipe)], "PNG")
    return Shown(rows, files)
