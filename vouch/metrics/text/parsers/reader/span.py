"""A place in a text that names an option."""

from dataclasses import dataclass

from vouch.metrics.text.parsers.reader.cues import SCRIPT

_POINTS = (".", ",", "^")
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
    """Whether no word, number or formula goes on before or after this place."""
    if _goes_on(low[start - 1 : start], low[start]) or _goes_on(low[end : end + 1], low[end - 1]):
        return False
    if low[start].isdigit() and start and low[start - 1] in _POINTS:
        return low[start - 1] == "," and not low[start - 2 : start - 1].isdigit()
    return not (low[end - 1].isdigit() and low[end : end + 1] in _POINTS and low[end + 1 : end + 2].isdigit())


def _goes_on(beyond: str, edge: str) -> bool:
    return beyond.isalnum() and beyond < SCRIPT and edge.isalnum() and edge < SCRIPT
