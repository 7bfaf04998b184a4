"""Where the subject of a question ends, as far as words alone tell. The rules refuse where they do not."""

import re
from pathlib import Path
from typing import Any

from vouch.pipeline.yaml12 import load
from vouch.prompts.rewrites.rules.sentence import Cannot

BE = "(?:is|are|was|were)"
MODAL = "(?:can|could|will|would|should|may|might)"
PREPOSITION = "(?:in|on|at|of|to|with|from|by|for|near|under|over|behind|into|about|between|inside|beside)"
_WORDS: dict[str, Any] = load(Path(__file__).parent / "words.yaml")
THIRD: dict[str, str] = _WORDS["third_persons"]
_SUPERLATIVE = re.compile(r"^the (?:most|least|same|only|first|last|best|worst|main|\w+est)\b", re.IGNORECASE)


def opens_subject(rest: str) -> bool:
    """Whether what follows a verb begins with its subject."""
    first = rest.split(" ")[0].lower()
    return first in _WORDS["pronouns"] or (first in _WORDS["determiners"] and not _SUPERLATIVE.match(rest))


def inverted(asked: str, rest: str) -> bool:
    """Whether the subject follows `is`. `Which one is the tallest tree` has it in front."""
    return opens_subject(rest) and not re.match(r"^which(?: one| of .+)?$", asked)


def check_no_subject(asked: str, rest: str) -> None:
    """Raises Cannot where what follows a verb may be its subject: a name, a bare noun."""
    first = rest.split(" ")[0]
    if first[:1].isupper() or first[:1].isdigit():
        raise Cannot("may have a name as its subject")
    if first == rest and asked.startswith("what"):
        raise Cannot("may have a bare noun as its subject")


def check_active(verb: str, rest: str) -> None:
    """Raises Cannot where the subject may stand behind a verb that helps another one."""
    if verb == "have" or re.fullmatch(MODAL, verb):
        if opens_subject(rest) or participle(rest.split(" ")[0]):
            raise Cannot("has a subject whose end is not plain")
        check_no_subject("which", rest)


def subject_and_rest(rest: str) -> tuple[str, str]:
    """What follows `is`, parted into the subject and what is said of it (nothing, where it ends).

    Raises Cannot where the end of the subject is not plain.
    """
    words = rest.split(" ")
    if words[0].lower() in _WORDS["pronouns"]:
        return words[0], " ".join(words[1:])
    if re.search(rf" {PREPOSITION}$", rest):
        raise Cannot("ends with a preposition, whose noun stands elsewhere")
    place = next((place for place, word in enumerate(words) if place and participle(word)), None)
    if place is not None:
        return _before_verb(words, place)
    if re.search(r" (?:likely|probably|usually|to) ", f"{rest} "):
        raise Cannot("has a subject whose end is not plain")
    if re.search(r" (?:that|which|who) ", f"{rest} "):
        raise Cannot("has a clause within")
    return rest, ""


def _before_verb(words: list[str], place: int) -> tuple[str, str]:
    """The subject before a verb in -ing or -ed, and the rest from there on. Raises Cannot."""
    subject, verb, after = " ".join(words[:place]), words[place], " ".join(words[place + 1 :])
    plain = 2 <= place <= 4 and not re.search(rf" {PREPOSITION}( |$)|ly$", subject)
    if plain and not after:
        return subject, verb
    if not plain or not re.match(rf"{PREPOSITION} ", f"{after} ") or verb.endswith("ed"):
        raise Cannot("has a verb whose subject is not plain")
    return subject, f"{verb} {after}"


def has_verb(rest: str) -> bool:
    """Whether a verb in -ing or -ed stands behind the first word."""
    return any(participle(word) for word in rest.split(" ")[1:])


def participle(word: str) -> bool:
    """Whether a word ends in -ing or -ed, and is none that does so by chance (`building`, `red`)."""
    return re.search(r"\w{2}(?:ing|ed)$", word) is not None and word.lower() not in _WORDS["not_participles"]
