"""What all prompts of a judge share: their words from a file, and strange text that can do no harm.

An answer may hold anything, instructions to the judge included: it is cut to a bounded length, its markup
can be no control token of a model, and the lines around it hold digits that follow from all of it.
"""

import hashlib
import re
from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from vouch.metrics.text.reader.reader import shortened
from vouch.pipeline.yaml12 import load
from vouch.tables.thoughts import apart

LONGEST_QUESTION, LONGEST_OPTION = 2_000, 500
FIRST, LAST = 1_500, 4_500
"""Characters of an answer that the judge sees."""
_MARKUP = str.maketrans("<>|", "‹›¦")
_BRACKETED = re.compile(  # tokens of Mistral, BERT and GLM; [B], [1, 2] and [YES] are words of an answer
    r"\[(/[A-Z_]+|[A-Z]+(?:_[A-Z]+)+|control_\d+|[gs]?MASK|CLS|SEP|PAD|UNK|BOS|EOS"
    r"|ARGS|AUDIO|IMG|INST|MIDDLE|PREFIX|SUFFIX|THINK|TRANSCRIBE)\]"
)


class JudgePrompt(BaseModel):
    """A yaml file of this folder."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: int
    text: str


@cache
def words(name: str) -> JudgePrompt:
    """The template of the judge's prompt: `choice` or `open_answer`."""
    return JudgePrompt.model_validate(load(Path(__file__).parent / f"{name}.yaml"))


def filled(name: str, question: str, text: str, **more: str) -> str:
    """The judge's whole prompt. text: the answer; more: what else the words name, as it is."""
    answer = bounded(text)
    asked = line(question, LONGEST_QUESTION) or "(not given)"
    return words(name).text.format(fence=_fence(answer), question=asked, answer=answer, **more).strip()


def line(text: str, longest: int) -> str:
    """One line without markup."""
    return " ".join(_plain(text).split())[:longest]


def bounded(text: str) -> str:
    """An answer without markup that a tokenizer would take for a token of its own, cut in its middle."""
    text = _plain(shortened(text))
    return text if len(text) <= FIRST + LAST else f"{text[:FIRST]}\n[...]\n{text[-LAST:]}"


def _plain(text: str) -> str:
    return _BRACKETED.sub(r"‹\1›", text.translate(_MARKUP))


def without_thought(reply: str | None) -> str:
    """A judge's reply after its thought; empty where there is none, or where the thought has no end."""
    return apart(reply or "").answer.strip()


def _fence(answer: str) -> str:
    """A line that the answer does not hold."""
    digest = hashlib.sha256(answer.encode("utf-8", "replace")).hexdigest()
    while digest[:12] in answer:
        digest = hashlib.sha256(digest.encode()).hexdigest()
    return f"ANSWER {digest[:12]}"
