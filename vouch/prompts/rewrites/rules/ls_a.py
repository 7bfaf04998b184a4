"""LS-A: a word switched for its antonym, from a table."""

import re
from pathlib import Path

from vouch.pipeline.yaml12 import load
from vouch.prompts.rewrites.rules.questions import Cannot, capital, compared, semantic

_TABLE: dict[str, dict[str, str]] = load(Path(__file__).parent / "antonyms.yaml")
_SUPERLATIVE = re.compile(r"\b(?:most|least|best|worst|[a-z]{3,}est)\b")
_NOT_SUPERLATIVE = ("west", "forest", "chest", "nest", "test", "vest", "rest", "guest", "interest", "harvest")
_DIRECTION = re.compile(r"^(in (?:what|which) direction is) (.+) from (.+)$")
_PLACED = re.compile(r"^(.*\b(?:which|what|that)\b.* is) in the (picture|image|photo)$")


def rewrite(text: str) -> str:
    """The question with one word turned. Raises Cannot."""
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
    return capital(f"{sentence.lead}{_switched(body)}{end}")


def _switched(body: str) -> str:
    for phrase, opposite in _TABLE["phrases"].items():
        if re.search(rf"\b{phrase}\b", body):
            return re.sub(rf"\b{phrase}\b", opposite, body, count=1)
    found = [
        (match, opposite)
        for table, before in (("comparatives", ""), ("adjectives", "more "))
        for word, opposite in _TABLE[table].items()
        for match in re.finditer(rf"\b{before}{word}\b", body)
    ]
    if len(found) != 1 or not compared(body, found[0][0].start()):
        raise Cannot("holds no comparison with an antonym that the rules know, or several")
    match, opposite = found[0]
    kept = "more " if match[0].startswith("more ") else ""
    return f"{body[: match.start()]}{kept}{opposite}{body[match.end() :]}"
