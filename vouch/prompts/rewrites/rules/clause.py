"""A question as a clause that other words can carry: `what colour the circle is`.

English puts the verb of a question before its subject, and a clause puts it behind. That needs to know
where the subject ends, which no table of words can tell in general. So these rules take the shapes in
which it is plain, and refuse the rest.
"""

import re
from collections.abc import Callable
from functools import partial

from vouch.prompts.rewrites.rules.sentence import IN_PICTURE, Cannot, shaped
from vouch.prompts.rewrites.rules.subject import (
    BE,
    MODAL,
    PREPOSITION,
    THIRD,
    check_active,
    check_no_subject,
    has_verb,
    inverted,
    opens_subject,
    subject_and_rest,
)

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
        found = shape(body)
        if found:
            return found
    raise Cannot("has no shape that the rules know")


def _yes_no(body: str) -> str | None:
    match = re.match(rf"^({BE}) ((?:the|this|that|these|those|its|his|her|their) .+)$", body)
    if match:
        subject, said = _described(match[2])
        return f"if {subject} {match[1]} {said}"
    return None


def _described(rest: str) -> tuple[str, str]:
    """A subject and what a yes-no question says of it."""
    compared = re.match(r"^((?:\S+ ){1,8}?\S+) ((?:the same|more|less)\s.+)$", rest)
    placed = re.match(r"^((?:\S+ ){1,3}?\S+) ((?:a|an|in|on|at|inside|under|behind|above|below)\s.+)$", rest)
    parted = compared or placed
    if not parted or has_verb(parted[1]) or re.search(rf" {PREPOSITION}$", parted[1]):
        raise Cannot("has a subject whose end is not plain")
    return parted[1], parted[2]


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
    subject, said = subject_and_rest(rest)
    return " ".join(filter(None, (asked, subject, verb, said)))


def _subject(body: str) -> str | None:
    """`which` is the subject itself: the order of words stays."""
    verbs = "|".join([*THIRD.values(), *THIRD, MODAL, "does not", "do not", "did not"])
    match = re.match(rf"^((?:what|which|whose|who)(?: [\w’'-]+){{0,4}}?) ({verbs}) (.+)$", body)
    if not match:
        return None
    check_active(match[2], match[3])
    return body


def _statement(body: str) -> str | None:
    """A statement that asks by its question mark alone."""
    inner = re.search(r"\b(?:what|which|who|whose|where|how)\b", body)
    if not inner and re.match(rf"^(?:the|this|there) .*?\b(?:{BE}|has|have)\b .+", body):
        return f"if {body}"
    return None
