"""What a model says first, and what an answer prefix does to its letters: python -m tools.first_tokens MODEL

Asks a model of params.yaml some prompts of a dataset, each without and with every prefix, and prints the mean
mass on the letters and on `(`, the share of prompts with less than half on the letters, accuracy, and the
first tokens said most often. An entry's `answer_prefix` is chosen by it; nothing is stored.
"""

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from vouch.images import opening
from vouch.models.config import ExtractConfig
from vouch.models.engine import Decoding, Engine, LetterAnswer, Pack, Question, TextAnswer, engine_kind
from vouch.pipeline.yaml12 import load
from vouch.tables.answered import LOW_MASS, pin_path, read_pin
from vouch.tables.asked import (
    LETTERS,
    ORIGINAL,
    PROMPTS,
    TEXT,
    ImageStore,
    images_path,
    prompt_for,
    prompts_path,
)

HEAD = "| prefix | letters | `(` | low mass | accuracy | says first |\n" + "|---" * 6 + "|\n"


@dataclass(frozen=True)
class Found:
    """Of some prompts with one prefix: mass of the letters, of brackets [n], accuracy, first tokens."""

    letters: Sequence[float]
    brackets: Sequence[float]
    right: Sequence[bool]
    first: Counter[str]


def first_tokens(engine: Engine, asked: Sequence[tuple[Question, Sequence[int]]], prefix: str) -> Found:
    """asked: questions with marks, and the places of their right options."""
    begun = [replace(one, response=(one.response or "") + prefix or None) for one, _ in asked]
    correct = {one.id: answers for one, answers in asked}
    told = {one.question: one.answer for one in engine.answer(Pack(LETTERS, [one]) for one in begun)}
    read = {name: one for name, one in told.items() if isinstance(one, LetterAnswer)}
    spoken = [replace(one, labels=(), max_tokens=1, decodings=(Decoding(),)) for one in begun]
    texts = [one.answer for one in engine.answer(Pack(TEXT, [one]) for one in spoken)]
    return Found(
        [one.letter_mass or 0.0 for one in read.values()],
        [one.bracket_mass or 0.0 for one in read.values()],
        [int(np.argmax(one.logits)) in correct[name] for name, one in read.items()],
        Counter(one.text.strip() or "(ends)" for one in texts if isinstance(one, TextAnswer)),
    )


def line(prefix: str, found: Found) -> str:
    """A row of the table."""
    said = ", ".join(f"`{text}` {count}" for text, count in found.first.most_common(4))
    low = np.mean(np.array(found.letters) < LOW_MASS)
    shares = (np.mean(found.letters), np.mean(found.brackets), low, np.mean(found.right))
    return (
        " | ".join([f"| {prefix!r}" if prefix else "| none", *(f"{100 * one:.1f} %" for one in shares), said])
        + " |\n"
    )


def questions(dataset: str, model: str, count: int) -> Iterator[tuple[Question, Sequence[int]]]:
    """The first original prompts with letters."""
    images = ImageStore(images_path(dataset))
    rows = [prompt_for(model, row) for row in PROMPTS.read(prompts_path(dataset)).to_pylist()]
    fitting = (
        row
        for row in rows
        if row["variation"] == ORIGINAL and LETTERS in row["outputs"] and not row["earlier"]
    )
    for _, row in zip(range(count), fitting, strict=False):
        shown = tuple(opening.render(recipe, images.read) for recipe in row["images"])
        given = {"system": row["system"], "text": row["text"], "response": row["response"]}
        yield Question(row["id"], **given, labels=tuple(row["labels"]), images=shown), row["answers"]


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("--dataset", default="shapes")
    parser.add_argument("--prompts", type=int, default=200)
    parser.add_argument("--prefix", nargs="*", default=["(", "Answer:"])
    options = parser.parse_args()
    pin = read_pin(pin_path(options.model))
    config = ExtractConfig.model_validate(load(Path("params.yaml"))["extract"])
    engine = engine_kind(pin.engine).load(pin, config)
    asked = list(questions(options.dataset, options.model, options.prompts))
    print(HEAD, end="")
    for prefix in dict.fromkeys(["", *([pin.answer_prefix] if pin.answer_prefix else []), *options.prefix]):
        print(line(prefix, first_tokens(engine, asked, prefix)), end="", flush=True)


if __name__ == "__main__":
    main()
