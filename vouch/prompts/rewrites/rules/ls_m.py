"""LS-M: `more` switched for `less` or `fewer`."""

import re
from pathlib import Path

from vouch.pipeline.yaml12 import load
from vouch.prompts.rewrites.rules.questions import Cannot, compared, semantic

_WORDS = load(Path(__file__).parent / "comparatives.yaml")
_POSITIVE: dict[str, str] = _WORDS["positives"]
_PLURALS: list[str] = _WORDS["plurals"]
_PREPOSITION = re.compile(r" (?:in|on|at|of|with|than|from|to|that|which|near|under|behind)\b")
_OTHER = re.compile(
    r"\b(?:any|no|one|once|much|many|what|\w*thing) more\b|\bmore (?:or|than \d)", re.IGNORECASE
)
_HOLDS = re.compile(r"(?:^|\b(?:has|have|shows?|contains?|holds?|with|are|see|sees|find))$", re.IGNORECASE)


def rewrite(text: str) -> str:
    """The question with the comparison turned. Raises Cannot."""
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
    found = (known + more)[0]
    if not compared(body, found.start()):
        raise Cannot("does not ask by its comparison")
    if known:
        instead = f"less {_POSITIVE[found[0].lower()]}"
    else:
        instead = _less_or_fewer(body[: found.start()].rstrip(), body[found.end() :].strip())
    if found[0][0].isupper():
        instead = instead.capitalize()
    return f"{sentence.lead}{body[: found.start()]}{instead}{body[found.end() :]}{end}"


def _less_or_fewer(before: str, after: str) -> str:
    """`fewer` before things that can be counted, where `more` stands before a thing at all."""
    if not after:
        raise Cannot("compares nothing")
    if not _HOLDS.search(before):
        return "less"
    head = _PREPOSITION.split(after)[0].split()[-1].lower()
    plural = head in _PLURALS or (head.endswith("s") and not head.endswith(("ss", "us", "is")))
    return "fewer" if plural else "less"
