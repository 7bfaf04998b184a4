"""Marks such as `<image 1>`: where in a text a picture goes, or that the text only speaks of it.

After this module a prompt's text holds either no mark, and all pictures go before it, or exactly one
mark per picture. A mark without a place for a picture reads `image 1`, in words.

Pictures first: with one picture, marks at the ends of a line go (the figure under a question, a
composite figure with several marks too), marks within a line become words. With several pictures every
mark becomes words, because the text needs them to tell the pictures apart; so it is with joined ones.
Pictures at their marks: the first mark of a picture stays, spelled `<image 1>`; later ones become
words, and pictures that no mark speaks of go first.
"""

import re

from vouch.tables.items import IMAGE_MARK

_FIRST = re.compile(rf"^(?:{IMAGE_MARK.pattern}[ \t]*)+")
_BEGIN = "<image"  # of every mark; looked for first, because most texts have none
_IN_WORDS = re.compile(r"(?<!<)\bimage [1-9][0-9]{0,3}\b")
_LAST = re.compile(rf"(?:{IMAGE_MARK.pattern}[ \t]*)+$")


def marked(text: str) -> bool:
    """Whether a text may hold a mark; a text that does not is shown as it is."""
    return _BEGIN in text


def in_words(text: str) -> str:
    """Every mark as words: `image 1`."""
    return IMAGE_MARK.sub(r"image \1", text) if marked(text) else text


def without_figure(text: str) -> str:
    """Marks at the ends of lines removed, with the line where nothing else is on it; others in words."""
    if not marked(text):
        return text
    lines = text.split("\n")
    kept = [bare for line in lines if (bare := _without_ends(line)) or not IMAGE_MARK.search(line)]
    return in_words("\n".join(kept)) if "".join(kept).strip() else in_words(text)


def _without_ends(line: str) -> str:
    head = line.lstrip(" \t")
    if _FIRST.match(head):
        line = _FIRST.sub("", head)
    last = _LAST.search(line)
    return line[: last.start()].rstrip(" \t") if last else line


def lost(before: str, after: str) -> tuple[bool, bool]:
    """Whether placing the marks of a text dropped any, and whether it put any into words."""
    marks, words = (
        len(pattern.findall(before)) - len(pattern.findall(after)) for pattern in (IMAGE_MARK, _IN_WORDS)
    )
    return marks + words > 0, words < 0


class Placing:
    """Places the marks of one prompt: give it the texts in the order in which they are read."""

    def __init__(self, pictures: int, mode: str) -> None:
        self._pictures, self._mode = pictures, mode
        self._placed: set[int] = set()

    def passage(self, text: str) -> str:
        """A hint or a question."""
        if self._mode == "first" and self._pictures == 1:
            return without_figure(text)
        return self.option(text)

    def option(self, text: str) -> str:
        """An option's text; a mark may be all that it holds, so it never just goes."""
        if not marked(text):
            return text
        return in_words(text) if self._mode != "marks" else IMAGE_MARK.sub(self._place, text)

    def _place(self, mark: re.Match[str]) -> str:
        number = int(mark[1])
        if number > self._pictures or number in self._placed:
            return f"image {number}"
        self._placed.add(number)
        return f"<image {number}>"

    def front(self) -> str:
        """What goes before the text: marks of the pictures left over, where some have a mark."""
        if not self._placed:
            return ""
        left = (number for number in range(1, self._pictures + 1) if number not in self._placed)
        return "".join(f"<image {number}>\n" for number in left)
