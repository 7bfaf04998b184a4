"""Draws the questions of docs/tutorial.md: a folder for `vouch new --data`, with one image for each question.

    python docs/examples/draw_questions.py FOLDER COUNT [--reworded]

The first 40 of 400 questions are the 40 that a smaller COUNT draws. `--reworded` draws others, in words that
no demo model was trained on.
"""

import argparse
import json
from pathlib import Path

from vouch.datasets.loaders import shapes
from vouch.datasets.read.files import SourceFiles
from vouch.datasets.read.scenes import RENDERER


def main() -> None:
    """Writes the images and items.jsonl."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("count", type=int)
    parser.add_argument("--reworded", action="store_true")
    given = parser.parse_args()
    words, seed = ("held_out", 2) if given.reworded else ("trained", 1)
    settings = shapes.Settings(seed=seed, items=2 * given.count, phrasings=words)
    drawn = list(shapes.read(SourceFiles(RENDERER), "shapes", settings))[::2]  # each image has two questions
    given.folder.mkdir(parents=True, exist_ok=True)
    lines = []
    for number, item in enumerate(drawn):
        image = f"{number:04d}.png"
        (given.folder / image).write_bytes(item.images[0])
        line = {
            "question": item.question,
            "options": item.options,
            "answer": item.answers[0],
            "image": image,
            "category": item.category,
        }
        lines.append(json.dumps(line) + "\n")
    (given.folder / "items.jsonl").write_text("".join(lines), encoding="utf-8")
    print(f"{given.folder}: {len(lines)} questions")


if __name__ == "__main__":
    main()
