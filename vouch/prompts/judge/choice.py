"""What a judge is told of an answer to a question with options, and what its reply comes to."""

import re
import string

from vouch.metrics.text.numbers import number
from vouch.metrics.text.reader.options import (
    NONE,
    OPTION,
    SEVERAL,
    Choices,
    Reading,
    compared,
    known,
    opening,
    without_article,
)
from vouch.metrics.text.reader.reader import read
from vouch.metrics.text.wording import EDGES
from vouch.prompts.judge.quoting import LONGEST_OPTION, filled, line, without_thought

WORDS = "choice"
_BEGINS = re.compile(r"[\s\"'`*_(\[]{0,8}(\w{1,4})(?!\w)")
_UNDECIDED = {"several": SEVERAL, "none": NONE}


def prompt(text: str, choices: Choices) -> str:
    """The whole text that the judge gets."""
    options = zip(_letters(choices), choices.texts, strict=True)
    listed = "\n".join(f"{mark}. {line(option, LONGEST_OPTION)}" for mark, option in options)
    return filled(WORDS, choices.question, text, options=listed)


def verdict(reply: str | None, choices: Choices) -> Reading:
    """One option, several or none: a reply that is none of these words or letters is none.

    Beside its letter stands an option's own text or something else, not the text of another option; and no
    other line begins with another letter, as where the options are only repeated.
    """
    lines = without_thought(reply).splitlines() or [""]
    found = _UNDECIDED.get(lines[0].strip(EDGES).casefold())
    asked = Choices(_letters(choices), choices.texts)
    place = _place(lines[0], asked)
    begins = _BEGINS.match(lines[0])
    rest = "\n".join((lines[0][begins.end() :] if begins else "", *lines[1:]))
    told = read(rest, Choices((), choices.texts)) if place is not None else Reading(NONE)
    if told.verdict == OPTION and told.places != (place,):
        return Reading(NONE)
    if found or place is None or any(_place(line, asked) not in (place, None) for line in lines[1:]):
        return Reading(found or NONE)
    return Reading(OPTION, (place,))


def _place(line: str, choices: Choices) -> int | None:
    """Of the option whose letter opens a line: `B`, `(b)`, `B. It barks`, `B (a dog)`."""
    place, options = opening(line, choices), known(choices)
    begins = _BEGINS.match(line)
    mark = begins[1].lower() if begins else ""
    said = compared(line[begins.end() :].lstrip(" -\N{EN DASH}\N{EM DASH}")) if begins else ""
    value = number(said) if options.values else None
    named = (
        options.unique.get(without_article(said), options.unique.get(said))
        if value is None
        else options.valued(value)
    )
    if named is not None:  # a mark with the text of its own option, or of another one
        return named if options.places.get(mark) == named else None
    return place if read(line, choices).places in ((), (place,)) else None


def _letters(choices: Choices) -> tuple[str, ...]:
    """The marks as they were shown, where they tell the options apart; else letters."""
    shown = [mark.strip().casefold() for mark in choices.marks]
    if len(set(filter(None, shown))) == len(choices.texts):
        return choices.marks
    return tuple(string.ascii_uppercase[: len(choices.texts)])
