"""The released logits of VLM-Uncertainty-Bench as tables of this project; skips where they are missing."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.metrics.simulated import ROOT, SHARED
from vouch.metrics.join import Block, join
from vouch.tables.asked import ITEMS, PROMPTS

needs_released = pytest.mark.skipif(
    not SHARED.is_dir(), reason="needs ../shared/reference/vlm-uncertainty-bench"
)

WHOLE = ROOT.parent / "vlm-uncertainty-bench"
"""Tables of all that the authors released, OODCV-VQA among them, as `vouch released` makes them."""
needs_oodcv = pytest.mark.skipif(
    not (WHOLE / "items-oodcv.parquet").is_file(), reason="needs ../vlm-uncertainty-bench with OODCV-VQA"
)


def folder(dataset: str) -> Path:
    """Where the tables of a dataset are."""
    return SHARED if dataset == "mmbench" else WHOLE


def models(dataset: str = "mmbench") -> list[str]:
    """Names of the 26 models."""
    return sorted(path.stem for path in (folder(dataset) / f"logits-{dataset}").glob("*.parquet"))


@cache
def asked(dataset: str = "mmbench", path: Path | None = None) -> tuple[pa.Table, pa.Table]:
    """Prompts and items of a dataset, only what scoring needs. path: a folder in place of the usual one."""
    items, prompts = [], []
    for row in pq.read_table((path or folder(dataset)) / f"items-{dataset}.parquet").to_pylist():
        native = [row[letter] for letter in "ABCD"]
        shown = native[: native.index(None)] if None in native else native
        flags = ["missing_option"] if None in native else []
        flags += ["duplicate_options"] if len(set(shown)) < len(shown) else []
        name, group = str(row["id"]), str(int(row["id"]) % 1_000_000)
        items.append({"id": name, "group": group, "category": row["category"], "flags": flags})
        prompts.append(
            {
                "id": f"{name}/original",
                "item": name,
                "variation": "original",
                "options": [*shown, "I don’t know", "None of the above"],
                "order": [*range(len(shown)), -1, -2],
                "answers": ["ABCD".index(row["answer"])],
                "outputs": [],
            }
        )
    return (
        pa.Table.from_pylist(prompts, schema=PROMPTS.schema),
        pa.Table.from_pylist(items, schema=ITEMS.schema),
    )


def block(model: str, dataset: str = "mmbench", path: Path | None = None) -> Block:
    """What one model answered on a dataset. path: as in `asked`."""
    logits = pq.read_table((path or folder(dataset)) / f"logits-{dataset}" / f"{model}.parquet")
    prompt = pa.array([f"{name}/original" for name in logits["id"].to_pylist()])
    absent = {
        "letter_mass": pa.nulls(len(prompt), pa.float32()),
        "upper": pa.nulls(len(prompt), pa.list_(pa.float32())),
        "problem": pa.nulls(len(prompt), pa.string()),
    }
    letters = pa.table({"prompt": prompt, "logits": logits["logits"], **absent})
    (found,) = join(letters, *asked(dataset, path), model)
    return found


def native_options(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Of MMBench's rows, the options that each had before the authors filled it up to four."""
    copies = defaultdict(list)
    for row in rows:
        copies[row["id"] % 1_000_000].append(row)
    found = []
    for row in rows:
        same = copies[row["id"] % 1_000_000]
        size = len(same)  # a question has as many copies as options, and more where one stays in its place
        while size < 4 and None not in (texts := {copy["ABCD"[size]] for copy in same}) and len(texts) == 1:
            size += 1
        found.append(tuple(row[letter] for letter in "ABCD"[:size]))
    return found


def published(dataset: str = "mmbench") -> Iterator[tuple[str, str, float]]:
    """Model, metric and value of every published cell of a dataset."""
    for row in pd.read_csv(folder(dataset) / f"published-{dataset}.csv").itertuples():
        yield row.model, row.metric, row.value
