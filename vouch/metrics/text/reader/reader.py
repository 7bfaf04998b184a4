"""Entry of the reader: prepares a text and reads the option that it names.

Tokens, thoughts, LaTeX and questions that the model invents are removed first. A text that is nothing but an
option is decided at once; anything longer goes to `decide`.
"""

import re

from vouch.metrics.text.numbers import number
from vouch.metrics.text.reader.cues import QUESTION, RESTATES
from vouch.metrics.text.reader.decide import ECHOED, EXPLICIT, PASSING, decide
from vouch.metrics.text.reader.options import (
    NONE,
    OPTION,
    SEVERAL,
    Choices,
    Known,
    Reading,
    known,
    opening,
    without_article,
)
from vouch.metrics.text.wording import BOX, EDGES, boxed, tight, trimmed, undressed
from vouch.tables.thoughts import apart

FIRST, LAST = 4_000, 16_000
ANSWERED = 1_000
"""Characters before a further question; beyond these, a mention of an option in passing is not final."""
_TOKENS = re.compile(
    r"<\|[^|<>\n]{1,40}\|>|</?s>|<(?:pad|unk|bos|eos|end_of_turn|start_of_turn|end_of_utterance)>|\[/?INST\]"
)


def shortened(text: str) -> str:
    """The text without thoughts and special tokens; if longer than FIRST + LAST, its beginning and end."""
    text = apart(text).answer
    if len(text) > FIRST + LAST:
        text = f"{text[:FIRST]}\n{text[-LAST:]}"
    if "<" in text or "[" in text:
        text = _TOKENS.sub("\n", text)
    return text.strip()


def prepared(text: str) -> str:
    """The text, shortened and bare."""
    return bare(shortened(text))


def bare(text: str) -> str:
    """The text, undressed, with single asterisks for bold."""
    return undressed(text).replace("**", "*").replace("`", "").replace("__", "")


def lowered(said: str) -> tuple[str, str]:
    """The text and the same in lower case, of the same length."""
    low = said.lower()
    if len(low) != len(said):
        low = "".join(char.lower() if len(char.lower()) == 1 else char for char in said)
    return said, low


def cut(said: str) -> str | None:
    """The text before a question that it makes up; None if it makes up none."""
    question = QUESTION.search(said, 1)
    return None if question is None else said[: question.start()]


def restated(said: str, head: str) -> str:
    """The text after the head, up to a further question, if the model repeats its question; else nothing."""
    if not RESTATES.match(said, len(head)):
        return ""
    further = (found.start() for found in QUESTION.finditer(said, len(head) + 1))
    return said[len(head) : next((at for at in further if not RESTATES.match(said, at)), len(said))]


_BARE, _SHORT = 4, 400
_MARK = re.compile(r"[(\[*]{0,2}([^\W_])[.):\]*]{1,3}(?!\d)\s{0,3}")


def read(text: str, choices: Choices) -> Reading:
    """The reading of a text: one option, several, none, or that it declines; with the reason."""
    text = shortened(text)
    if len(text) <= _BARE:  # without a look at the options, which takes longer
        plain = text.strip(EDGES).lower()
        for place, mark in enumerate(choices.labels):
            if plain and mark.lower() == plain and (plain.isalpha() or trimmed(text).lower() == plain):
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
    """What the last box holds, if that is nothing but an option or equals one, and boxes do not list them."""
    content = boxed(said)
    if said.count(BOX) >= ECHOED:
        held = [_whole(one.split("\n", 1)[0].strip(" {}"), options) for one in said.split(BOX)[1:]]
        if len({reading.places for reading in held if reading}) >= ECHOED:
            return None
    reading = _whole(content, options) if content else None
    if reading is None and "=" in content:
        reading = _whole(content.rpartition("=")[2], options)
    return reading._replace(kind=f"boxed {reading.kind.partition(' ')[0]}") if reading else None


def _whole(text: str, options: Known) -> Reading | None:
    """The reading of a text that is only a mark, an option's text, both, or its value; else None."""
    if len(text) > _SHORT:
        return None
    if len(text) > 1:
        text = " ".join(undressed(text).lower().split())
    exact = trimmed(text).lower()
    if found := _alone(exact, options):
        return found
    plain = text.strip(EDGES).lower()
    value = number(exact) if options.values or plain != exact else None
    if options.values and value is not None:
        # `5!` is 120, or an exclamation.
        place = options.valued(value)
        if place is None and exact.endswith("!"):
            place = options.valued(float(exact[:-1]))
        if place is not None:
            return Reading(OPTION, (place,), "value alone", exact)
    if plain != exact and value is None and (found := _alone(plain, options)):
        return found
    return _marked(exact, options)


def _alone(plain: str, options: Known) -> Reading | None:
    """The reading of a text that is only a mark or only an option's text."""
    place = options.places.get(plain)
    if place is not None:
        return Reading(OPTION, (place,), "mark alone", plain)
    place = _named(plain, options)
    return None if place is None else Reading(OPTION, (place,), "text alone", plain)


def _marked(plain: str, options: Known) -> Reading | None:
    """The reading of a mark followed by the text or the value of an option, even of another one."""
    found = _MARK.match(plain)
    place = options.places.get(found[1]) if found else None
    if found is None or place is None:
        return None
    rest = trimmed(plain[found.end() :])
    if rest and rest in (options.texts[place], without_article(options.texts[place])):
        return Reading(OPTION, (place,), "mark and text alone", plain)
    other = _named(rest, options)
    if other is None and options.values and (value := number(rest)) is not None:
        other = options.valued(value)
    if other == place:
        return Reading(OPTION, (place,), "mark and text alone", plain)
    if other is not None and plain[:2] != "a:":
        return Reading(SEVERAL, tuple(sorted((place, other))), "mark and another text", plain)
    return None


def _named(plain: str, options: Known) -> int | None:
    """The option with this text, ignoring an article and blanks, or with words of the same meaning."""
    place = options.unique.get(plain, options.unique.get(without_article(plain)))
    if place is None and options.compact:
        place = options.compact.get(tight(plain))
    return options.equal.get(plain) if place is None else place
