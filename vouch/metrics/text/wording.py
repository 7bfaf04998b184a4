"""Texts made comparable: what the parsers, answer metrics and agreement of samples share."""

import re

from vouch.metrics.text.numbers import exact, tight, trimmed, wide
from vouch.tables.thoughts import apart

LONGEST = 500
"""Characters of an answer that the outcomes keep."""
EDGES = " \t\r\n.,;:!?\"'`*_()[]{}<>“”‘’«»。、，；：！？（）【】「」־׳״"
_ARTICLE = re.compile(r"(?:a|an|the) (?=\S)")


def plain(text: str) -> str:
    """Without a thought, in lower case, one space between words, no punctuation around it that means nothing,
    no leading English article; a number in one form, and what has no letters without blanks."""
    said = as_written(apart(text).answer)
    return exact(said if any(map(str.isalpha, said)) else tight(said))


def as_written(text: str) -> str:
    """The same, with decimals as they are written."""
    words = trimmed(" ".join(wide(text).casefold().split()))
    return _ARTICLE.sub("", words, count=1) if _ARTICLE.match(words) else words


def short(text: str) -> str:
    """The plain text, cut where it is long; empty where nothing but punctuation stands in it."""
    said = plain(text)
    return said[:LONGEST] if said.strip(EDGES) else ""
