"""The rule rewriter, for simple English questions: no model, no network, the same words on every machine.

Each kind of rewrite has a function. It raises Cannot for a question of a form that it does not know;
such a question is left out, because a wrong rewrite would be asked. The table of rewrites has the reasons.
`Rules`, at the end, is what `stages/rewrite.py` asks."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from vouch.pipeline.yaml12 import load
from vouch.prompts.asking import Reply
from vouch.prompts.rewrites.language import is_english
from vouch.prompts.rewrites.sentences import (
    BE,
    IN_PICTURE,
    THIRD,
    Cannot,
    capital,
    check_active,
    check_no_subject,
    clause,
    compared,
    inverted,
    parse,
    semantic,
    shaped,
    subject_and_rest,
)
from vouch.prompts.rewrites.table import RewriteTask
from vouch.tables.asked import RULES_ARE_ENGLISH

# Kinds that keep the answer: clean, lr_i, lr_v, lr_c

_BEGINS = re.compile(
    r"^(?:what|which|who|whose|where|when|why|how|is|are|was|were|do|does|did|can|could|will|in|on|at)\b"
)
_OF = "colour|color|shape|size|material|name"
_FACET = rf"{_OF}|place|number|corner"
_COMPARED = r"(?:more [\w-]+|less [\w-]+|[\w-]+er)"
# The first pattern that fits is replaced by the words beside it; {1}, {2} are its groups.
_SHORTER = (
    (rf"which ((?:[\w’'-]+ ){{0,2}}[\w’'-]+) {BE} ({_COMPARED})", "{2} {1}?"),
    (r"(?:which|select the|name the) (picture|side|image) (?:that )?(?:has|with) (.+)", "{1} with {2}?"),
    (rf"(?:what|which) ({_OF}) (?:is|are) (.+)", "{1} of {2}?"),
    (rf"(?:what|which) ({_OF}) (?:does|do) (.+) have", "{1} of {2}?"),
    (rf"what (?:is|are) the ({_FACET}) of (.+)", "{1} of {2}?"),
    (rf"(?:select|name|state|identify|determine|give|find) the ({_FACET}) of (.+)", "{1} of {2}?"),
    (rf"how many (.+?) are there(?:{IN_PICTURE})?", "how many {1}?"),
    (rf"how many (.+?) are{IN_PICTURE}", "how many {1}?"),
    (rf"is there ((?:a|an) .+{IN_PICTURE})", "{1}?"),
    (r"tell me if there is (.+)", "is there {1}?"),
    (r"please look at the pictures? carefully and (tell me .+)", "{1}."),
)
_ALONE = re.compile(rf"^(?:{BE} |(?:\w+ )*(?:{BE}|there|which|of these|with|has|have)$)")


def clean(text: str) -> str:
    """Corrects spacing, the first capital and the question mark; only people or a model change words.

    Raises Cannot.
    """
    sentence = parse(text)
    if sentence.imperative:
        raise Cannot("is an instruction, not a question")
    if not sentence.asks or sentence.lead.lower().startswith("and "):
        clause(sentence.lower)  # without a question mark, only its words can show that it is one
    if not _BEGINS.match(sentence.lower):
        raise Cannot("does not begin like a question")
    return capital(f"{sentence.lead}{sentence.lower if sentence.lead else sentence.body}?")


def lr_i(text: str) -> str:
    """LR-I: the question as an instruction; an instruction stays as it is. Raises Cannot.

    PARC (Schmalfuss et al. 2025) writes `Determine` and `Identify`, words that the demo's models never saw.
    `Tell me` is as plain and has no word that is new to them."""
    sentence = parse(text)
    if sentence.imperative:
        return text
    return capital(f"{sentence.lead}tell me {clause(sentence.lower)}.")


def lr_v(text: str) -> str:
    """LR-V: the question in more words that add nothing. Raises Cannot."""
    sentence = parse(text)
    if sentence.imperative:
        if sentence.lead or re.match(r"(?:please|look|carefully)\b", sentence.lower):
            raise Cannot("is wordy already")
        return f"Please look carefully at what is shown and {sentence.lower}."
    lead = sentence.lead or "looking carefully at what is shown, "
    return capital(f"{lead}could you please tell me {clause(sentence.lower)}?")


def lr_c(text: str) -> str:
    """LR-C: the question in fewer words. Raises Cannot."""
    sentence = parse(text)
    if sentence.negated:
        raise Cannot("holds a negation, which fewer words may lose")
    for pattern, shape in _SHORTER:
        if match := re.fullmatch(pattern, sentence.lower):
            if "of {2}" in shape and subject_and_rest(match[2])[1]:
                raise Cannot("asks what something does")
            return capital(shape.format("", *match.groups()))
    if sentence.asks and re.search(r"\b(?:picture|image|photo)", sentence.lead):
        return capital(f"{sentence.body}?")
    located = re.fullmatch(rf"(.+){IN_PICTURE}", sentence.lower)
    if located and sentence.asks and _complete(located[1]):
        # `the two sofas` are `the sofas` if only two are shown
        return capital(re.sub(r"^(are the) two ", r"\1 ", located[1]) + "?")
    raise Cannot("has no shorter form that the rules know")


def _complete(body: str) -> bool:
    """Whether the question stays the same without `in the picture`."""
    if body.startswith(("is there", "are there", "how many")):
        return False
    if re.match(rf"^{BE} ", body):
        try:
            clause(body)
        except Cannot:
            return False
        return True
    return _ALONE.match(body) is None and re.match(r"^(?:what|which|who|where)\b", body) is not None


# ls_n: `not`, so that all other options become the answers

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
# Clauses after `tell me` have the word order of a statement.
_CLAUSES = (
    (r"((?:what|which|where)\b.* you can) (\w+)", "{1} not {2}"),
    (r"((?:on|in|at) which \w+ you) (see .+)", "{1} do not {2}"),
    (r"((?:what|which) .+) has", "{1} does not have"),
    (r"((?:where|(?:in |at )?(?:what|which) \w+) .+) is", "{1} is not"),
    (r"(which of them) has (.+)", "{1} does not have {2}"),
)


def ls_n(text: str) -> str:
    """LS-N: the question negated. Raises Cannot."""
    sentence = semantic(text)
    if sentence.imperative:
        return capital(f"{sentence.lead}{_instruction(sentence.lower)}.")
    if not sentence.asks:
        raise Cannot("neither asks nor instructs")
    return capital(f"{sentence.lead}{_checked(_question(sentence.lower))}?")


def _checked(body: str) -> str:
    """The question as it is. Raises Cannot if `not` is ungrammatical or negates only one of two verbs."""
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
        subject, predicate = subject_and_rest(rest)
        if not predicate:
            raise Cannot("asks what a thing is")
        return f"what {verb} {subject} not {predicate}"
    located = re.match(rf"^(.+?)({IN_PICTURE})?$", rest)
    plain, in_picture = (located[1], located[2] or "") if located else (rest, "")
    subject, predicate = subject_and_rest(plain)
    return f"{asked} {verb} {subject} not{' ' + predicate if predicate else ''}{in_picture}"


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
    lead, rest, shapes = (polite[1], polite[2], _CLAUSES) if polite else ("", body, _INSTRUCTIONS)
    negated = shaped(shapes, rest)
    if negated is None:
        raise Cannot("has no place for `not` that the rules know")
    return lead + negated


# ls_a: an antonym

_ANTONYMS: dict[str, dict[str, str]] = load(Path(__file__).parent / "antonyms.yaml")
_SUPERLATIVE = re.compile(r"\b(?:most|least|best|worst|[a-z]{3,}est)\b")
_NOT_SUPERLATIVE = ("west", "forest", "chest", "nest", "test", "vest", "rest", "guest", "interest", "harvest")
_DIRECTION = re.compile(r"^(in (?:what|which) direction is) (.+) from (.+)$")
_PLACED = re.compile(r"^(.*\b(?:which|what|that)\b.* is) in the (picture|image|photo)$")


def ls_a(text: str) -> str:
    """LS-A: a word replaced by its antonym, from a table. Raises Cannot."""
    sentence = semantic(text)
    body, end = sentence.lower, "?" if sentence.asks else "."
    if match := _DIRECTION.match(body):
        return capital(f"{sentence.lead}{match[1]} {match[3]} from {match[2]}{end}")
    if match := _PLACED.match(body):
        return capital(f"{sentence.lead}{match[1]} missing from the {match[2]}{end}")
    if any(word not in _NOT_SUPERLATIVE for word in _SUPERLATIVE.findall(body)):
        raise Cannot("asks for the most of something; its opposite is one option, not all the others")
    if not re.match(r"^(?:which|who)\b|^(?:select|name|choose|identify) the \w+ that\b", body):
        raise Cannot("compares nothing, so an antonym does not turn it")
    return capital(f"{sentence.lead}{_with_antonym(body)}{end}")


def _with_antonym(body: str) -> str:
    for phrase, opposite in _ANTONYMS["phrases"].items():
        if re.search(rf"\b{phrase}\b", body):
            return re.sub(rf"\b{phrase}\b", opposite, body, count=1)
    matches = [
        (match, opposite)
        for table, before in (("comparatives", ""), ("adjectives", "more "))
        for word, opposite in _ANTONYMS[table].items()
        for match in re.finditer(rf"\b{before}{word}\b", body)
    ]
    if len(matches) != 1 or not compared(body, matches[0][0].start()):
        raise Cannot("holds no comparison with an antonym that the rules know, or several")
    match, opposite = matches[0]
    kept = "more " if match[0].startswith("more ") else ""
    return f"{body[: match.start()]}{kept}{opposite}{body[match.end() :]}"


# ls_m: `less` or `fewer` in place of `more`

_WORDS = load(Path(__file__).parent / "comparatives.yaml")
_POSITIVE: dict[str, str] = _WORDS["positives"]
_PLURALS: list[str] = _WORDS["plurals"]
_PREPOSITION = re.compile(r" (?:in|on|at|of|with|than|from|to|that|which|near|under|behind)\b")
_OTHER = re.compile(
    r"\b(?:any|no|one|once|much|many|what|\w*thing) more\b|\bmore (?:or|than \d)", re.IGNORECASE
)
_HOLDS = re.compile(r"(?:^|\b(?:has|have|shows?|contains?|holds?|with|are|see|sees|find))$", re.IGNORECASE)


def ls_m(text: str) -> str:
    """LS-M: the comparison turned around. Raises Cannot."""
    sentence = semantic(text)
    body, end = sentence.body, "?" if sentence.asks else "."
    if re.match(r"^how\b", body, re.IGNORECASE):
        raise Cannot("asks for a number, which less or fewer does not turn")
    more = list(re.finditer(r"\bmore\b", body, re.IGNORECASE))
    known = [
        word for word in re.finditer(r"(?<![A-Za-z])[A-Za-z]+er\b", body) if word[0].lower() in _POSITIVE
    ]
    if len(more) + len(known) != 1 or _OTHER.search(body):
        raise Cannot("holds no `more`, or several comparisons")
    word = (known + more)[0]
    before, after = body[: word.start()], body[word.end() :]
    if not compared(body, word.start()):
        raise Cannot("does not ask by its comparison")
    positive = _POSITIVE.get(word[0].lower())
    less = f"less {positive}" if positive else _less_or_fewer(before.rstrip(), after.strip())
    if word[0][0].isupper():
        less = less.capitalize()
    return f"{sentence.lead}{before}{less}{after}{end}"


def _less_or_fewer(before: str, after: str) -> str:
    """`fewer` in place of a `more` that countable things follow, else `less`. Raises Cannot."""
    if not after:
        raise Cannot("compares nothing")
    if not _HOLDS.search(before):
        return "less"
    head = _PREPOSITION.split(after)[0].split()[-1].lower()
    plural = head in _PLURALS or (head.endswith("s") and not head.endswith(("ss", "us", "is")))
    return "fewer" if plural else "less"


# The rewriter

REVISION = 3
"""Raised by hand whenever the rules may write other words."""
NOT_ENGLISH = f"the rules refuse: {RULES_ARE_ENGLISH}, and this does not read as English"
RULES: Mapping[str, Callable[[str], str]] = {
    "clean": clean,
    "lr_i": lr_i,
    "lr_c": lr_c,
    "lr_v": lr_v,
    "ls_n": ls_n,
    "ls_a": ls_a,
    "ls_m": ls_m,
}


class Rules:
    """The rules as an Engine (vouch/prompts/asking/__init__.py)."""

    def __init__(self) -> None:
        self.notes: dict[str, Any] = {}

    def ask(self, asked: Sequence[RewriteTask]) -> Iterator[tuple[RewriteTask, Reply]]:
        """A rewrite for every task, in the order of the tasks."""
        for task in asked:
            if not is_english(task.question):
                yield task, Reply(None, NOT_ENGLISH)
                continue
            try:
                yield task, Reply(RULES[task.kind](task.question))
            except Cannot as why:
                yield task, Reply(None, f"the rules refuse: {why}")
