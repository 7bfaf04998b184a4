"""A small project whose stages score and compare have really run, on answers made here."""

import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from stages.compare import main as compare
from stages.score import main as score
from vouch.pipeline.dag import read_dag
from vouch.pipeline.run import Run
from vouch.tables.answered import (
    LETTERS,
    LIKELIHOOD,
    TEXT,
    Pin,
    Source,
    letters_path,
    likelihood_path,
    pin_path,
    text_path,
    write_pin,
)
from vouch.tables.asked import COMPLEMENT, IMAGES, ITEMS, KEPT, PROMPTS, images_path, items_path, prompts_path
from vouch.tables.embedded import EMBEDDED, EMBEDDINGS, TEXT_SIMILARITY, TEXT_SIMILARITY_PATH, embeddings_path
from vouch.tables.results import OUTCOMES, PUBLISHED, outcomes_path, published_path

ESCAPE = "\x1b[31mred\x1b]0;title\x07"
HOSTILE = f"q\n{ESCAPE}\u202eevil"
"""An id with a line end, escape sequences and a mark that turns the direction of writing."""
COUNT = 64
LABELS = ["A", "B", "C"]
VARIATIONS = (("original", KEPT), ("ls_n", COMPLEMENT), ("vr_b", KEPT))
SKILL = {"tiny_a": 0.9, "tiny_b": 0.4}
DIGEST = "0" * 64


def names() -> list[str]:
    """Ids of the items of both datasets; the last is hostile."""
    return [*(f"kite-{number:03d}" for number in range(COUNT - 1)), HOSTILE]


def build(
    folder: Path,
    mass: Mapping[str, Sequence[float | None]] | None = None,
    unread: Mapping[str, int] | None = None,
    blind: Collection[str] = (),
    images: bool = True,
    text_only: int = 0,
) -> None:
    """Writes tables and runs the stages; the present folder is the project.

    mass: of a model the letter masses of its answers, in turn. unread: of how many items its texts say nothing.
    blind: models that take no images. images: whether the items have some.
    text_only: how many items, the first ones, have none.
    """
    picture = folder / "p.png"
    Image.new("RGB", (8, 6), "red").save(picture)
    held = {"digest": DIGEST, "bytes": picture.read_bytes(), "format": "PNG", "mode": "RGB"}
    for dataset in ("left", "right"):
        ITEMS.write(
            items_path(dataset),
            [_item(dataset, index, images and index >= text_only) for index in range(COUNT)],
        )
        PROMPTS.write(prompts_path(dataset), list(_prompts(dataset, text_only)))
        PUBLISHED.write(published_path(dataset), [])
        for kind in EMBEDDED:
            EMBEDDINGS.write(embeddings_path(dataset, kind), [])
        IMAGES.write(images_path(dataset), [held | {"width": 8, "height": 6}])
    TEXT_SIMILARITY.write(TEXT_SIMILARITY_PATH, [])
    for model, skill in SKILL.items():
        source = Source(kind="folder", path=f"data/trained/{model}")
        write_pin(pin_path(model), _pin(model, source, model not in blind))
        _answer(model, skill, (mass or {}).get(model, [None]), (unread or {}).get(model, 0))
    for dataset in ("left", "right"):
        stage(score, "score", dataset)
    stage(compare, "compare")


def _pin(model: str, source: Source, sees: bool) -> Pin:
    return Pin(model=model, engine="transformers", source=source, files={}, sees=sees)


def stage(body: Any, *words: str) -> None:
    """Runs one stage."""
    dag = read_dag()
    body(Run(dag, dag.by_command(" ".join(["python -m", f"stages.{words[0]}", *words[1:]])), list(words[1:])))


def _item(dataset: str, index: int, images: bool) -> dict[str, Any]:
    return {
        "id": names()[index],
        "group": f"g{index // 2:03d}",
        "question": f"Which {ESCAPE}\nkite?",
        "hint": None,
        "options": [f"red {ESCAPE}", "green", "blue"],
        "answers": [index % 3],
        "images": [DIGEST] if images else [],
        "category": f"sky {ESCAPE}" if index % 2 else "ground",
        "kind": "choice",
        "source_id": f"{dataset}/{index}",
        **{key: [] for key in ("flags", "references", "turns", "exchange", "phrasings")},
    }


def _prompts(dataset: str, text_only: int) -> Iterator[dict[str, Any]]:
    for place, name in enumerate(names()):
        for variation, effect in VARIATIONS:
            right = place % 3
            yield {
                "id": f"{name}/{variation}",
                "item": name,
                "variation": variation,
                "family": "",
                "effect": effect,
                "template": "plain",
                "text": "?",
                "turns": [],
                "earlier": [],
                "options": [f"red {ESCAPE}", "green", "blue"],
                "order": [0, 1, 2],
                "labels": LABELS,
                "answers": [k for k in range(3) if (k == right) != (effect == COMPLEMENT)],
                "images": [{"images": [DIGEST] if place >= text_only else [], "steps": []}],
                "outputs": ["letters"] if dataset == "left" else ["text"],
            }


def _answer(model: str, skill: float, mass: Sequence[float | None], unread: int) -> None:
    chance = random.Random(model)
    letters, texts = [], []
    for place, name in enumerate(names()):
        for variation, effect in VARIATIONS:
            said = place % 3 if chance.random() < skill else (place + 1) % 3
            said = (said + 1) % 3 if effect == COMPLEMENT and chance.random() < 0.5 else said
            logits = [2.0 * (k == said) + chance.random() for k in range(3)]
            prompt = f"{name}/{variation}"
            letters.append({"prompt": prompt, "logits": logits, "letter_mass": mass[place % len(mass)]})
            words = f"{ESCAPE} ({LABELS[said]}) because\n" + "long " * 400 if place >= unread else "Hmm."
            texts.append(
                {"prompt": prompt, "temperature": 0.0, "sample": 0, "text": words}
                | {"logprobs": [-0.5, -0.1], "entropies": [0.1, 0.1], "eos": 1}
            )
    for dataset, own in (("left", (letters, [])), ("right", ([], texts))):
        LETTERS.write(letters_path(model, dataset), own[0])
        LIKELIHOOD.write(likelihood_path(model, dataset), [])
        TEXT.write(text_path(model, dataset), own[1])


def outcomes(model: str, dataset: str, variation: str = "original") -> dict[str, dict[str, Any]]:
    """Rows of OUTCOMES by item."""
    return {
        row["item"]: row
        for row in OUTCOMES.read(outcomes_path(dataset)).to_pylist()
        if (row["model"], row["variation"]) == (model, variation)
    }
