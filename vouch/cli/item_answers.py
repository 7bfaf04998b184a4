"""What models answered to one question, and what is behind each answer: the entries of `vouch item`."""

import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import scipy

from vouch.cli.leaderboard import Row
from vouch.metrics.metric import ALL, CLEAN, FAITHFUL, MARGINAL
from vouch.metrics.text.answers import ANSWERS, numeric
from vouch.metrics.text.reader.open import phrase, value
from vouch.metrics.text.wording import short
from vouch.models.kinds import sees_images
from vouch.pipeline.records import intact
from vouch.report.gates import INFINITE
from vouch.tables import HEADLINE
from vouch.tables.answered import RESPONSES
from vouch.tables.asked import KEPT, LETTERS, LIKELIHOOD, ORIGINAL, OUTPUTS, TEXT
from vouch.tables.results import (
    METRICS,
    OUTCOMES,
    contents,
    flips,
    grades,
    metrics_path,
    other_spelling_scored,
    outcomes_path,
)
from vouch.tables.table import Table
from vouch.tables.thoughts import apart

FLIPPED, SAME, NOT_FLIPPED = "flipped", "same", "not_flipped"


def rows_of(table: Table, path: Path, column: str, wanted: list[str]) -> Iterator[dict[str, Any]]:
    """The rows of a table whose column has one of the wanted values."""
    for part in table.rows_with(intact(path), column, wanted):
        yield from part.to_pylist()


def answers(dataset: str, item: Row, prompts: Mapping[str, Row], model: str | None) -> list[dict[str, Any]]:
    """An entry for JSON for each prompt and request type, of all models or of one."""
    by_model = defaultdict[str, list[Row]](list)
    for row in rows_of(OUTCOMES, outcomes_path(dataset), "prompt", list(prompts)):
        by_model[row["model"]].append(row)
    wanted = sorted(by_model) if model is None else [model]
    infinite = _infinite(dataset)
    return [
        entry
        for name in wanted
        for entry in _of_model(name, dataset, item, prompts, by_model[name], infinite)
    ]


AskedUnder = tuple[str, str, str, str]
"""Model, request type, variation and protocol."""


def _infinite(dataset: str) -> set[AskedUnder]:
    """Where a threshold is infinite, because too few questions calibrate: such sets hold every option."""
    rows = [
        row
        for row in rows_of(METRICS, metrics_path(dataset), "metric", [INFINITE])
        if (row["category"], row["calibration"]) == (ALL, MARGINAL)
    ]
    alphas = {row["alpha"] for row in rows if row["protocol"] == FAITHFUL}  # the main one
    return {
        (row["model"], row["output"], row["variation"], row["protocol"])
        for row in rows
        if row["value"] and row["alpha"] in alphas
    }


def _of_model(
    model: str,
    dataset: str,
    item: Row,
    prompts: Mapping[str, Row],
    rows: list[Row],
    infinite: Collection[AskedUnder],
) -> list[dict[str, Any]]:
    responses_of = defaultdict[tuple[str, str], list[Row]](list)
    for output in sorted({row["output"] for row in rows}):
        responses, path = RESPONSES[output]
        for row in rows_of(responses, path(model, dataset), "prompt", list(prompts)):
            responses_of[output, row["prompt"]].append(row)
    responses_of |= as_scored(rows, prompts, responses_of)
    sees = sees_images(model, None)  # as it was when it answered
    position = {name: number for number, name in enumerate(prompts)}
    rows.sort(key=lambda row: (OUTPUTS.index(row["output"]), position[row["prompt"]]))
    return [
        {"sees": sees}
        | _entry(row, item, prompts[row["prompt"]], responses_of[row["output"], row["prompt"]], change)
        | _sets(row, prompts[row["prompt"]], responses_of[row["output"], row["prompt"]], infinite)
        for row, change in zip(rows, against(rows), strict=True)
    ]


