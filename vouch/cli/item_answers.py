"""What every model answered to one item, from the tables of prompts, responses and outcomes."""

import heapq
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from vouch.pipeline.errors import UserError, did_you_mean
from vouch.pipeline.intact import intact
from vouch.tables.flips import contents, flips, grades
from vouch.tables.items import ITEMS, items_path
from vouch.tables.outcomes import OUTCOMES, outcomes_path
from vouch.tables.prompts import KEPT, LETTERS, LIKELIHOOD, ORIGINAL, OUTPUTS, PROMPTS, TEXT, prompts_path
from vouch.tables.row_groups import rows_with
from vouch.tables.table import Table
from vouch.tables.text import RESPONSES

Row = Mapping[str, Any]
FLIPPED, SAME, TURNED, UNTURNED = "flipped", "same", "turned", "unturned"
_CLOSE = 5  # ids to suggest
_GRAM = 3  # characters that count as one in the likeness of two ids


def find_item(wanted: str, dataset: str | None) -> tuple[str, dict[str, Any]]:
    """The dataset of an item, and its row of ITEMS. Raises UserError, with close ids, where it is none."""
    known = sorted(path.stem for path in items_path("x").parent.glob("*.parquet"))
    if dataset is not None and dataset not in known:
        raise UserError(f"{items_path('x').parent}: no dataset {dataset}; {did_you_mean(dataset, known)}")
    if not known:
        raise UserError(f"{items_path('x').parent}: no items; run `dvc repro`, or `dvc pull` to fetch them")
    places = [dataset] if dataset else known
    found = [(name, row) for name in places for row in _rows(ITEMS, items_path(name), "id", [wanted])]
    if not found:
        tables = (ITEMS.read(intact(items_path(place)), ["id"]) for place in places)
        ids = [name for table in tables for name in table["id"].to_pylist()]
        raise UserError(
            f"{dataset or 'data/items'}: no item {wanted[:80]!r}; close: {', '.join(close(wanted, ids))}"
        )
    if len(found) > 1:
        names = ", ".join(name for name, _ in found)
        raise UserError(f"item {wanted[:80]!r}: is in {names}; choose one by --dataset")
    return found[0]


def close(wanted: str, ids: Collection[str]) -> list[str]:
    """The ids that share most parts with the wanted one, quoted and cut."""
    parts = _parts(wanted)

    def likeness(name: str) -> tuple[float, str]:
        own = _parts(name)
        return len(parts & own) / len(parts | own), name

    best = heapq.nsmallest(_CLOSE, ((-share, name) for share, name in map(likeness, ids)))
    return [repr(name[:80]) for _, name in best]


def _parts(name: str) -> set[str]:
    padded = f" {name.casefold()} "
    return {padded[place : place + _GRAM] for place in range(len(padded) - _GRAM + 1)}


def prompts_of(dataset: str, item: str) -> dict[str, dict[str, Any]]:
    """The item's prompts by id, in the order of their table."""
    return {row["id"]: row for row in _rows(PROMPTS, prompts_path(dataset), "item", [item])}


def models() -> list[str]:
    """Models with outcomes, by name."""
    suffix = outcomes_path("").name
    return sorted(path.name.removesuffix(suffix) for path in outcomes_path("").parent.glob(f"*{suffix}"))


def answers(model: str, dataset: str, prompts: Mapping[str, Row]) -> list[dict[str, Any]]:
    """An entry for each prompt that the model was asked, and each output, as JSON has it."""
    rows = [
        row
        for row in _rows(OUTCOMES, outcomes_path(model), "prompt", list(prompts))
        if row["dataset"] == dataset
    ]
    given = {
        output: _given(output, model, dataset, list(prompts)) for output in {row["output"] for row in rows}
    }
    order = {name: place for place, name in enumerate(prompts)}
    rows.sort(key=lambda row: (OUTPUTS.index(row["output"]), order[row["prompt"]]))
    return [
        _entry(row, prompts[row["prompt"]], given[row["output"]].get(row["prompt"], []), became)
        for row, became in zip(rows, against(rows), strict=True)
    ]


