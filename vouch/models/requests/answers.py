"""Answers as rows of the work cache (one a key) and of the response tables."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import pyarrow as pa

from vouch.models.requests.engine import Answered, Decoding
from vouch.tables.prompts import LETTERS, LIKELIHOOD, TEXT
from vouch.tables.responses import schema

# What follows from the prompt and the decoding is not remembered with an answer.
_OF_PROMPT = ("prompt", "engine", "option", "bytes", "temperature", "sample")
_LISTS = {"nll": pa.list_(pa.float64()), "tokens": pa.list_(pa.int32())}  # one answer scores all options


def remembered(output: str, reasoning: bool = False) -> pa.Schema:
    """Columns that the work cache keeps of an answer. reasoning: of a model that thinks."""
    fields = [field for field in schema(output, reasoning) if field.name not in _OF_PROMPT]
    if output == LIKELIHOOD:
        fields = [pa.field(field.name, _LISTS.get(field.name, field.type)) for field in fields]
    return pa.schema(fields)


def to_remember(answered: Answered, pixels: str, device: str) -> dict[str, Any]:
    """The row of the work cache for an answer."""
    return {
        **vars(answered.answer),
        "pixels": pixels,
        "device": device,
        "mode": answered.mode,
        "rows": answered.rows,
        "flags": list(answered.flags),
    }


def refused(output: str, problem: str) -> dict[str, Any]:
    """What stands for an answer to a prompt that was not asked."""
    return {**dict.fromkeys(remembered(output).names), "pixels": "", "flags": [], "problem": problem}


def rows_of(
    output: str,
    prompt: Mapping[str, Any],
    answers: Sequence[Mapping[str, Any]],
    decodings: Sequence[Decoding],
    engine: str,
) -> Iterator[dict[str, Any]]:
    """The rows of a response table for one prompt, from what the work cache has of it."""
    same = {"prompt": prompt["id"], "engine": engine}
    if output == LETTERS:
        yield {**same, **answers[0]}
    elif output == LIKELIHOOD:
        (answer,) = answers
        for option, shown in enumerate(prompt["options"]):
            values = {name: answer[name][option] if answer[name] else None for name in _LISTS}
            yield {**same, **answer, **values, "option": option, "bytes": len(shown.encode())}
    else:
        for decoding, answer in zip(decodings, answers, strict=True):
            yield {**same, **answer, "temperature": decoding.temperature, "sample": decoding.sample}


def answers_of(
    output: str,
    prompt: Mapping[str, Any],
    rows: Iterator[Mapping[str, Any]],
    decodings: Sequence[Decoding],
    engine: str,
    reasoning: bool = False,
) -> list[dict[str, Any]]:
    """The reverse of `rows_of`; draws as many rows as belong to the prompt.

    Raises ValueError where they are not the rows of this prompt, or another engine gave them.
    """
    count = {LETTERS: 1, LIKELIHOOD: len(prompt["options"]), TEXT: len(decodings)}[output]
    drawn = list(islice(rows, count))
    if [(row["prompt"], row["engine"]) for row in drawn] != [(prompt["id"], engine)] * count:
        raise ValueError(f"not the answers of {engine} to prompt {prompt['id']}")
    answers = [{name: row[name] for name in remembered(output, reasoning).names} for row in drawn]
    if output != LIKELIHOOD or not answers:
        return answers
    lists = {
        name: None if answers[0]["problem"] is not None else [answer[name] for answer in answers]
        for name in _LISTS
    }
    return [{**answers[0], **lists}]