def _entry(row: Row, item: Row, prompt: Row, responses: Sequence[Row], change: str) -> dict[str, Any]:
    texts = responses if row["output"] == TEXT else []
    first: Row = next((each for each in responses if not each.get("temperature")), {})
    text = next((each["text"] for each in texts if each["temperature"] == 0), None)
    chosen = row["predicted"]
    return {
        **{key: row[key] for key in ("model", "output", "variation", "prompt", "effect")},
        "answer": row["answer"] if chosen is None else option(prompt, chosen),
        "expected": expected(item, prompt),
        "correct": row["correct"],
        "kept": row["clean_correct"] is not None,
        **{key: row[key] for key in ("confidence", "half")},
        "text": text,
        "samples": [
            {key: each[key] for key in ("temperature", "sample", "text")}
            for each in texts
            if each["temperature"]
        ],
        **{key: row[key] for key in ("parser", "reason")},
        "graded": graded(row, item, text),
        "options": _options(row, prompt, _scores(row, prompt, responses), responses),
        **{key: first.get(key) for key in _OF_ANSWER},
        "other_scored": first.get("other_scored", False),
        "problem": next((each["problem"] for each in responses if each["problem"]), None),
        "against_original": change,
    }


def _sets(
    row: Row, prompt: Row, responses: Sequence[Row], infinite: Collection[AskedUnder]
) -> dict[str, Any]:
    """The prediction sets of an answer: members in the faithful split, mean sizes in the clean ones.

    Both are None if the threshold is infinite; `calibrated` is then False.
    """
    scores = _scores(row, prompt, responses)
    ranked = sorted(range(len(scores)), key=lambda index: (-scores[index], index))
    finite = {
        protocol: (row["model"], row["output"], row["variation"], protocol) not in infinite
        for protocol in (FAITHFUL, CLEAN)
    }
    return {
        "calibrated": all(finite.values()),
        **{
            score: _members(prompt, ranked, row[f"size_{score}"]) if finite[FAITHFUL] else None
            for score in HEADLINE
        },
        "clean_size": {score: row[f"clean_size_{score}"] if finite[CLEAN] else None for score in HEADLINE},
    }


def expected(item: Row, prompt: Row) -> list[str]:
    """The correct options of a prompt; the references of an open question."""
    if prompt["options"]:
        return [option(prompt, index) for index in prompt["answers"] or ()]
    return list(item["references"] or ())


def graded(row: Row, item: Row, text: str | None) -> dict[str, Any] | None:
    """How the text that answers an open question was graded; None for any other answer, or without a metric.

    read: what the metric reads out of a longer text. grade: 0 to 1, of the clean protocol if it has one.
    """
    if row["parser"] not in ANSWERS or text is None:
        return None
    references, grade = list(item["references"] or ()), row["clean_correct"]
    if grade is None and row["correct"] is not None:
        grade = float(row["correct"])
    read = row["answer"]
    if row["parser"] in _READING:
        answer = apart(text).answer
        read = short(value(answer).span if numeric(references) else phrase(answer)) or read
    return {"metric": row["parser"], "read": read, "references": references, "grade": grade}


_READING = ("exact_match", "relaxed_accuracy")
"""Metrics of answers that compare only the answer that a longer text gives."""
_OF_ANSWER = ("letter_mass", "bracket_mass", "spelling", "reasoning", "flags", "engine", "mode", "device")
"""Columns of the response tables that an entry has as they are; null if the request type has none."""


def option(prompt: Row, index: int) -> str:
    """An option with its label, as it is shown."""
    label = f"{prompt['labels'][index]}. " if index < len(prompt["labels"] or ()) else ""
    return f"{label}{prompt['options'][index]}"


def _scores(row: Row, prompt: Row, responses: Sequence[Row]) -> list[float]:
    """Logit, or negated NLL, of each option; empty for texts and missing answers."""
    count, output = len(prompt["options"] or ()), row["output"]
    if output == LETTERS and responses and responses[0]["logits"]:
        return list(responses[0]["logits"])[:count]
    if output == LIKELIHOOD and responses and not any(row["nll"] is None for row in responses):
        nll = {row["option"]: row["nll"] for row in responses}
        return [-nll.get(index, math.inf) for index in range(count)]
    return []


