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
    before, after = low[max(0, start - 2) : start], low[end : end + 2]
    if _goes_on(before[-1:], low[start]) or _goes_on(after[:1], low[end - 1]):
        return False
    if low[start].isdigit() and before[-1:] in _POINTS and before:
        return before[-1] == "," and not before[0].isdigit()
    return not (low[end - 1].isdigit() and after[:1] in _POINTS and after[1:].isdigit())


def _goes_on(beyond: str, edge: str) -> bool:
    return beyond.isalnum() and beyond < SCRIPT and edge.isalnum() and edge < SCRIPT
