"""Texts made comparable: what the parsers, answer metrics and agreement of samples share."""

import re
import unicodedata

LONGEST = 500
"""Characters of an answer that the outcomes keep."""
EDGES = " \t\r\n.,;:!?\"'`*_()[]{}<>“”‘’«»。、，；：！？（）【】「」־׳״"
_ARTICLE = re.compile(r"(?:a|an|the) (?=\S)")


def wide(text: str) -> str:
    """NFKC, so that full-width letters and brackets are plain ones."""
    return unicodedata.normalize("NFKC", text)


def plain(text: str) -> str:
    """Lower case, one space between words, no punctuation at the ends and no leading English article."""
    words = " ".join(wide(text).casefold().split()).strip(EDGES)
    return _ARTICLE.sub("", words, count=1) if _ARTICLE.match(words) else words


def short(text: str) -> str:
    """The plain text, cut where it is long."""
    return plain(text)[:LONGEST]
