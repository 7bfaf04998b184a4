"""A place in a text that names an option."""

from dataclasses import dataclass

from vouch.metrics.text.parsers.reader.cues import SCRIPT

BARE, CLOSED, BRACKETED, TEXT, VALUE = "bare mark", "mark", "bracketed mark", "text", "value"


@dataclass(slots=True)
class Span:
    """places: of the options named, none for a mark that no option has. marked: by a mark. own: the option's
    text follows its mark. clash: the option whose text follows another one's mark."""

    places: tuple[int, ...]
    start: int
    end: int
    form: str
    marked: bool = False
    own: bool = False
    clash: tuple[int, ...] = ()


def whole(low: str, start: int, end: int) -> bool:
    """Whether no word goes on before or after this place."""
    return not (_goes_on(low[start - 1 : start], low[start]) or _goes_on(low[end : end + 1], low[end - 1]))


def _goes_on(beyond: str, edge: str) -> bool:
    return beyond.isalnum() and beyond < SCRIPT and edge.isalnum() and edge < SCRIPT
