"""Marks of images in texts, such as `<image 1>` (IMAGE_MARK), where no image is shown in their place."""

import re

from vouch.tables.asked import IMAGE_MARK

_FIRST = re.compile(rf"^(?:{IMAGE_MARK.pattern}[ \t]*)+")
_LAST = re.compile(rf"(?:{IMAGE_MARK.pattern}[ \t]*)+$")
_BEGIN = "<image"  # of every mark; looked for first, because most texts have none


def marked(text: str) -> bool:
    """Whether a text may hold a mark; a text that does not is shown as it is."""
    return _BEGIN in text


def in_words(text: str) -> str:
    """The text with every mark as words: `image 1`."""
    return IMAGE_MARK.sub(r"image \1", text) if marked(text) else text


def without_figure(text: str) -> str:
    """The text without marks at the ends of lines, and without lines that hold nothing else; other marks as
    words."""
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
