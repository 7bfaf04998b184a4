"""Takes questions apart, as far as the rule rewriter (engines/rules.py) needs it.

`parse` gives the parts of a question, or raises Cannot. `clause` gives the question as a
clause that follows other words: `what colour the circle is`. English puts the verb of a question before its
subject, and that of a clause after it; no table of words can say in general where the subject ends. These
functions know the forms in which this is clear, and refuse the rest.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from vouch.pipeline.yaml12 import load
from vouch.prompts.rewrites.checks import NEGATION
from vouch.prompts.rewrites.content import LEAD, YES_NO

IN_PICTURE = r" in the (?:picture|image|photo)"
_END = re.compile(r"\s*([.?!？。！]*)$")
_INNER = re.compile(r"[.?!:;](\s|$)|[？。！]")
_IMPERATIVE = re.compile(
    r"^(?:please |carefully |look at [\w ]+ and |look and )*"
    r"(?:select|name|choose|pick|identify|determine|state|count|tell|describe|find|look|list|point|give|say|"
    r"estimate|decide|report|complete|explain|indicate)\b(?! of\b)",
    re.IGNORECASE,
)


class Cannot(Exception):
    """The rules have no rewrite; the message says why."""


@dataclass(frozen=True)
class Sentence:
    """lead: `Based on the image, ` or the like, or nothing. body: the rest, without its end mark.

    asks: whether it ends with a question mark.
    """

    lead: str
    body: str
    asks: bool

    @property
    def negated(self) -> bool:
        """Whether it contains a negation."""
        return NEGATION.search(self.body) is not None

    @property
    def imperative(self) -> bool:
        """Whether it is an instruction."""
        return not self.asks and _IMPERATIVE.match(self.body) is not None

    @property
    def yes_no(self) -> bool:
        """Whether it asks for yes or no."""
        indirect = re.search(r"\b(?:if|whether)\b", self.body) is not None
        return indirect or (self.asks and YES_NO.match(self.body) is not None)

    @property
    def lower(self) -> str:
        """The body with a small first letter, to follow other words."""
        return self.body[:1].lower() + self.body[1:]


def parse(text: str) -> Sentence:
    """The parts of one sentence. Raises Cannot if there are several, or clauses separated by commas."""
    text = " ".join(text.split())
    end = _END.search(text)
    body = text[: end.start()] if end else text
    if _INNER.search(body):
        raise Cannot("holds several sentences")
    lead = LEAD.match(body)
    head = lead[0] if lead else ""
    body = body[len(head) :]
    if not body:
        raise Cannot("holds no question")
    if "," in body or '"' in body or "“" in body:
        raise Cannot("holds several clauses or a quotation")
    if re.search(r"<image", body):
        raise Cannot("speaks of a picture by its mark")
    return Sentence(head, body, bool(end and set("?？") & set(end[1])))


def shaped(shapes: Sequence[tuple[str, str]], text: str) -> str | None:
    """The shape of the first pattern that matches, with {1} and {2} replaced by its groups; or None."""
    for pattern, shape in shapes:
        if match := re.fullmatch(pattern, text):
            return shape.format("", *match.groups(""))
    return None


def capital(text: str) -> str:
    """The text with a capital first letter."""
    return text[:1].upper() + text[1:]


def semantic(text: str) -> Sentence:
    """A sentence whose answer can be flipped. Raises Cannot if a negation, or yes and no, rule it out."""
    sentence = parse(text)
    if sentence.negated:
        raise Cannot("holds a negation already")
    if sentence.yes_no:
        raise Cannot("asks for yes or no, and a turned question may get the same answer")
    return sentence


_COMPARES = re.compile(
    r"(?:^|\b(?:is|are|was|were|has|have|shows?|contains?|with|see|sees|looks?|appears?|seems?|happens|\w+ing)"
    r"(?: a| an| the)?\s)$",
    re.IGNORECASE,
)


def compared(body: str, index: int) -> bool:
    """Whether the question asks about the comparative at an index and does not just mention it."""
    return _COMPARES.search(body[:index]) is not None


BE = "(?:is|are|was|were)"
MODAL = "(?:can|could|will|would|should|may|might)"
PREPOSITION = "(?:in|on|at|of|to|with|from|by|for|near|under|over|behind|into|about|between|inside|beside)"
_WORDS: dict[str, Any] = load(Path(__file__).parent / "words.yaml")
THIRD: dict[str, str] = _WORDS["third_persons"]
_SUPERLATIVE = re.compile(r"^the (?:most|least|same|only|first|last|best|worst|main|\w+est)\b", re.IGNORECASE)


def opens_subject(rest: str) -> bool:
    """Whether the words after a verb begin with its subject."""
    first = rest.split(" ")[0].lower()
    return first in _WORDS["pronouns"] or (first in _WORDS["determiners"] and not _SUPERLATIVE.match(rest))


def inverted(asked: str, rest: str) -> bool:
    """Whether the subject follows `is`. In `Which one is the tallest tree` it comes before."""
    return opens_subject(rest) and not re.match(r"^which(?: one| of .+)?$", asked)


def check_no_subject(asked: str, rest: str) -> None:
    """Raises Cannot if the words after a verb may be its subject, as a name or a bare noun may."""
    first = rest.split(" ")[0]
    if first[:1].isupper() or first[:1].isdigit():
        raise Cannot("may have a name as its subject")
    if first == rest and asked.startswith("what"):
        raise Cannot("may have a bare noun as its subject")


def check_active(verb: str, rest: str) -> None:
    """Raises Cannot if the subject may follow an auxiliary verb."""
    if verb == "have" or re.fullmatch(MODAL, verb):
        if opens_subject(rest) or participle(rest.split(" ")[0]):
            raise Cannot("has a subject whose end is not plain")
        check_no_subject("which", rest)


def subject_and_rest(rest: str) -> tuple[str, str]:
    """The words after `is`, split into the subject and the predicate, which may be empty.

    Raises Cannot if it is not clear where the subject ends.
    """
    words = rest.split(" ")
    if words[0].lower() in _WORDS["pronouns"]:
        return words[0], " ".join(words[1:])
    if re.search(rf" {PREPOSITION}$", rest):
        raise Cannot("ends with a preposition, whose noun stands elsewhere")
    verb = next((index for index, word in enumerate(words) if index and participle(word)), None)
    if verb is not None:
        return _before_verb(words, verb)
    if re.search(r" (?:likely|probably|usually|to) ", f"{rest} "):
        raise Cannot("has a subject whose end is not plain")
    if re.search(r" (?:that|which|who) ", f"{rest} "):
        raise Cannot("has a clause within")
    return rest, ""


def _before_verb(words: list[str], index: int) -> tuple[str, str]:
    """The subject before a verb in -ing or -ed, and the rest from the verb on. Raises Cannot."""
    subject, verb, after = " ".join(words[:index]), words[index], " ".join(words[index + 1 :])
    plain = 2 <= index <= 4 and not re.search(rf" {PREPOSITION}( |$)|ly$", subject)
    if plain and not after:
        return subject, verb
    if not plain or not re.match(rf"{PREPOSITION} ", f"{after} ") or verb.endswith("ed"):
        raise Cannot("has a verb whose subject is not plain")
    return subject, f"{verb} {after}"


def has_verb(rest: str) -> bool:
    """Whether a verb in -ing or -ed follows the first word."""
    return any(participle(word) for word in rest.split(" ")[1:])


def participle(word: str) -> bool:
    """Whether a word ends in -ing or -ed, and not just by chance (`building`, `red`)."""
    return re.search(r"\w{2}(?:ing|ed)$", word) is not None and word.lower() not in _WORDS["not_participles"]


_FACETS = "colour|color|shape|number|place|size|name|kind|type|position|material|direction|corner"

_PLAIN = (
    (rf"({BE}) there (.+)", "if there {1} {2}"),
    (rf"({MODAL}) (you|it|they|he|she|we) (.+)", "if {2} {1} {3}"),
    (r"do (you|they|we) (.+)", "if {1} {2}"),
    (rf"how many (.+?) ({BE}) there( .+)?", "how many {1} there {2}{3}"),
    (rf"how many (.+?) ({MODAL}) (you|we) (.+)", "how many {1} {3} {2} {4}"),
)
_CAN_YOU = (
    (
        rf"((?:\w+ )?(?:what|which|where|who)(?: \w+){{0,3}}) ({MODAL}) (you|we|it) (.+)",
        "{1} {3} {2} {4}",
    ),
)
_NOUNS = ((rf"((?:{_FACETS}) of \S+.*)", "the {1}"), (rf"((?:a|an) .+{IN_PICTURE})", "if there is {1}"))


def clause(body: str) -> str:
    """The clause for a question without its lead and end mark, first letter small. Raises Cannot."""
    shapes: tuple[Callable[[str], str | None], ...] = (
        *(partial(shaped, _PLAIN), _yes_no, _how_many, _does, partial(shaped, _CAN_YOU)),
        *(_be, _subject, partial(shaped, _NOUNS), _statement),
    )
    for shape in shapes:
        words = shape(body)
        if words:
            return words
    raise Cannot("has no shape that the rules know")


def _yes_no(body: str) -> str | None:
    match = re.match(rf"^({BE}) ((?:the|this|that|these|those|its|his|her|their) .+)$", body)
    if match:
        subject, predicate = _described(match[2])
        return f"if {subject} {match[1]} {predicate}"
    return None


def _described(rest: str) -> tuple[str, str]:
    """The subject and the predicate of a yes-no question."""
    compared = re.match(r"^((?:\S+ ){1,8}?\S+) ((?:the same|more|less)\s.+)$", rest)
    placed = re.match(r"^((?:\S+ ){1,3}?\S+) ((?:a|an|in|on|at|inside|under|behind|above|below)\s.+)$", rest)
    match = compared or placed
    if not match or has_verb(match[1]) or re.search(rf" {PREPOSITION}$", match[1]):
        raise Cannot("has a subject whose end is not plain")
    return match[1], match[2]


def _how_many(body: str) -> str | None:
    if not body.startswith("how many "):
        return None
    match = re.match(rf"^how many .+? (?:(have|contain|show)|{BE}) (.+)$", body)
    if match and (match[1] or not opens_subject(match[2])):
        return body
    raise Cannot("counts in a shape that the rules do not know")


def _does(body: str) -> str | None:
    match = re.match(r"^((?:in |on |at )?(?:what|which|whose)(?: \w+){0,3}) (does|do) (?!not )(.+)$", body)
    if not match:
        return None
    rest = re.match(rf"^((?:\S+ ){{0,4}}\S+) ({'|'.join(THIRD)})((?: .+)?)$", match[3])
    if not rest or not (opens_subject(rest[1]) or match[2] == "do"):
        raise Cannot("has a verb that the rules do not know")
    if re.search(rf"(^| ){PREPOSITION}( |$)| {PREPOSITION}$", f"{rest[1]}{rest[3]}"):
        raise Cannot("has a subject whose end is not plain")
    verb = THIRD[rest[2]] if match[2] == "does" else rest[2]
    return f"{match[1]} {rest[1]} {verb}{rest[3]}"


def _be(body: str) -> str | None:
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
        return body
    if asked == "what" and re.match(r"^the [\w’' -]+? of .+$", rest) and not has_verb(rest):
        return rest
    if asked == "what" and not has_verb(rest):
        noun = re.match(rf"^the (?:{_FACETS})\b", rest)
        if not noun:
            raise Cannot("asks what a thing is")
        return rest
    subject, predicate = subject_and_rest(rest)
    return " ".join(filter(None, (asked, subject, verb, predicate)))


def _subject(body: str) -> str | None:
    """The question unchanged, if its question word is the subject: then the word order stays. Else None."""
    verbs = "|".join([*THIRD.values(), *THIRD, MODAL, "does not", "do not", "did not"])
    match = re.match(rf"^((?:what|which|whose|who)(?: [\w’'-]+){{0,4}}?) ({verbs}) (.+)$", body)
    if not match:
        return None
    check_active(match[2], match[3])
    return body


def _statement(body: str) -> str | None:
    """`if` and the question, for a statement with a question mark; else None."""
    inner = re.search(r"\b(?:what|which|who|whose|where|how)\b", body)
    if not inner and re.match(rf"^(?:the|this|there) .*?\b(?:{BE}|has|have)\b .+", body):
        return f"if {body}"
    return None
