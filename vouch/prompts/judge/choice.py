"""What a judge is told of an answer to a question with options, and what its reply comes to.

The answer may hold anything, instructions to the judge included: it is cut to a bounded length, its markup
can be no control token of a model, and the lines around it hold digits that follow from all of it.
"""

import hashlib
import string
from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from vouch.metrics.text.parsers.marks import NONE, OPTION, SEVERAL, Choices, Reading, opening
from vouch.metrics.text.parsers.reader.prepare import shortened
from vouch.metrics.text.wording import EDGES
from vouch.pipeline.yaml12 import load

LONGEST_QUESTION, LONGEST_OPTION = 2_000, 500
FIRST, LAST = 1_500, 4_500
"""Characters of an answer that the judge sees."""
_MARKUP = str.maketrans("<>|", "‹›¦")
_UNDECIDED = {"several": SEVERAL, "none": NONE}


class Template(BaseModel):
    """choice.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: int
    text: str


@cache
def template() -> Template:
    """What the judge is told."""
    return Template.model_validate(load(Path(__file__).with_suffix(".yaml")))


def prompt(text: str, choices: Choices) -> str:
    """The whole text that the judge gets."""
    answer = _bounded(_harmless(shortened(text)))
    options = zip(_letters(choices), choices.texts, strict=True)
    return (
        template()
        .text.format(
            fence=_fence(answer),
            question=_line(choices.question, LONGEST_QUESTION) or "(not given)",
            options="\n".join(f"{mark}. {_line(option, LONGEST_OPTION)}" for mark, option in options),
            answer=answer,
        )
        .strip()
    )


def verdict(reply: str | None, choices: Choices) -> Reading:
    """One option, several or none: a reply that is none of these words or letters is none."""
    said = (reply or "").rpartition("</think>")[2].strip().partition("\n")[0]
    found = _UNDECIDED.get(said.strip(EDGES).casefold())
    place = None if found else opening(said, Choices(_letters(choices), choices.texts))
    return Reading(found or NONE) if place is None else Reading(OPTION, (place,))


def _letters(choices: Choices) -> tuple[str, ...]:
    """The marks as they were shown, where they tell the options apart; else letters."""
    shown = [mark.strip().casefold() for mark in choices.marks]
    if len(set(filter(None, shown))) == len(choices.texts):
        return choices.marks
    return tuple(string.ascii_uppercase[: len(choices.texts)])


def _harmless(text: str) -> str:
    """No markup that a tokenizer would take for a token of its own."""
    return text.translate(_MARKUP)


def _line(text: str, longest: int) -> str:
    return " ".join(_harmless(text).split())[:longest]


def _bounded(text: str) -> str:
    return text if len(text) <= FIRST + LAST else f"{text[:FIRST]}\n[...]\n{text[-LAST:]}"


def _fence(answer: str) -> str:
    """A line that the answer does not hold."""
    digest = hashlib.sha256(answer.encode("utf-8", "replace")).hexdigest()
    while digest[:12] in answer:
        digest = hashlib.sha256(digest.encode()).hexdigest()
    return f"ANSWER {digest[:12]}"
