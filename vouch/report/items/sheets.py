"""Thumbnails, 64 to a sheet: fewer files and fewer bytes than separate images."""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image

from vouch.images.opening import Undecodable, render

ACROSS, DOWN = 8, 8
CELL = 16  # cells are multiples of the encoder's blocks, so that neighbours do not bleed into each other
QUALITY = 60
METHOD = 4  # of WebP: how long the encoder searches

Tile = list[int]
"""Sheet, its width and height, and the position on it: left, top, width, height; pixels."""


def key(recipe: Mapping[str, Any]) -> str:
    """A unique name for a recipe."""
    steps = (f"{s['operation']} {s['severity']} {s['revision']}" for s in recipe["steps"])
    return "\n".join([*recipe["images"], *steps])


class Sheets:
    """Writes thumbnails of recipes to FOLDER/sheet-NUMBER.webp until the budget is used up.

    read: returns the bytes of an image by digest. tiles: where each recipe's thumbnail is, by `key`.
    """

    def __init__(self, folder: Path, read: Callable[[str], bytes], thumbnail: int, budget: int) -> None:
        self._folder, self._read = folder, read
        self._thumbnail, self._left = thumbnail, budget
        self.tiles: dict[str, Tile] = {}
        self.sheets, self.bytes, self.left_out = 0, 0, 0
        self._same: dict[bytes, str] = {}
        self._twins: list[tuple[str, str]] = []
        self._waiting: dict[str, Image.Image] = {}
        self._full = False

    def add(self, recipes: Iterable[Mapping[str, Any]]) -> None:
        """Adds images, each distinct one once. Raises UserError for an invalid recipe."""
        known = {*self.tiles, *self._waiting, *(twin for twin, _ in self._twins)}
        for recipe in recipes:
            name = key(recipe)
            if name in known:
                continue
            known.add(name)
            if self._full:
                self.left_out += 1
                continue
            self._one(name, recipe)
            if len(self._waiting) == ACROSS * DOWN:
                self._write()
        self._write()
        for twin, name in self._twins:
            if name in self.tiles:
                self.tiles[twin] = self.tiles[name]

    def _one(self, name: str, recipe: Mapping[str, Any]) -> None:
        try:
            image = render(recipe, self._read)
        except Undecodable:
            return
        image.thumbnail((self._thumbnail, self._thumbnail), Image.Resampling.LANCZOS)
        seen = hashlib.sha256(f"{image.size}".encode() + image.tobytes()).digest()
        first = self._same.setdefault(seen, name)
        if first == name:
            self._waiting[name] = image
        else:
            self._twins.append((name, first))

    def _write(self) -> None:
        """Writes a sheet of the waiting images; if it would exceed the budget, this and all later ones are
        left out."""
        waiting, self._waiting = self._waiting, {}
        if not waiting:
            return
        cell = -(-max(max(image.size) for image in waiting.values()) // CELL) * CELL
        across, down = min(ACROSS, len(waiting)), -(-len(waiting) // ACROSS)
        sheet = Image.new("RGB", (across * cell, down * cell), "white")
        tiles: dict[str, Tile] = {}
        for number, (name, image) in enumerate(waiting.items()):
            left, top = number % ACROSS * cell, number // ACROSS * cell
            sheet.paste(image, (left, top))
            tiles[name] = [self.sheets, *sheet.size, left, top, *image.size]
        file = BytesIO()
        sheet.save(file, "WEBP", quality=QUALITY, method=METHOD)
        if len(file.getvalue()) > self._left:
            self._full, self.left_out = True, self.left_out + len(waiting)
            return
        self._left -= len(file.getvalue())
        self.bytes += len(file.getvalue())
        (self._folder / f"sheet-{self.sheets:04d}.webp").write_bytes(file.getvalue())
        self.tiles |= tiles
        self.sheets += 1
