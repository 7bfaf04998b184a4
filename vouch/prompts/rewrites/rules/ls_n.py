"""LS-N: the question negated with `not`, so that all other options become its answers."""

import re

from vouch.prompts.rewrites.rules.questions import (
    BE,
    IN_PICTURE,
    THIRD,
    Cannot,
    capital,
    check_active,
    check_no_subject,
    inverted,
    semantic,
    shaped,
    subject_and_rest,
)

_HEAD = rf"((?:in |on |at )?(?:what|which|who|where)(?: (?!{BE}\b)[\w’'-]+){{0,4}}?)"
_ADVERB_FIRST = re.compile(
    r"\b(?:best|better|most|more|least|less|also|often|always|still|now|just|even|only|both|each|all) "
    r"(?:does|do|is|are|was|were|can|could|will) ?not\b"
)
_SECOND_VERB = re.compile(rf"\bnot .*\band (?:{BE}|has|have|does|do|can|{'|'.join(THIRD.values())})\b")
_BASE = {third: base for base, third in THIRD.items()}
_OBJECT = re.compile(r"^(?:a|an|the|more|less|fewer|any|some|one|two|three|four|five|six|[\w-]+er|\d+) \S")
_POLITE = re.compile(r"^((?:please )?(?:look|tell)\b.*? (?:tell me|tell|name) |tell me )(.+)$")
_INSTRUCTIONS = (
    (r"(select|name|state|identify|determine|choose|find) the (\w+ of .+)", "{1} what is not the {2}"),
    (r"(.+ that) has (?!.* that (?:is|are|can|you can) .)(.+)", "{1} does not have {2}"),
    (r"(.+ that) (is|are|can|you can) (.+)", "{1} {2} not {3}"),
    (r"(.+ the \w+) with ((?:more|less|fewer|a|an) .+)", "{1} that does not have {2}"),
)
# Clauses behind `tell me`, whose words stand in the order of a statement.
_TOLD = (
    (r"((?:what|which|where)\b.* you can) (\w+)", "{1} not {2}"),
    (r"((?:on|in|at) which \w+ you) (see .+)", "{1} do not {2}"),
    (r"((?:what|which) .+) has", "{1} does not have"),
    (r"((?:where|(?:in |at )?(?:what|which) \w+) .+) is", "{1} is not"),
    (r"(which of them) has (.+)", "{1} does not have {2}"),
)


def rewrite(text: str) -> str:
    """The negated question. Raises Cannot."""
    sentence = semantic(text)
    if sentence.imperative:
        return capital(f"{sentence.lead}{_instruction(sentence.lower)}.")
    if not sentence.asks:
        raise Cannot("neither asks nor instructs")
    return capital(f"{sentence.lead}{_checked(_question(sentence.lower))}?")


def _checked(body: str) -> str:
    """The question itself. Raises Cannot where `not` is ungrammatical or reaches only one of two verbs."""
    if _ADVERB_FIRST.search(body):
        raise Cannot("has an adverb before its verb, where `not` does not fit")
    if _SECOND_VERB.search(body):
        raise Cannot("has two verbs, of which `not` would turn one")
    return body


def _question(body: str) -> str:
    match = re.match(rf"^how many (.+?) are( there)?({IN_PICTURE})?$", body)
    if match and (match[2] or match[3]):
        return f"what is not the number of {match[1]}{match[3] or ''}"
    if body.startswith("how"):
        raise Cannot("asks how many or how, which `not` does not turn")
    if re.match(r"^(?:what|which|where)\b.* (?:can|could) (?:you|we) \w+", body):
        return re.sub(r" (can|could) (you|we) ", r" \1 \2 not ", body, count=1)
    if match := re.match(r"^((?:what|which) \w+) (does|do) (.+) (have)$", body):
        return f"{match[1]} {match[2]} {match[3]} not {match[4]}"
    if match := re.match(rf"^{_HEAD} ({BE}) (.+)$", body):
        return _be(*match.groups())
    if match := re.match(rf"^{_HEAD} (can|could|will) (\w+ .+)$", body):
        check_active(match[2], match[3])
        return f"{match[1]} {'cannot' if match[2] == 'can' else match[2] + ' not'} {match[3]}"
    return _has(body)


def _be(asked: str, verb: str, rest: str) -> str:
    if not inverted(asked, rest):
        if asked == "where" or asked.startswith(("in ", "on ", "at ")):
            raise Cannot("has a subject whose end is not plain")
        check_no_subject(asked, rest)
        return f"{asked} {verb} not {rest}"
    if asked == "who":
        raise Cannot("asks who somebody is")
    if asked == "what":
        if re.match(r"^the \w+ of ", rest):
            return f"what {verb} not {rest}"
        subject, said = subject_and_rest(rest)
        if not said:
            raise Cannot("asks what a thing is")
        return f"what {verb} {subject} not {said}"
    here = re.match(rf"^(.+?)({IN_PICTURE})?$", rest)
    plain, place = (here[1], here[2] or "") if here else (rest, "")
    subject, said = subject_and_rest(plain)
    return f"{asked} {verb} {subject} not{' ' + said if said else ''}{place}"


def _has(body: str) -> str:
    verbs = "|".join([*_BASE, "have"])
    match = re.match(rf"^((?:what|which|who)(?: [\w’'-]+){{0,4}}?) ({verbs}) (.+)$", body)
    if not match or (match[2] in ("has", "have") and not _OBJECT.match(match[3])):
        raise Cannot("has no place for `not` that the rules know")
    asked, verb, rest = match.groups()
    check_active(verb, rest)
    if asked.endswith("better"):
        raise Cannot("compares how well something fits")
    before, adverb = re.fullmatch(r"(.+?)( \w+ly)?", asked).groups(default="")  # type: ignore[union-attr]
    return f"{before} {'do' if verb == 'have' else 'does'} not{adverb} {_BASE.get(verb, verb)} {rest}"


def _instruction(body: str) -> str:
    polite = _POLITE.match(body)
    lead, told, shapes = (polite[1], polite[2], _TOLD) if polite else ("", body, _INSTRUCTIONS)
    found = shaped(shapes, told)
    if found is None:
        raise Cannot("has no place for `not` that the rules know")
    return lead + found
