"""A project whose earlier stages have run: two datasets, three models, texts that mean harm; really scored."""

import hashlib
import io
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from PIL import Image

from vouch.metrics.config import ScoreConfig
from vouch.metrics.join import join
from vouch.metrics.tables import score_block
from vouch.metrics.text.scoring import score_texts
from vouch.metrics.text.texts import text_blocks
from vouch.tables.answered import LETTERS, LIKELIHOOD, TEXT, letters_path, likelihood_path, text_path
from vouch.tables.asked import (
    COMPLEMENT,
    IMAGES,
    ITEMS,
    KEPT,
    PROMPTS,
    images_path,
    items_path,
    prompts_path,
    prompts_schema,
)
from vouch.tables.results import BLIND, OUTCOMES, blind_path, outcomes_path

CHOICE, OPEN = "shapes", "captions"
MODELS = {"alpha": 2.5, "beta": 1.0, "gamma": 0.3}
"""How much more the right option of a prompt weighs."""
COUNT, OPEN_COUNT = 1100, 30
SOLVED = 5
VARIED = 600
"""Only the first items have variations."""
COLOURS = ("red", "green", "blue", "black")
HARM = (
    "<script>window.harmed = 1</script>",
    "</script><img src=x onerror='window.harmed = 1'>",
    "\"quotes' `ticks` & &amp; ${window.harmed = 1}",
    "\u202eturned\u202c and \u05e9\u05dc\u05d5\u05dd \u2028 line \u2029 paragraph",
    "long " + "x" * 100_000,
)
ODD = {50: "In which café is $\\frac{a^2}{\\sqrt{b}}$ more than \\$5?", 51: "Which of both?"}
"""Questions with an accent and a formula, and with two pictures."""
CONFIG = ScoreConfig(alpha=0.1, calibration=0.5, seed=42, splits=4, bins=15)
OWN = 206
"""An item of which gamma is asked each prompt in other words; its negation then differs for gamma alone."""
BLUR = [{"operation": "blur", "severity": 5, "revision": 1}]


def _picture(number: int) -> bytes:
    image = Image.new("RGB", (48, 32), (number * 37 % 256, number * 91 % 256, 120))
    image.paste((255, 255, 255), (number % 40, 8, number % 40 + 8, 24))
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


def _item(number: int, digest: str, choice: bool) -> dict[str, Any]:
    name = f"{CHOICE if choice else OPEN}-{number:04d}"
    harm = HARM[number] if number < len(HARM) else ""
    question = harm or ODD.get(number, f"Which colour has object {number}?")
    options = [harm or COLOURS[(number + place) % 4] for place in range(1)]
    options += [COLOURS[(number + place) % 4] for place in range(1, 4)]
    return {
        "id": name,
        "group": f"g{number // 2}",
        "question": question,
        "options": options if choice else [],
        "answers": [number % 4] if choice else [],
        "references": [] if choice else [harm or "red"],
        "images": [digest],
        "category": "hard" if number % 3 == 0 else "easy",
        "kind": "choice" if choice else "text",
        "source_id": f"row {number}",
        "flags": ["shared_image"] if number % 10 == 0 else [],
    }


def _prompts(item: dict[str, Any], number: int) -> list[dict[str, Any]]:
    choice = item["kind"] == "choice"
    order = list(range(len(item["options"])))
    shown = {"original": order, "option_order": order[::-1], "vr_b_5": order, "ls_n": order}
    rows = []
    for variation, places in shown.items():
        if (variation == "ls_n" and number % 2) or (not choice and variation in ("option_order", "ls_n")):
            continue
        if variation != "original" and number >= VARIED:
            continue
        right = [at for at, place in enumerate(places) if (place in item["answers"]) != (variation == "ls_n")]
        words = "".join(
            f"\n{label}. {item['options'][place]}" for label, place in zip("ABCD", places, strict=False)
        )
        rows.append(
            {
                "id": f"{item['id']}/{variation}",
                "item": item["id"],
                "variation": variation,
                "family": "",
                "effect": COMPLEMENT if variation == "ls_n" else KEPT,
                "template": "plain",
                "turns": [],
                "text": item["question"] + words,
                "earlier": [],
                "options": [item["options"][place] for place in places],
                "order": places,
                "labels": list("ABCD")[: len(places)],
                "answers": right if choice else [],
                "images": [{"images": item["images"], "steps": BLUR if variation == "vr_b_5" else []}]
                * (2 if number == 51 else 1),
                "outputs": ["letters"] if choice else ["text"],
                "model_prompts": [_own(variation)] if choice and number == OWN else [],
            }
        )
    return rows


