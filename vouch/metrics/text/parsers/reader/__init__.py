"""The reader of answers: it collects all that speaks for or against an option, and weighs it.

To add a language, add its lines to cues.toml. spans.py finds the places that name options, before.py and
context.py what stands around them, weigh.py what each is worth, decide.py holds the rules; statements.py
reads what names no option by its own words, open.py answers to open questions.
"""

from vouch.metrics.text.numbers import boxed, number, undressed
from vouch.metrics.text.parsers.marks import NONE, OPTION, SEVERAL, Choices, Reading, opening
from vouch.metrics.text.parsers.reader.decide import EXPLICIT, PASSING, decide
from vouch.metrics.text.parsers.reader.options import Known, known, without_article
from vouch.metrics.text.parsers.reader.prepare import ANSWERED, bare, cut, lowered, restated, shortened
from vouch.metrics.text.wording import EDGES

_BARE, _SHORT = 4, 400
_AFTER_MARK = (".", ")", ":")


def read(text: str, choices: Choices) -> Reading:
    """What the text says: one option, several, none, or that it declines; and the reason."""
    text = shortened(text)
    if len(text) <= _BARE:  # without a look at the options, which takes longer
        plain = text.strip(EDGES).lower()
        for place, mark in enumerate(choices.marks):
            if plain and mark.lower() == plain:
                return Reading(OPTION, (place,), "mark alone", plain)
    options = known(choices)
    whole = _whole(text, options)
    if whole is not None:
        return whole
    said = bare(text)
    head = cut(said)
    if head and (reading := _read(head, options, choices.question)).verdict != NONE:
        goes_on = len(head) > ANSWERED and reading.kind in PASSING
        again = said if goes_on else restated(said, head)
        weak = again and reading.kind not in EXPLICIT and opening(head, choices) is None
        solved = _read(again, options, choices.question) if weak else reading
        return solved if solved.kind in EXPLICIT else reading
    return _read(said, options, choices.question)


def _read(said: str, options: Known, question: str) -> Reading:
    return _boxed(said, options) or decide(*lowered(said), options, question)


def _boxed(said: str, options: Known) -> Reading | None:
    """What the last box holds, where it is nothing but an option."""
    content = boxed(said)
    reading = _whole(content, options) if content else None
    return reading._replace(kind=f"boxed {reading.kind.partition(' ')[0]}") if reading else None


def _whole(text: str, options: Known) -> Reading | None:
    """A text that is nothing but a mark, an option's text, both, or its value; None for any other."""
    if len(text) > _SHORT:
        return None
    if len(text) > 1:
        text = " ".join(undressed(text).lower().split())
    plain = text.strip(EDGES).lower()
    place = options.places.get(plain)
    if place is not None:
        return Reading(OPTION, (place,), "mark alone", plain)
    place = _named(plain, options)
    if place is not None:
        return Reading(OPTION, (place,), "text alone", plain)
    if options.values and (value := number(text.strip(" .,;!\n"))) is not None:
        place = options.valued(value)
        if place is not None:
            return Reading(OPTION, (place,), "value alone", plain)
    place = options.places.get(plain[:1])
    if place is not None and plain[1:2] in _AFTER_MARK:
        rest = plain[2:].strip(EDGES)
        if rest and rest in (options.texts[place], without_article(options.texts[place])):
            return Reading(OPTION, (place,), "mark and text alone", plain)
        other = _named(rest, options)
        if other is not None and other != place and plain[:2] != "a:":
            return Reading(SEVERAL, tuple(sorted((place, other))), "mark and another text", plain)
    return None


def _named(plain: str, options: Known) -> int | None:
    place = options.unique.get(plain, options.unique.get(without_article(plain)))
    return options.equal.get(plain) if place is None else place
