"""Growth of browse: `python -m benchmarks.browse` from the repository root.

100,000 items and 26 models with simulated answers, one prompt an item: the files of the item pages against
the same tables written as JSON, a line a row, by the standard library; half as many items for the growth;
and 8,000 items with 12 variations. No pictures: those take as long as decoding them. Times are of the
processor; memory is the peak of the process.
"""

import json
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks._figure import figure
from benchmarks._stage import ROOT, process
from vouch.tables.answered import LETTERS, LIKELIHOOD, TEXT, letters_path, likelihood_path, text_path
from vouch.tables.asked import ITEMS, PROMPTS, items_path, prompts_path
from vouch.tables.results import OUTCOMES, outcomes_path

DATASET = "simulated"
MODELS, ITEM_COUNT, FEWER, VARIATIONS = 26, 100_000, 8_000, 12
OPTIONS = 4
LIMIT = 1_000_000  # bytes of the first screen
FIRST = ("index.js", "columns.js", "rows-000.js")
RUN = """
import sys
from pathlib import Path
from stages.browse import write
from vouch.browse.config import BrowseConfig
config = BrowseConfig(images=False, thumbnail=160, budget=0)
write(sys.argv[1], config, sorted(Path("data").rglob("*.parquet")))
"""


def simulate(items: int, variations: int) -> None:
    """Writes the tables of a dataset under the working directory."""
    names = ["original", *(f"changed_{number}" for number in range(1, variations))]
    words = [f"option {place}" for place in range(OPTIONS)]

    def rows() -> Iterator[dict[str, Any]]:
        for number in range(items):
            yield {
                "id": f"item-{number:06d}",
                "group": f"g{number // 4}",
                "question": f"What is to be seen at place {number}, left of tree {number % 97}?",
                "options": words,
                "answers": [number % OPTIONS],
                "references": [],
                "images": [f"{number:064x}"],
                "category": f"category {number % 20}",
                "kind": "choice",
                "source_id": str(number),
                "flags": [],
            }

    def prompts() -> Iterator[dict[str, Any]]:
        for item in rows():
            for name in names:
                yield {
                    "id": f"{item['id']}/{name}",
                    "item": item["id"],
                    "variation": name,
                    "family": "",
                    "effect": "kept",
                    "template": "plain",
                    "turns": [],
                    "text": item["question"] + "\nA. option 0\nB. option 1\nC. option 2\nD. option 3",
                    "earlier": [],
                    "options": words,
                    "order": list(range(OPTIONS)),
                    "labels": list("ABCD"),
                    "answers": item["answers"],
                    "images": [{"images": item["images"], "steps": []}],
                    "outputs": ["letters"],
                }

    ITEMS.write(items_path(DATASET), rows())
    PROMPTS.write(prompts_path(DATASET), prompts())
    ids = PROMPTS.read(prompts_path(DATASET), ["id", "item", "variation"])
    with OUTCOMES.writer(outcomes_path(DATASET)) as outcomes:
        for number in range(MODELS):
            dice = np.random.default_rng(number)
            outcomes.table(answered(f"model_{number:02d}", ids, items, variations, dice))


def answered(
    model: str, prompts: pa.Table, items: int, variations: int, dice: np.random.Generator
) -> pa.Table:
    """Writes what one model answered; its outcomes."""
    count = items * variations
    logits = dice.normal(size=(count, OPTIONS)).astype(np.float32)
    best, right = logits.argmax(axis=1), np.repeat(np.arange(items) % OPTIONS, variations)
    empty = {field.name: pa.nulls(count, field.type) for field in LETTERS.schema}
    offsets = pa.array(np.arange(count + 1, dtype=np.int32) * OPTIONS)
    letters = empty | {"prompt": prompts["id"], "logits": pa.ListArray.from_arrays(offsets, logits.ravel())}
    LETTERS.write(letters_path(model, DATASET), pa.table(letters, schema=LETTERS.schema))
    LIKELIHOOD.write(likelihood_path(model, DATASET), [])
    TEXT.write(text_path(model, DATASET), [])
    weights = np.exp(logits)
    columns = {field.name: pa.nulls(count, field.type) for field in OUTCOMES.schema}
    columns |= {name: prompts[name] for name in ("item", "variation")}
    columns |= {"prompt": prompts["id"], "model": pa.array([model] * count)}
    columns |= {
        name: pa.array([value] * count) for name, value in (("dataset", DATASET), ("output", "letters"))
    }
    columns |= {name: pa.array(best, pa.int32()) for name in ("predicted", "chosen")}
    columns |= {
        "correct": pa.array(best == right),
        "confidence": pa.array((weights.max(1) / weights.sum(1)).astype(float)),
    }
    columns |= {f"size_{score}": pa.array(dice.integers(1, 4, count), pa.int32()) for score in ("lac", "aps")}
    columns |= {f"clean_size_{score}": pa.array(dice.uniform(1, 3, count)) for score in ("lac", "aps")}
    return pa.table(columns, schema=OUTCOMES.schema)


def as_json() -> float:
    """Processor seconds to write every table of the dataset as JSON, a line a row."""
    start = time.process_time()
    for number, path in enumerate(sorted(Path("data").rglob("*.parquet"))):
        table = next(t for t in (ITEMS, PROMPTS, LETTERS, LIKELIHOOD, TEXT, OUTCOMES) if _is(t.name, path))
        with Path(f"{number}.jsonl").open("w", encoding="utf-8") as file:
            for batch in table.open(path).iter_batches():
                file.writelines(json.dumps(row) + "\n" for row in batch.to_pylist())
    return time.process_time() - start


def _is(name: str, path: Path) -> bool:
    return path.parent.name == name or f".{name}." in path.name


def measured(items: int, variations: int, against_json: bool) -> tuple[float, float, float, float]:
    """Processor seconds, peak in MiB, seconds of JSON (0 where not asked), bytes of the first screen."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            simulate(items, variations)
            Path("building.py").write_text(RUN, encoding="utf-8")
            cost = process(Path(folder), Path(f"{ROOT}{os.pathsep}{folder}"), "building", DATASET)
            made = Path("reports/items") / DATASET
            first = sum((made / name).stat().st_size for name in FIRST)
            return cost.seconds, cost.mebibytes, as_json() if against_json else 0.0, first
        finally:
            os.chdir(before)


def main() -> None:
    """Measures and prints every figure."""
    half, *_ = measured(ITEM_COUNT // 2, 1, against_json=False)
    whole, peak, peer, first = measured(ITEM_COUNT, 1, against_json=True)
    figure("browse_100000_items_26_models", whole, "s", "the tables as JSON", peer, peer / whole)
    figure("browse_twice_the_items", whole / half, "times the time")
    figure("browse_peak", peak, "MiB")
    figure("browse_first_screen", first, "bytes", "the limit", LIMIT, LIMIT / first)
    seconds, peak, peer, _ = measured(FEWER, VARIATIONS, against_json=True)
    figure("browse_8000_items_12_variations", seconds, "s", "the tables as JSON", peer, peer / seconds)
    figure("browse_12_variations_peak", peak, "MiB")


if __name__ == "__main__":
    main()
