"""Scenes of coloured shapes: drawn at random from a seed, rendered to 64 x 64 pixels.

A scene has 4 x 4 cells of 16 pixels and at most one thing in a cell. A pair is two half scenes of 4 rows and
2 columns, whose images are compared. Scenes are divided by their layout (which shape of which colour is in
which cell) into three spaces that share no layout: demo models are trained on the first, their training is
stopped by the second, and they are tested on the third.
"""

import hashlib
import io
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from PIL import Image, ImageDraw

SIZE = 64
GRID = 4
CELL = SIZE // GRID
SHAPES = ("circle", "square", "triangle", "star")
COLOURS = {
    "red": (220, 30, 30),
    "green": (30, 160, 50),
    "blue": (40, 70, 220),
    "yellow": (235, 205, 30),
    "purple": (140, 40, 170),
    "black": (25, 25, 25),
}
FEWEST, MOST = 2, 6
HALF = GRID // 2  # columns of a half scene
HALF_FEWEST, HALF_MOST = 1, 5
Space = Literal["train", "dev", "test"]
# Sixteenths of all layouts, by the first digit of the layout's digest.
_SHARES: dict[Space, str] = {"train": "0123456789abcd", "dev": "e", "test": "f"}
_SMALL, _BIG = (3.6, 4.4), (5.6, 6.6)
_JITTER = 1.5
_OVERSAMPLING = 3

Cell = tuple[int, int]
RGB = tuple[int, int, int]


@dataclass(frozen=True)
class Thing:
    """One shape. column, row: 0-based cell, from the top left. x, y, radius: pixels."""

    shape: str
    colour: str
    column: int
    row: int
    x: float
    y: float
    radius: float

    @property
    def name(self) -> str:
        """Colour and shape, such as `red star`."""
        return f"{self.colour} {self.shape}"


@dataclass(frozen=True)
class Scene:
    """What an image shows, in the order of the cells."""

    things: tuple[Thing, ...]
    background: RGB
    columns: int = GRID

    @property
    def space(self) -> Space:
        """The one space that scenes of this layout belong to."""
        layout = ";".join(f"{t.column},{t.row},{t.name}" for t in self.things)
        digit = hashlib.sha256(layout.encode()).hexdigest()[0]
        return next(space for space, digits in _SHARES.items() if digit in digits)


@dataclass(frozen=True)
class Pair:
    """Two half scenes of one space; each can be exchanged for another half scene."""

    left: Scene
    right: Scene


def draw_scene(rng: random.Random, space: Space) -> Scene:
    """A random scene of a space: 2 to 6 things on a light background."""
    return _draw(rng, space, GRID, FEWEST, MOST)


def draw_half(rng: random.Random, space: Space) -> Scene:
    """A random half scene of a space: 1 to 5 things on a light background."""
    return _draw(rng, space, HALF, HALF_FEWEST, HALF_MOST)


def draw_pair(rng: random.Random, space: Space) -> Pair:
    """A random pair of a space. Its halves show different things, so that something can be asked."""
    while True:
        pair = Pair(draw_half(rng, space), draw_half(rng, space))
        left, right = (sorted(thing.name for thing in half.things) for half in (pair.left, pair.right))
        if left != right:
            return pair


def _draw(rng: random.Random, space: Space, columns: int, fewest: int, most: int) -> Scene:
    cells = [(column, row) for row in range(GRID) for column in range(columns)]
    while True:
        things = _scatter(rng, cells, rng.randint(fewest, most))
        background = (rng.randint(225, 255), rng.randint(225, 255), rng.randint(225, 255))
        scene = Scene(things, background, columns)
        if scene.space == space:
            return scene


def _scatter(rng: random.Random, cells: Sequence[Cell], count: int) -> tuple[Thing, ...]:
    chosen = sorted(rng.sample(cells, count), key=lambda cell: (cell[1], cell[0]))
    return tuple(_thing(rng, column, row) for column, row in chosen)


def _thing(rng: random.Random, column: int, row: int) -> Thing:
    return Thing(
        shape=rng.choice(SHAPES),
        colour=rng.choice(tuple(COLOURS)),
        column=column,
        row=row,
        x=(column + 0.5) * CELL + rng.uniform(-_JITTER, _JITTER),
        y=(row + 0.5) * CELL + rng.uniform(-_JITTER, _JITTER),
        radius=rng.uniform(*rng.choice((_SMALL, _BIG))),
    )


def render(scene: Scene) -> Image.Image:
    """The image of a scene: RGB, 64 pixels high, drawn three times as large and then reduced."""
    width = scene.columns * CELL
    canvas = Image.new("RGB", (width * _OVERSAMPLING, SIZE * _OVERSAMPLING), scene.background)
    pen = ImageDraw.Draw(canvas)
    for thing in scene.things:
        _paint(pen, thing)
    return canvas.resize((width, SIZE), Image.Resampling.BILINEAR)


def render_pair(pair: Pair) -> Image.Image:
    """Both images side by side: RGB, 64 x 64."""
    left, right = render(pair.left), render(pair.right)
    whole = Image.new("RGB", (left.width + right.width, left.height))
    whole.paste(left, (0, 0))
    whole.paste(right, (left.width, 0))
    return whole


def png(image: Image.Image) -> bytes:
    """The image as a PNG file: no metadata, the same bytes for the same pixels and libraries."""
    buffer = io.BytesIO()
    image.save(buffer, format="PNG", compress_level=9)
    return buffer.getvalue()


def _paint(pen: ImageDraw.ImageDraw, thing: Thing) -> None:
    x, y, r = (value * _OVERSAMPLING for value in (thing.x, thing.y, thing.radius))
    colour = COLOURS[thing.colour]
    if thing.shape == "circle":
        pen.ellipse((x - r, y - r, x + r, y + r), fill=colour)
    elif thing.shape == "square":
        half = 0.9 * r
        pen.rectangle((x - half, y - half, x + half, y + half), fill=colour)
    elif thing.shape == "triangle":
        pen.polygon(_corners(x, y + 0.2 * r, [1.2 * r] * 3), fill=colour)
    else:
        pen.polygon(_corners(x, y, [1.25 * r, 0.525 * r] * 5), fill=colour)


def _corners(x: float, y: float, radii: Sequence[float]) -> list[tuple[float, float]]:
    """Corners around (x, y) at even angles, clockwise from the top, each at its own radius."""
    turn = 2 * math.pi / len(radii)
    return [(x + r * math.sin(k * turn), y - r * math.cos(k * turn)) for k, r in enumerate(radii)]
