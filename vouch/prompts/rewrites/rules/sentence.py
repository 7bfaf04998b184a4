"""A question taken apart as far as the rules need it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from vouch.prompts.rewrites.checks import NEGATION

IN_PICTURE = r" in the (?:picture|image|photo)"
_END = re.compile(r"\s*([.?!？。！]*)$")
_INNER = re.compile(r"[.?!:;](\s|$)|[？。！]")
_LEAD = re.compile(
    r"^(?:and |(?:based on|according to|judging from) [^,]+, |"
    r"(?:in|from|on) (?:the|this|that|these) (?:given |above |following )?"
    r"(?:picture|image|photo|figure|diagram|chart|map)s?(?: below| above| shown)?, )",
    re.IGNORECASE,
)
_YES_NO = re.compile(
    r"^(?:is|are|was|were|am|do|does|did|has|have|had|can|could|will|would|shall|should|may|might|must)\b",
    re.IGNORECASE,
)
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
        """Whether a negation stands in it."""
        return NEGATION.search(self.body) is not None

    @property
    def imperative(self) -> bool:
        """Whether it tells to do something."""
        return not self.asks and _IMPERATIVE.match(self.body) is not None

    @property
    def yes_no(self) -> bool:
        """Whether it asks for yes or no."""
        told = re.search(r"\b(?:if|whether)\b", self.body) is not None
        return told or (self.asks and _YES_NO.match(self.body) is not None)

    @property
    def lower(self) -> str:
        """The body with its first letter small, to stand behind other words."""
        return self.body[:1].lower() + self.body[1:]


def parse(text: str) -> Sentence:
    """The parts of one sentence. Raises Cannot where there are several, or clauses that commas part."""
    text = " ".join(text.split())
    end = _END.search(text)
    body = text[: end.start()] if end else text
    if _INNER.search(body):
        raise Cannot("holds several sentences")
    lead = _LEAD.match(body)
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
    """The first shape whose pattern is all of a text, {1}, {2} its groups; None where none is."""
    for pattern, shape in shapes:
        if match := re.fullmatch(pattern, text):
            return shape.format("", *match.groups(""))
    return None


def capital(text: str) -> str:
    """The text with a capital first letter."""
    return text[:1].upper() + text[1:]


def semantic(text: str) -> Sentence:
    """A sentence whose answer can be flipped. Raises Cannot where a negation or yes and no forbid it."""
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


def compared(body: str, place: int) -> bool:
    """Whether the comparative that begins there is what the question compares by, and no remark in it."""
    return _COMPARES.search(body[:place]) is not None