def _own(variation: str) -> dict[str, Any]:
    own = {"models": ["gamma"], "template": "plain_kind", "system": "Be kind.", "turns": [], "response": None}
    return own | {"text": f"Please: {variation}"}


def _answer(model: str, prompt: dict[str, Any]) -> dict[str, Any]:
    dice = random.Random(f"{model} {prompt['id']}")
    common = {"prompt": prompt["id"], "pixels": "", "engine": "made/1", "device": "cpu", "flags": []}
    if prompt["id"] == f"{CHOICE}-0007/vr_b_5":
        return common | {"problem": "picture is <b>damaged</b>"}
    if prompt["outputs"] == ["letters"]:
        logits = [dice.gauss(0, 1) + MODELS[model] * (at in prompt["answers"]) for at in range(4)]
        return common | {"logits": logits}
    number = int(prompt["item"][-4:])
    said = HARM[number] if number < len(HARM) else dice.choice(("red", "blue"))
    return common | {"temperature": 0, "sample": 0, "text": said, "logprobs": [-0.5], "entropies": [0.1]}


def write_project() -> list[Path]:
    """Writes every table that `browse` reads under the working directory and returns their paths."""
    paths = []
    for dataset, count in ((CHOICE, COUNT), (OPEN, OPEN_COUNT)):
        pictures = [_picture(number) for number in range(40)]
        digests = [hashlib.sha256(data).hexdigest() for data in pictures]
        items = [_item(number, digests[number % 40], dataset == CHOICE) for number in range(count)]
        ITEMS.write(items_path(dataset), items)
        with PROMPTS.writer(prompts_path(dataset), prompts_schema(False, model_prompts=True)) as table:
            for at, item in enumerate(items):
                for row in _prompts(item, at):
                    table.row(row)
        size = {"format": "PNG", "mode": "RGB", "width": 48, "height": 32}
        rows = [{"digest": name, "bytes": data} | size for name, data in zip(digests, pictures, strict=True)]
        IMAGES.write(images_path(dataset), rows)
        paths += [items_path(dataset), prompts_path(dataset), images_path(dataset)]
    scored = pa.concat_tables(table for model in MODELS for table in _scored(model))
    for name in (CHOICE, OPEN):
        OUTCOMES.write(outcomes_path(name), scored.filter(pc.equal(scored["dataset"], name)))
        BLIND.write(blind_path(name), _blind(name))
        paths += [outcomes_path(name), blind_path(name)]
        paths += [path for model in MODELS for path in _responses(model, name)]
    return sorted(paths)


def _blind(dataset: str) -> list[dict[str, Any]]:
    """Rows of BLIND: a language model answers the first SOLVED questions correctly."""
    row = {"output": "letters", "models": 1, "chance": 0.25}
    return [
        row | {"item": f"{CHOICE}-{n:04d}", "correct": int(n < SOLVED), "solved": n < SOLVED}
        for n in range(COUNT if dataset == CHOICE else 0)
    ]


def _responses(model: str, dataset: str) -> list[Path]:
    return [letters_path(model, dataset), likelihood_path(model, dataset), text_path(model, dataset)]


def _scored(model: str) -> list[pa.Table]:
    """Answers of a model, written, and what scoring makes of them."""
    found = []
    for dataset in sorted((CHOICE, OPEN)):
        prompts, items = PROMPTS.read(prompts_path(dataset)), ITEMS.read(items_path(dataset))
        answers = [_answer(model, prompt) for prompt in prompts.to_pylist()]
        letters, _, text = _responses(model, dataset)
        LETTERS.write(letters, answers if dataset == CHOICE else [])
        LIKELIHOOD.write(likelihood_path(model, dataset), [])
        TEXT.write(text, answers if dataset == OPEN else [])
        if dataset == CHOICE:
            for block in join(LETTERS.read(letters), prompts, items, str(letters)):
                found.append(score_block(model, dataset, block, CONFIG)[1])
        else:
            for texts in text_blocks(TEXT.read(text), prompts, items, str(text), False):
                found.append(score_texts(model, dataset, texts, CONFIG)[1])
    return found
