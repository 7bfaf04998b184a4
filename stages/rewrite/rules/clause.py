"""A question as a clause that other words can carry: `what colour the circle is`.

English puts the verb of a question before its subject, and a clause puts it behind. That needs to know
where the subject ends, which no table of words can tell in general. So these rules take the shapes in
which it is plain, and refuse the rest.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stages.rewrite.rules.sentence import HERE, Cannot
from stages.yaml12 import load

BE = "(?:is|are|was|were)"
_WORDS: dict[str, Any] = load(Path(__file__).parent / "words.yaml")
_MODAL = "(?:can|could|will|would|should|may|might)"
_PREPOSITION = "(?:in|on|at|of|to|with|from|by|for|near|under|over|behind|into|about|between|inside|beside)"
_SUPERLATIVE = re.compile(r"^the (?:most|least|same|only|first|last|best|worst|main|\w+est)\b", re.IGNORECASE)
THIRD: dict[str, str] = _WORDS["third_persons"]

_FACETS = "colour|color|shape|number|place|size|name|kind|type|position|material|direction|corner"


@dataclass(frozen=True)
class Clause:
    """form: `if` (yes or no), `which` (a choice or a number), `what` (other), `the` (a bare noun)."""

    form: str
    text: str


def clause(body: str) -> Clause:
    """The clause for a question without its lead and end mark, first letter small. Raises Cannot."""
    for shape in (_yes_no, _how_many, _does, _can_you, _be, _subject, _noun, _statement):
        found = shape(body)
        if found:
            return found
    raise Cannot("has no shape that the rules know")


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


def subject_and_rest(rest: str) -> tuple[str, str]:
    """What follows `is`, parted into the subject and what is said of it (nothing, where it ends).

    Raises Cannot where the end of the subject is not plain.
    """
    words = rest.split(" ")
    if words[0].lower() in _WORDS["pronouns"]:
        return words[0], " ".join(words[1:])
    if re.search(rf" {_PREPOSITION}$", rest):
        raise Cannot("ends with a preposition, whose noun stands elsewhere")
    for place, word in enumerate(words):
        if _participle(word) and place:
            subject = " ".join(words[:place])
            plain = 2 <= place <= 4 and not re.search(rf" {_PREPOSITION}( |$)|ly$", subject)
            if not plain or re.search(rf"^{_PREPOSITION} ", " ".join(words[place + 1 :]) + " ") is None:
                if plain and place == len(words) - 1:
                    return subject, word
                raise Cannot("has a verb whose subject is not plain")
            if word.endswith("ed"):
                raise Cannot("has a verb whose subject is not plain")
            return subject, " ".join(words[place:])
    if re.search(r" (?:likely|probably|usually|to) ", f"{rest} "):
        raise Cannot("has a subject whose end is not plain")
    if re.search(r" (?:that|which|who) ", f"{rest} "):
        raise Cannot("has a clause within")
    return rest, ""


def _participle(word: str) -> bool:
    return re.search(r"\w{2}(?:ing|ed)$", word) is not None and word.lower() not in _WORDS["not_participles"]


def _yes_no(body: str) -> Clause | None:
    if match := re.match(rf"^({BE}) there (.+)$", body):
        return Clause("if", f"if there {match[1]} {match[2]}")
    if match := re.match(rf"^({_MODAL}) (you|it|they|he|she|we) (.+)$", body):
        return Clause("if", f"if {match[2]} {match[1]} {match[3]}")
    if match := re.match(r"^do (you|they|we) (.+)$", body):
        return Clause("if", f"if {match[1]} {match[2]}")
    match = re.match(rf"^({BE}) ((?:the|this|that|these|those|its|his|her|their) .+)$", body)
    if match:
        subject, said = _described(match[2])
        return Clause("if", f"if {subject} {match[1]} {said}")
    return None


def _described(rest: str) -> tuple[str, str]:
    """A subject and what a yes-no question says of it."""
    compared = re.match(r"^((?:\S+ ){1,8}?\S+) ((?:the same|more|less)\s.+)$", rest)
    placed = re.match(r"^((?:\S+ ){1,3}?\S+) ((?:a|an|in|on|at|inside|under|behind|above|below)\s.+)$", rest)
    parted = compared or placed
    if not parted or _has_verb(parted[1]) or re.search(rf" {_PREPOSITION}$", parted[1]):
        raise Cannot("has a subject whose end is not plain")
    return parted[1], parted[2]


def _how_many(body: str) -> Clause | None:
    if not body.startswith("how many "):
        return None
    if match := re.match(rf"^how many (.+?) ({BE}) there( .+)?$", body):
        return Clause("which", f"how many {match[1]} there {match[2]}{match[3] or ''}")
    if match := re.match(rf"^how many (.+?) ({_MODAL}) (you|we) (.+)$", body):
        return Clause("which", f"how many {match[1]} {match[3]} {match[2]} {match[4]}")
    match = re.match(rf"^how many .+? (?:(have|contain|show)|{BE}) (.+)$", body)
    if match and (match[1] or not opens_subject(match[2])):
        return Clause("which", body)
    raise Cannot("counts in a shape that the rules do not know")


def _does(body: str) -> Clause | None:
    match = re.match(r"^((?:in |on |at )?(?:what|which|whose)(?: \w+){0,3}) (does|do) (?!not )(.+)$", body)
    if not match:
        return None
    rest = re.match(rf"^((?:\S+ ){{0,4}}\S+) ({'|'.join(THIRD)})((?: .+)?)$", match[3])
    if not rest or not (opens_subject(rest[1]) or match[2] == "do"):
        raise Cannot("has a verb that the rules do not know")
    if re.search(rf"(^| ){_PREPOSITION}( |$)| {_PREPOSITION}$", f"{rest[1]}{rest[3]}"):
        raise Cannot("has a subject whose end is not plain")
    verb = THIRD[rest[2]] if match[2] == "does" else rest[2]
    return Clause(_form(match[1]), f"{match[1]} {rest[1]} {verb}{rest[3]}")


def _can_you(body: str) -> Clause | None:
    match = re.match(
        rf"^((?:\w+ )?(?:what|which|where|who)(?: \w+){{0,3}}) ({_MODAL}) (you|we|it) (.+)$", body
    )
    if not match:
        return None
    return Clause(_form(match[1]), f"{match[1]} {match[3]} {match[2]} {match[4]}")


def _be(body: str) -> Clause | None:
    match = re.match(
        rf"^((?:in |on |at )?(?:what|which|whose|where|who)(?: (?!{BE}\b)[\w’'-]+){{0,4}}) ({BE}) (.+)$", body
    )
    if not match:
        return None
    asked, verb, rest = match.groups()
    if asked == "what" and re.match(r"^(?:a|an|some|one)\b", rest):
        raise Cannot("asks what a thing is")
    if not inverted(asked, rest):
        if asked == "where" or asked.startswith(("in ", "on ", "at ")):
            raise Cannot("has a subject whose end is not plain")
        check_no_subject(asked, rest)
        return Clause(_form(asked), body)
    if asked == "what" and re.match(r"^the [\w’' -]+? of .+$", rest) and not _has_verb(rest):
        return Clause("the", rest)
    if asked == "what" and not _has_verb(rest):
        noun = re.match(rf"^the (?:{_FACETS})\b", rest)
        if not noun:
            raise Cannot("asks what a thing is")
        return Clause("the", rest)
    subject, said = subject_and_rest(rest)
    return Clause(_form(asked), " ".join(filter(None, (asked, subject, verb, said))))


def _has_verb(rest: str) -> bool:
    return any(_participle(word) for word in rest.split(" ")[1:])


def _subject(body: str) -> Clause | None:
    """`which` is the subject itself: the order of words stays."""
    verbs = "|".join([*THIRD.values(), *THIRD, _MODAL, "does not", "do not", "did not"])
    match = re.match(rf"^((?:what|which|whose|who)(?: [\w’'-]+){{0,4}}?) ({verbs}) (.+)$", body)
    if not match:
        return None
    check_active(match[2], match[3])
    return Clause(_form(match[1]), body)


def check_active(verb: str, rest: str) -> None:
    """Raises Cannot where the subject may stand behind a verb that helps another one."""
    if verb == "have" or re.fullmatch(_MODAL, verb):
        if opens_subject(rest) or _participle(rest.split(" ")[0]):
            raise Cannot("has a subject whose end is not plain")
        check_no_subject("which", rest)


def _noun(body: str) -> Clause | None:
    if re.match(rf"^(?:{_FACETS}) of \S+", body):
        return Clause("the", f"the {body}")
    if match := re.match(rf"^((?:a|an) .+{HERE})$", body):
        return Clause("if", f"if there is {match[1]}")
    return None


def _statement(body: str) -> Clause | None:
    """A statement that asks by its question mark alone."""
    inner = re.search(r"\b(?:what|which|who|whose|where|how)\b", body)
    if not inner and re.match(rf"^(?:the|this|there) .*?\b(?:{BE}|has|have)\b .+", body):
        return Clause("if", f"if {body}")
    return None


def _form(asked: str) -> str:
    return "which" if re.search(r"\bwhich\b|how many", asked) else "what"
