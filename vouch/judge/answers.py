"""Which answers a judge reads: greedy texts that the rules leave undecided, and answers to open questions.

The rules (vouch/metrics/text/parsers.py) decide every explicit answer, so the judge gets none of these. The
columns read here do not say which option is correct.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from vouch.judge.prompts import (
    CHOICE,
    OPEN_ANSWER,
    choice_prompt,
    choice_verdict,
    judge_prompt,
    open_prompt,
    open_verdict,
)
from vouch.metrics.config import ScoreConfig
from vouch.metrics.text.judge import UNDECIDED, OpenAnswer, key
from vouch.metrics.text.parsers import read
from vouch.metrics.text.reader.options import Choices
from vouch.metrics.text.reader.reader import shortened
from vouch.metrics.text.texts import choices_of, stated
from vouch.tables.answered import TEXT
from vouch.tables.asked import ITEMS, ORIGINAL, PROMPTS, VERBALISED, items_path, prompts_path, read_as

OF_TEXTS = ("prompt", "temperature", "text")
OF_PROMPTS = ("id", "item", "variation", "options", "labels", "effect", "template")
OF_ITEMS = ("id", "kind", "question")
OF_OPEN = ("id", "kind", "question", "references")


@dataclass(frozen=True)
class UndecidedAnswer:
    """An answer to a question with options; the judge says which option it chooses."""

    text: str
    choices: Choices
    kind: ClassVar[str] = CHOICE

    @property
    def prompt(self) -> str:
        """What the judge is asked."""
        return choice_prompt(self.text, self.choices)

    def columns(self, reply: str | None) -> dict[str, str | int | None]:
        """Columns of the judged table."""
        reading = choice_verdict(reply, self.choices)
        return {"verdict": reading.verdict, "index": next(iter(reading.places), None)}


@dataclass(frozen=True)
class JudgedOpenAnswer:
    """An answer to an open question; the judge says whether it is correct."""

    answer: OpenAnswer
    kind: ClassVar[str] = OPEN_ANSWER

    @property
    def prompt(self) -> str:
        """What the judge is asked."""
        return open_prompt(self.answer)

    def columns(self, reply: str | None) -> dict[str, str | int | None]:
        """Columns of the judged table."""
        return {"verdict": open_verdict(reply), "index": None}


ToJudge = Mapping[str, UndecidedAnswer | JudgedOpenAnswer]
"""Answers by the digest under which the verdict is stored, in the order of the digests."""


def prompt_version(kind: str) -> int:
    """Version of a kind's prompt."""
    return judge_prompt(kind).version


def answers_to_judge(dataset: str, responses: Iterable[Path], config: ScoreConfig) -> ToJudge:
    """The distinct answers of all models that the judge reads. responses: tables of texts."""
    prompts = PROMPTS.read(prompts_path(dataset), OF_PROMPTS)
    items = ITEMS.read(items_path(dataset), OF_ITEMS)
    references = ITEMS.read(items_path(dataset), OF_OPEN) if config.judge.open else None
    chosen: dict[str, UndecidedAnswer | JudgedOpenAnswer] = {}
    for path in responses:
        texts = TEXT.read(path, OF_TEXTS)
        for _, text, choices in choice_answers(texts, prompts, items):
            if undecided(text, choices, config.parsers):
                chosen[key(text, choices)] = UndecidedAnswer(text, choices)
        if references is not None:
            for _, answer in open_answers(texts, prompts, references):
                if answer.key:
                    chosen[answer.key] = JudgedOpenAnswer(answer)
    return dict(sorted(chosen.items()))


def undecided(text: str, choices: Choices, parsers: Sequence[str]) -> bool:
    """Whether an answer has words, and the rules find no option in it or several."""
    return read(text, choices, parsers)[1].verdict in UNDECIDED and bool(shortened(text))


def choice_answers(
    texts: pa.Table, prompts: pa.Table, items: pa.Table
) -> Iterator[tuple[Mapping[str, Any], str, Choices]]:
    """Greedy texts that answer questions with options: the prompt, the text and the options as parsers get
    them."""
    rows = {row["id"]: row for row in items.to_pylist() if row["kind"] == "choice"}
    for prompt, text in _greedy(texts, prompts):
        if prompt["item"] in rows and prompt["options"]:
            question = rows[prompt["item"]]["question"]
            yield prompt, text, choices_of(prompt["labels"], prompt["options"], prompt["effect"], question)


def open_answers(texts: pa.Table, prompts: pa.Table, items: pa.Table) -> Iterator[tuple[str, OpenAnswer]]:
    """Greedy answers to the original prompts of open questions that have references, each with its item."""
    rows = {row["id"]: row for row in items.to_pylist() if row["kind"] != "choice" and row["references"]}
    for prompt, text in _greedy(texts, prompts):
        if prompt["item"] in rows and prompt["variation"] == ORIGINAL:
            row = rows[prompt["item"]]
            yield prompt["item"], OpenAnswer(row["question"] or "", tuple(row["references"]), text)


def _greedy(texts: pa.Table, prompts: pa.Table) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Prompts with their greedy texts, without the confidence that a text states."""
    by_id = {row["id"]: row for row in prompts.to_pylist()}
    for answer in texts.to_pylist():
        prompt, text = by_id.get(answer["prompt"]), answer["text"]
        if prompt is not None and answer["temperature"] == 0 and text is not None:
            yield prompt, stated(text)[0] if read_as(prompt["template"]) == VERBALISED else text
