"""Pairs of pictures through `prepare` and `vary` to pixels, which say themselves what is right."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from stages.prepare import main as prepare
from stages.vary import main as vary
from tests.prompts.conftest import Project
from tests.prompts.rows import run_stage
from vouch.demo.scenes.scene import COLOURS
from vouch.images.opening import render
from vouch.tables.asked import (
    IMAGES,
    ITEMS,
    PROMPTS,
    REWRITES,
    images_path,
    items_path,
    prompts_path,
    rewrites_path,
)

CHOICE = ("original", "option_order", "circular", "vr_b_5", "vr_l", "vr_r", "jpeg_1", "blank", "text_only")
PAIR = ("vs_s", "vs_e", "option_order+vs_s", "circular+vs_e", "ls_n+vs_s", "ls_n+vr_l")
TALK = ("dialogue", "dialogue_gold", "dialogue+vr_b")

Rows = list[dict[str, Any]]


def made(variations: Sequence[str]) -> Rows:
    """The prompts of 40 pairs, whose questions are negated as well."""
    entry = {
        "loader": "pairs",
        "source": "vouch/demo/scenes",
        "template": "talk",
        "settings": {"seed": 3, "items": 40},
    }
    run_stage(prepare, "prepare", "toy", {"datasets.toy": entry})
    questions = dict.fromkeys(row["question"] for row in ITEMS.read(items_path("toy")).to_pylist())
    other = {"kind": "ls_n", "status": "accepted"}
    REWRITES.write(
        rewrites_path("toy"), [{"original": text, "rewrite": f"not: {text}"} | other for text in questions]
    )
    run_stage(vary, "vary", "toy", {"datasets.toy": {"template": "talk"}, "variations": list(variations)})
    rows: Rows = PROMPTS.read(prompts_path("toy")).to_pylist()
    return rows


@pytest.fixture(autouse=True)
def talking(project: Project) -> None:
    """A style that asks for texts, and shows two pictures as one."""
    text = (project.templates / "plain.yaml").read_text(encoding="utf-8").replace("first", "merged")
    more = "outputs: [letters, text]\nmax_tokens: 5\n"
    (project.templates / "talk.yaml").write_text(text + more, encoding="utf-8")


def seen(row: dict[str, Any]) -> list[np.ndarray]:
    """Pixels of a prompt's pictures."""
    table = IMAGES.read(images_path("toy"), ["digest", "bytes"]).to_pylist()
    stored = {image["digest"]: image["bytes"] for image in table}
    return [np.asarray(render(recipe, stored.__getitem__)) for recipe in row["pictures"]]


def of(rows: Rows, variation: str) -> Rows:
    return [row for row in rows if row["variation"] == variation]


def covered(pixels: np.ndarray, colour: str) -> int:
    """Number of 16-pixel cells of a half that hold at least two pixels of exactly this colour."""
    hits = (pixels == COLOURS[colour]).all(axis=2)
    return int((hits.reshape(4, 16, 2, 16).sum(axis=(1, 3)) >= 2).sum())


def test_pairs_that_are_swapped_or_exchanged_have_the_other_answer_by_their_pixels() -> None:
    rows = made((*CHOICE, *PAIR, *TALK))
    items = {row["id"]: row for row in ITEMS.read(items_path("toy")).to_pylist()}
    assert not any(of(rows, name) for name in TALK)
    assert len(of(rows, "vs_s")) == len(of(rows, "vr_r")) == 40 > len(of(rows, "vs_e")) > 10
    assert len(of(rows, "circular+vs_e")) == 2 * len(of(rows, "vs_e"))
    effects = {name: {row["effect"] for row in of(rows, name)} for name in PAIR}
    assert effects.pop("ls_n+vs_s") == {"kept"} and effects.pop("ls_n+vr_l") == {"complement"}
    assert all(effect == {"swapped"} for effect in effects.values())
    assert {row["family"] for row in of(rows, "ls_n+vs_s")} == {"LS+VS"}
    checked = 0
    # brightened colours are no longer those that are counted
    for row in (row for name in ("original", *PAIR) if name != "ls_n+vr_l" for row in of(rows, name)):
        item = items[row["item"]]
        colour = next((word for word in item["question"].rstrip("?.").split() if word in COLOURS), None)
        if colour is None or "object" not in item["question"]:
            continue
        (whole,) = seen(row)
        assert whole.shape == (64, 74, 3)
        left, right = (covered(half, colour) for half in (whole[:, :32], whole[:, 42:]))
        more = left > right if item["category"] in ("more", "has") else left < right
        (answer,) = row["answers"]
        negated = row["variation"].startswith("ls_n")
        assert row["options"][answer] == ("Left" if more != negated else "Right"), row["id"]
        assert row["text"].startswith("not: ") == negated
        assert left != right
        checked += row["variation"] in PAIR
    assert checked > 20
