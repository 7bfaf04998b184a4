"""What a judge is told of an answer to a question with options, and what its reply comes to."""

import string

from vouch.metrics.text.parsers.marks import NONE, OPTION, SEVERAL, Choices, Reading, opening
from vouch.metrics.text.wording import EDGES
from vouch.prompts.judge.quoting import LONGEST_OPTION, filled, line, without_thought

WORDS = "choice"
_UNDECIDED = {"several": SEVERAL, "none": NONE}


def prompt(text: str, choices: Choices) -> str:
    """The whole text that the judge gets."""
    options = zip(_letters(choices), choices.texts, strict=True)
    listed = "\n".join(f"{mark}. {line(option, LONGEST_OPTION)}" for mark, option in options)
    return filled(WORDS, choices.question, text, options=listed)


def verdict(reply: str | None, choices: Choices) -> Reading:
    """One option, several or none: a reply that is none of these words or letters is none."""
    said = without_thought(reply).partition("\n")[0]
    found = _UNDECIDED.get(said.strip(EDGES).casefold())
    place = None if found else opening(said, Choices(_letters(choices), choices.texts))
    return Reading(found or NONE) if place is None else Reading(OPTION, (place,))


def _letters(choices: Choices) -> tuple[str, ...]:
    """The marks as they were shown, where they tell the options apart; else letters."""
    shown = [mark.strip().casefold() for mark in choices.marks]
    if len(set(filter(None, shown))) == len(choices.texts):
        return choices.marks
    return tuple(string.ascii_uppercase[: len(choices.texts)])
