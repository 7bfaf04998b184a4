"""What each model answered to the prompts of one item, and what became of its answer in each variation."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from vouch.pipeline.intact import intact
from vouch.tables.outcomes import OUTCOMES, contents, flips, grades, outcomes_path
from vouch.tables.prompts import KEPT, LETTERS, LIKELIHOOD, ORIGINAL, OUTPUTS, PROMPTS, TEXT, prompts_path
from vouch.tables.responses import RESPONSES
from vouch.tables.table import Table

FLIPPED, SAME, NOT_FLIPPED = "flipped", "same", "not_flipped"
Row = Mapping[str, Any]


def rows_of(table: Table, path: Path, column: str, wanted: list[str]) -> Iterator[dict[str, Any]]:
    """Rows whose column has one of the wanted values."""
    for part in table.rows_with(intact(path), column, wanted):
        yield from part.to_pylist()


def prompts_of(dataset: str, item: str) -> dict[str, dict[str, Any]]:
    """The item's prompts by id, in the order of their table."""
    return {row["id"]: row for row in rows_of(PROMPTS, prompts_path(dataset), "item", [item])}


def models(dataset: str) -> list[str]:
    """Models with outcomes on a dataset, by name."""
    found = OUTCOMES.read(intact(outcomes_path(dataset)), ["model"])["model"]
    return sorted(found.unique().to_pylist())


def answers(dataset: str, prompts: Mapping[str, Row], model: str | None) -> list[dict[str, Any]]:
    """An entry for each prompt and output of all models, or of one, as JSON has it."""
    found = defaultdict[str, list[Row]](list)
    for row in rows_of(OUTCOMES, outcomes_path(dataset), "prompt", list(prompts)):
        found[row["model"]].append(row)
    wanted = sorted(found) if model is None else [model]
    return [entry for name in wanted for entry in _of_model(name, dataset, prompts, found[name])]


def _of_model(model: str, dataset: str, prompts: Mapping[str, Row], rows: list[Row]) -> list[dict[str, Any]]:
    given = defaultdict[tuple[str, str], list[Row]](list)
    for output in sorted({row["output"] for row in rows}):
        responses, path = RESPONSES[output]
        for row in rows_of(responses, path(model, dataset), "prompt", list(prompts)):
            given[output, row["prompt"]].append(row)
    order = {name: place for place, name in enumerate(prompts)}
    rows.sort(key=lambda row: (OUTPUTS.index(row["output"]), order[row["prompt"]]))
    return [
        _entry(row, prompts[row["prompt"]], given[row["output"], row["prompt"]], became)
        for row, became in zip(rows, against(rows), strict=True)
    ]


def _entry(row: Row, prompt: Row, given: Sequence[Row], became: str) -> dict[str, Any]:
    ranked = likely(row["output"], prompt, given)
    texts = [each["text"] for each in given if row["output"] == TEXT and each["temperature"] == 0]
    chosen = row["predicted"]
    return {
        **{key: row[key] for key in ("model", "output", "variation", "prompt", "effect")},
        "answer": row["answer"] if chosen is None else option(prompt, chosen),
        "right": row["correct"],
        "kept": row["clean_correct"] is not None,
        **{key: row[key] for key in ("confidence", "half")},
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

    Where the variation keeps the answers: same or flipped. Where it flips them, and the original was
    answered right: flipped, as it should be, or not_flipped.
    """
    table = pa.Table.from_pylist(list(rows), OUTCOMES.schema)
    originals = {row["output"]: place for place, row in enumerate(rows) if row["variation"] == ORIGINAL}
    first = np.array([originals.get(row["output"], place) for place, row in enumerate(rows)], dtype=int)
    answer, kept = contents(table), np.array([row["effect"] in (None, KEPT) for row in rows], dtype=bool)
    found = flips(answer, answer[first], grades(table)[first], kept)
    words = np.where(kept, np.where(found, FLIPPED, SAME), np.where(found, NOT_FLIPPED, FLIPPED))
    counts = (first != np.arange(len(rows))) & ~np.isnan(found)
    return [str(word) for word in np.where(counts, words, "")]
