"""Terms with their definitions: a dotted line under a word, which opens what it means and leads to Method.

A line of terms.csv is a term: the words that stand for it, its place on the page Method, what it means.
"""

import csv
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from markupsafe import Markup, escape

from vouch.report.formatting import visible
from vouch.report.table import Column

METHOD = "pages/method.html"
# Tags and entities hold no words; what a link or code holds is left as it is.
_CODE = re.compile("`([^`]+)`")
_APART = re.compile(r"(<a\b.*?</a>|<code>.*?</code>|<[^>]*>|&[^;\s]+;)", re.DOTALL)


@dataclass(frozen=True)
class Term:
    """name: as the page says it. place: what follows `#term-` on the page Method. text: one line."""

    name: str
    words: str
    place: str
    text: str


@cache
def terms() -> dict[str, Term]:
    """Every term by each of its words, in small letters."""
    with files(__package__).joinpath("terms.csv").open(encoding="utf-8") as file:
        return {
            word.lower(): term
            for row in csv.DictReader(file)
            for term in [Term(**row)]
            for word in term.words.split("|")
        }


@cache
def _words() -> re.Pattern[str]:
    """Any of the words, the longest first; one of capitals only in capitals."""
    every = sorted(
        {word for term in terms().values() for word in term.words.split("|")}, key=len, reverse=True
    )
    found = (re.escape(word) if word.isupper() else f"(?i:{re.escape(word)})" for word in every)
    return re.compile(rf"(?<![\w-])(?:{'|'.join(found)})(?![\w-])")


class Marker:
    """Marks the terms of one page. root: leads to reports/."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._seen: set[str] = set()

    def _link(self, words: str, term: Term, text: str) -> str:
        place = f"{self._root}{METHOD}#term-{term.place}"
        return f'<a class="term" href="{place}" title="{escape(text)}">{words}</a>'

    def prose(self, text: str) -> Markup:
        """The text, escaped unless it is markup; a term is marked where the page first says it."""

        def marked(match: re.Match[str]) -> str:
            term = terms()[match[0].lower()]
            if term.name in self._seen:
                return match[0]
            self._seen.add(term.name)
            return self._link(match[0], term, f"{term.name}: {term.text}.")

        plain = str(text if isinstance(text, Markup) else escape(visible(text)))
        safe = plain if isinstance(text, Markup) else _CODE.sub(r"<code>\1</code>", plain)
        parts = _APART.split(safe)  # every second one is markup
        parts[::2] = [_words().sub(marked, part) for part in parts[::2]]
        return Markup("".join(parts))

    def heading(self, column: Column) -> Markup:
        """The label of a column: what it holds, and the terms in it."""
        label = escape(visible(column.label))
        found = list(dict.fromkeys(terms()[word.lower()] for word in _words().findall(column.label)))
        first = found[:1] if not column.help else []
        said = [column.help or first[0].text] if column.help or first else []
        said += [f"{term.name}: {term.text}" for term in found if term not in first]
        if not said:
            return Markup(label)
        text = visible(f"{'. '.join(each[:1].upper() + each[1:] for each in said)}.")
        if found:
            return Markup(self._link(str(label), found[0], text))
        return Markup('<button type="button" class="term" title="{}">{}</button>').format(text, label)
