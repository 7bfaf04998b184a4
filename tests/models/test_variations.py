"""Variations as a model gets to see them, against one that is asked the plain way."""

import io
from hashlib import sha256
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.models.engines import Plain
from tests.models.project import Project, image
from tests.prompts.rows import item_rows
from vouch.prompts.combination import load_variation
from vouch.prompts.draft import Item
from vouch.prompts.template import Template
from vouch.tables.asked import LETTERS, LIKELIHOOD, TEXT

STYLE = Template(
    body="{hint}{question}\n{options}",
    hint="{hint}\n",
    option="{mark} {text}",
    pictures="joined",
    outputs=(LETTERS, LIKELIHOOD, TEXT),
)
IMAGES = [image(seed, (24, 24)) for seed in range(3)]
LEFT, RIGHT, OTHER = (sha256(data).hexdigest() for data in IMAGES)
PAIR = Item(
    "q", "g", "which dog", None, ("left", "right"), (0,), (LEFT, RIGHT), "choice", exchange=(None, OTHER)
)


def prompts(template: Template, *items: Item, variations: tuple[str, ...]) -> list[dict[str, Any]]:
    before: dict[str, Any] = {}
    loaded = [load_variation(name) for name in variations]
    return [row for item in items for row in item_rows(item, loaded, template, "own", 3, before)]


def expected(variation: str) -> Image.Image | None:
    """The image of a variation, by arrays."""
    left, right, other = (np.asarray(Image.open(io.BytesIO(data)).convert("RGB")) for data in IMAGES)
    sides = {
        "original": (left, right),
        "circular": (left, right),
        "image_only": (left, right),
        "vs_s": (right, left),
        "vs_e": (left, other),
        "option_order+vr_r": (np.rot90(left, -1), np.rot90(right, -1)),
        "blank+circular": (np.full_like(left, 128),) * 2,
    }
    return Image.fromarray(np.concatenate(sides[variation], axis=1)) if variation in sides else None


def test_a_pair_in_every_variation(project: Project) -> None:
    names = ("original", "circular", "image_only", "vs_s", "vs_e", "option_order+vr_r", "blank+circular")
    rows = prompts(STYLE, PAIR, variations=(*names, "text_only"))
    project.ask(rows, IMAGES)
    asked = project.extract().measured["answers"]
    assert asked == {"known": 0, "asked": 27}, "ten prompts, of which circular/1 is the original once more"
    plain, of = Plain(project.model), {row["id"]: row for row in rows}
    letters, likelihood, text = (project.rows(output) for output in (LETTERS, LIKELIHOOD, TEXT))
    assert len(letters) == len(text) == len(rows) == 10 and len(likelihood) == 20
    for row in letters:
        asked = of[row["prompt"]]
        shown = expected(asked["variation"])
        assert row["problem"] is None and (row["pixels"] == "") == (asked["variation"] == "text_only")
        assert row["logits"] == pytest.approx(plain.letters(asked["text"], shown, "AB"), abs=2e-5), row[
            "prompt"
        ]
    for row in likelihood:
        asked = of[row["prompt"]]
        shown = expected(asked["variation"])
        nll = plain.nll(asked["text"], shown, asked["options"][row["option"]])
        assert row["nll"] == pytest.approx(nll, abs=1e-4)
    for row in text:
        asked = of[row["prompt"]]
        assert row["text"] == plain.text(asked["text"], expected(asked["variation"]), 3)
    said = {row["prompt"]: row["logits"] for row in letters}
    assert said["q/vs_s"] != said["q/original"] == said["q/circular/1"] != said["q/text_only"]
