"""Items through the stages prepare, rewrite and vary, in a folder of their own."""

import io
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from stages.prepare import main as prepare
from stages.rewrite import main as rewrite
from stages.vary import main as vary
from tests.prompts.rows import run_stage
from vouch.images.opening import render
from vouch.prompts.rewrites.config import RULES
from vouch.tables.asked import ITEMS, PROMPTS, ImageStore, images_path, items_path, prompts_path

ROOT = Path(__file__).resolve().parents[3]
Row = Mapping[str, Any]


class Made:
    """Prompts of some items of one dataset, and their pictures."""

    def __init__(self, folder: Path, name: str, entry: Mapping[str, Any], variations: Iterable[str]) -> None:
        before = Path.cwd()
        os.chdir(folder)
        try:
            params = {
                f"datasets.{name}": entry,
                "variations": list(variations),
                "rewrite": {"rewriter": RULES},
            }
            for label, main in (("prepare", prepare), ("rewrite", rewrite), ("vary", vary)):
                run_stage(main, label, name, params)
            self._items = {row["id"]: row for row in ITEMS.read(items_path(name)).to_pylist()}
            self._prompts: list[Row] = PROMPTS.read(prompts_path(name)).to_pylist()
            self._images = ImageStore((folder / images_path(name)).absolute())
        finally:
            os.chdir(before)

    def prompts(self, item: str, variation: str) -> list[Row]:
        """Of an item in a variation, in their order."""
        return [row for row in self._prompts if (row["item"], row["variation"]) == (item, variation)]

    def item(self, item: str) -> Row:
        """A row of the items table."""
        return self._items[item]

    def sources(self, item: str) -> list[Image.Image]:
        """The item's images as its source has them, then those to exchange for them; in RGB."""
        row = self._items[item]
        return [
            Image.open(io.BytesIO(self._images.read(digest))).convert("RGB")
            for digest in [*row["images"], *filter(None, row["exchange"] or ())]
        ]

    def images(self, row: Row) -> list[Image.Image]:
        """What a model gets to see."""
        return [render(recipe, self._images.read) for recipe in row["images"]]


def checkout(folder: Path) -> Path:
    """The folder as a place to run stages in."""
    (folder / "stages").symlink_to(ROOT / "stages")
    (folder / "vouch").symlink_to(ROOT / "vouch")
    return folder


def correct(row: Row) -> Sequence[str]:
    """Texts of the correct options, as shown."""
    return tuple(row["options"][place] for place in row["answers"])