def _entry(row: Row, prompt: Row, given: Sequence[Row], became: str) -> dict[str, Any]:
    ranked = likely(row["output"], prompt, given)
    texts = [each["text"] for each in given if row["output"] == TEXT and each["temperature"] == 0]
    chosen = row["predicted"]
    return {
        "model": row["model"],
        "output": row["output"],
        "variation": row["variation"],
        "prompt": row["prompt"],
        "effect": row["effect"],
        "answer": row["answer"] if chosen is None else option(prompt, chosen),
        "right": row["correct"],
        "kept": row["clean_correct"] is not None,
        "confidence": row["confidence"],
        "half": row["half"],
        **{score: _members(prompt, ranked, row[f"size_{score}"]) for score in ("lac", "aps")},
        "clean_size": {score: row[f"clean_size_{score}"] for score in ("lac", "aps")},
        "text": texts[0] if texts else None,
        "problem": next((each["problem"] for each in given if each["problem"]), None),
        "against_original": became,
    }


def option(prompt: Row, index: int) -> str:
    """An option as it is shown, with its mark."""
    mark = f"{prompt['marks'][index]}. " if index < len(prompt["marks"] or ()) else ""
    return f"{mark}{prompt['options'][index]}"


def likely(output: str, prompt: Row, given: Sequence[Row]) -> list[int]:
    """Indices of the options, likeliest first (ties: lowest); none for texts and without an answer."""
    if output == LETTERS and given and given[0]["logits"]:
        worth = list(given[0]["logits"])[: len(prompt["options"])]
    elif output == LIKELIHOOD and given and not any(row["nll"] is None for row in given):
        nll = {row["option"]: row["nll"] for row in given}
        worth = [-nll.get(index, math.inf) for index in range(len(prompt["options"]))]
    else:
        return []
    return sorted(range(len(worth)), key=lambda index: (-worth[index], index))


def _members(prompt: Row, ranked: Sequence[int], size: int | None) -> list[str] | None:
    """The options of a prediction set of the faithful split: LAC and APS both take the likeliest ones.

    None for rows that calibrate, which have no set.
    """
    if size is None or not ranked:
        return None
    return [option(prompt, index) for index in ranked[:size]]


def against(rows: Sequence[Row]) -> list[str]:
    """What became of the answer to the original prompt, a word for each row of OUTCOMES; empty where it does
    not count.

    Where the variation keeps the answers: same or flipped. Where it turns them, and the original was
    answered right: turned or unturned.
    """
    table = pa.Table.from_pylist(list(rows), OUTCOMES.schema)
    originals = {row["output"]: place for place, row in enumerate(rows) if row["variation"] == ORIGINAL}
    first = np.array([originals.get(row["output"], place) for place, row in enumerate(rows)], dtype=int)
    answer, kept = contents(table), np.array([row["effect"] in (None, KEPT) for row in rows], dtype=bool)
    found = flips(answer, answer[first], grades(table)[first], kept)
    words = np.where(kept, np.where(found, FLIPPED, SAME), np.where(found, UNTURNED, TURNED))
    counts = (first != np.arange(len(rows))) & ~np.isnan(found)
    return [str(word) for word in np.where(counts, words, "")]


def _given(output: str, model: str, dataset: str, prompts: list[str]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    table, path = RESPONSES[output]
    for row in _rows(table, path(model, dataset), "prompt", prompts):
        found.setdefault(row["prompt"], []).append(row)
    return found


def _rows(table: Table, path: Path, column: str, wanted: list[str]) -> Iterator[dict[str, Any]]:
    """Rows whose column has one of the wanted values."""
    for part in rows_with(table, intact(path), column, wanted):
        yield from part.to_pylist()