Responses = Mapping[tuple[str, str], list[Row]]
"""A model's stored answers, by request type and prompt."""


def as_scored(rows: Sequence[Row], prompts: Mapping[str, Row], responses_of: Responses) -> Responses:
    """The answers to show otherwise, if a model's letters were scored in their other spelling: that one is
    then `logits`, and the stored one `other_logits`."""
    letters = {key: answers[0] for key, answers in responses_of.items() if key[0] == LETTERS}
    scored = [row for row in rows if (row["output"], row["prompt"]) in letters]
    shares = [
        [_of_predicted(row, prompts[row["prompt"]], letters[LETTERS, row["prompt"]][name]) for row in scored]
        for name in ("logits", "other_logits")
    ]
    confidence = [row["confidence"] for row in scored]
    if not other_spelling_scored(*np.array([confidence, *shares], dtype=float)):
        return {}
    return {
        key: [{**one, "logits": one["other_logits"], "other_logits": one["logits"], "other_scored": True}]
        for key, one in letters.items()
        if one["other_logits"]
    }


def _of_predicted(row: Row, prompt: Row, logits: Sequence[float] | None) -> float:
    """Probability of the predicted option; NaN without one."""
    own, chosen = (logits or ())[: len(prompt["options"] or ())], row["predicted"]
    return float(scipy.special.softmax(own)[chosen]) if chosen is not None and chosen < len(own) else math.nan


def _options(
    row: Row, prompt: Row, scores: Sequence[float], responses: Sequence[Row]
) -> list[dict[str, Any]]:
    """An entry for each option, for JSON; a number is null if it is unknown, or not finite."""
    with np.errstate(invalid="ignore"):
        shares = scipy.special.softmax(scores).tolist() if scores else []
    of_option = {each["option"]: each for each in responses} if row["output"] == LIKELIHOOD else {}
    named: dict[str, Sequence[float]] = {}
    if scores and row["output"] == LETTERS:
        named = {
            "logit": scores,
            "other_logits": responses[0]["other_logits"] or (),
            "upper": responses[0]["upper"] or (),
        }
    entries = []
    for index, score in enumerate(scores):
        entry = {
            "option": option(prompt, index),
            "answer": index == row["predicted"],
            "correct": index in (prompt["answers"] or ()),
            "probability": _finite(shares[index]),
        }
        if row["output"] == LETTERS:
            entry |= {key: _finite(of[index]) if index < len(of) else None for key, of in named.items()}
        else:
            tokens = of_option.get(index, {}).get("tokens")
            entry |= {"nll": _finite(-score), "tokens": tokens}
        entries.append(entry)
    return entries


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _members(prompt: Row, ranked: Sequence[int], size: int | None) -> list[str] | None:
    """The options in a prediction set of the faithful split; sets of LAC and APS hold the likeliest ones.

    None for rows used for calibration: they have no set.
    """
    if size is None or not ranked:
        return None
    return [option(prompt, index) for index in ranked[:size]]


def against(rows: Sequence[Row]) -> list[str]:
    """How each answer compares with the one to the original prompt: a word for each row of OUTCOMES.

    If the variation keeps the correct answer: same or flipped. If it changes the correct answer, and the
    original was answered correctly: flipped, as it should be, or not_flipped. Otherwise the word is empty.
    """
    table = pa.Table.from_pylist(list(rows), OUTCOMES.schema)
    originals = {row["output"]: index for index, row in enumerate(rows) if row["variation"] == ORIGINAL}
    first = np.array([originals.get(row["output"], index) for index, row in enumerate(rows)], dtype=int)
    answer, kept = contents(table), np.array([row["effect"] in (None, KEPT) for row in rows], dtype=bool)
    flipped = flips(answer, answer[first], grades(table)[first], kept)
    words = np.where(kept, np.where(flipped, FLIPPED, SAME), np.where(flipped, NOT_FLIPPED, FLIPPED))
    counts = (first != np.arange(len(rows))) & ~np.isnan(flipped)
    return [str(word) for word in np.where(counts, words, "")]
