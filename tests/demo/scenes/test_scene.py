"""Scenes: the same from the same seed, in disjoint spaces, and drawn where they say."""

import io
import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

from PIL import Image

from vouch.demo.scenes.scene import (
    CELL,
    COLOURS,
    FEWEST,
    MOST,
    SHAPES,
    SIZE,
    Scene,
    Thing,
    draw_scene,
    png,
    render,
)

ROOT = Path(__file__).parents[3]
SPACES = ("train", "dev", "test")
DIGEST = """
import hashlib, random
from vouch.demo.scenes.scene import draw_scene, png, render
rng = random.Random("same")
print(hashlib.sha256(b"".join(png(render(draw_scene(rng, "train"))) for _ in range(20))).hexdigest())
"""


def layout(scene: Scene) -> frozenset[tuple[int, int, str]]:
    return frozenset((thing.column, thing.row, thing.name) for thing in scene.things)


def test_same_seed_same_bytes_in_every_process() -> None:
    def run(hash_seed: str) -> str:
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-c", DIGEST]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

    assert len(run("1")) == 65 and run("1") == run("2")


def test_draws_are_those_of_the_first_release() -> None:
    scene = draw_scene(random.Random("golden"), "test")
    drawn = [
        (t.column, t.row, t.name, round(t.x, 3), round(t.y, 3), round(t.radius, 3)) for t in scene.things
    ]
    assert drawn == [
        (1, 3, "yellow circle", 23.338, 56.748, 4.103),
        (3, 3, "green star", 56.845, 57.016, 4.004),
    ]


def test_spaces_share_no_layout_and_keep_their_shares() -> None:
    rng = random.Random(0)
    drawn = {space: {layout(draw_scene(rng, space)) for _ in range(300)} for space in SPACES}
    assert not drawn["train"] & drawn["dev"] | drawn["train"] & drawn["test"] | drawn["dev"] & drawn["test"]
    train = [draw_scene(rng, "train") for _ in range(50)]
    # The space hangs on the layout alone: another background is no way from one space into another.
    assert {Scene(scene.things, (255, 255, 255)).space for scene in train} == {"train"}


def test_things_stand_in_cells_of_their_own() -> None:
    rng = random.Random(1)
    scenes = [draw_scene(rng, "train") for _ in range(300)]
    for scene in scenes:
        assert FEWEST <= len(scene.things) <= MOST
        cells = [(thing.column, thing.row) for thing in scene.things]
        assert cells == sorted(set(cells), key=lambda cell: cell[::-1])
        assert all((int(t.x // CELL), int(t.y // CELL)) == (t.column, t.row) for t in scene.things)
    assert len(Counter(thing.name for scene in scenes for thing in scene.things)) == len(SHAPES) * len(
        COLOURS
    )


def test_pixels_show_the_scene() -> None:
    rng = random.Random(2)
    for _ in range(50):
        scene = draw_scene(rng, "train")
        image = render(scene)
        assert (image.size, image.mode) == ((SIZE, SIZE), "RGB")
        taken = {(thing.column, thing.row) for thing in scene.things}
        for thing in scene.things:
            assert image.getpixel((int(thing.x), int(thing.y))) == COLOURS[thing.colour]
        for column, row in {(c, r) for c in range(4) for r in range(4)} - taken:
            centre = (column * CELL + CELL // 2, row * CELL + CELL // 2)
            assert image.getpixel(centre) == scene.background


def test_shapes_differ_in_pixels() -> None:
    """Of one size, a star covers least and a square most."""

    def covered(shape: str) -> int:
        image = render(Scene((Thing(shape, "black", 1, 1, 24.0, 24.0, 6.0),), (255, 255, 255)))
        return sum(value < 128 for value in image.convert("L").tobytes())

    areas = {shape: covered(shape) for shape in SHAPES}
    assert len(set(areas.values())) == len(SHAPES)
    assert abs(areas["circle"] - 3.1416 * 36) < 10 and abs(areas["square"] - 11.5**2) < 15


def test_png_keeps_the_pixels() -> None:
    image = render(draw_scene(random.Random(3), "dev"))
    again = Image.open(io.BytesIO(png(image)))
    assert again.format == "PNG" and again.tobytes() == image.tobytes() and not again.info
