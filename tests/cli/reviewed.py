"""What the tests of `vouch review` share: stages, CSV files as a spreadsheet has them, and images to compare."""

import csv
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from PIL import Image

from stages.prepare import main as prepare
from tests.cli.conftest import set_params
from vouch.pipeline.dag import read_dag
from vouch.pipeline.run import Run
from vouch.tables.asked import REWRITES, rewrites_path

QUESTION = '=Which is <b>lighter</b>, "left" or right?'


def load(path: Path) -> list[dict[str, str]]:
    """Rows of a CSV file by column."""
    with path.open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


def save(path: Path, rows: list[dict[str, str]]) -> None:
    """Writes rows, all of which have the columns of the first."""
    with path.open("w", encoding="utf-8", newline="") as handle:
        writer = csv.DictWriter(handle, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)


def stage(body: Any, name: str, dataset: str) -> None:
    """Runs a stage of one dataset."""
    dag = read_dag()
    body(Run(dag, dag[f"{name}@{dataset}"], [dataset]))


def prepare_greys(
    shades: Mapping[str, tuple[int, int]], size: tuple[int, int], variations: list[str], **entry: str
) -> None:
    """The dataset `greys`, prepared. shades: of the left and the right image, by item; the lighter wins."""
    entry = {"loader": "jsonl", "source": "greys", "template": "kostumov", "variant": "joined", **entry}
    set_params(datasets={"greys": entry}, variations=variations)
    Path("greys").mkdir()
    lines = []
    for name, pair in shades.items():
        for shade in pair:
            Image.new("L", size, shade).save(f"greys/{shade}.png")
        line = {"id": name, "question": QUESTION, "options": ["Left", "Right"]}
        line |= {"answer": pair.index(max(pair)), "images": [f"{shade}.png" for shade in pair]}
        lines.append(json.dumps(line))
    Path("greys/items.jsonl").write_text("\n".join(lines), "utf-8")
    stage(prepare, "prepare", "greys")
    REWRITES.write(rewrites_path("greys"), [])
