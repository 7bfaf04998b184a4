"""A prompt as the messages that chat templates of vision-language models expect."""

import re
from typing import Any

_MARK = re.compile(r"<image (\d+)>")

# Templates that print today's date take it from this variable: an answer must not depend on the day.
TEMPLATE_VARIABLES = {"date_string": "01 Jan 2025"}


def messages(system: str | None, text: str, pictures: int) -> tuple[list[dict[str, Any]], list[int]]:
    """Messages, and the 0-based order in which pictures appear in them.

    Pictures stand where `<image 1>`, `<image 2>`, ... are, or all first where there is no such mark.
    Raises ValueError where the marks do not name each picture once.
    """
    pieces = _MARK.split(text)  # text, number, text, number, ..., text
    order = [int(number) - 1 for number in pieces[1::2]]
    if order and sorted(order) != list(range(pictures)):
        raise ValueError(f"marks of pictures {[index + 1 for index in order]}, but {pictures} pictures")
    content = [] if order else [{"type": "image"}] * pictures
    for place, piece in enumerate(pieces):
        if place % 2:
            content.append({"type": "image"})
        elif piece.strip():
            content.append({"type": "text", "text": piece})
    result: list[dict[str, Any]] = [{"role": "user", "content": content}]
    if system is not None:
        result.insert(0, {"role": "system", "content": [{"type": "text", "text": system}]})
    return result, order or list(range(pictures))


def dropped(system: str | None, text: str, rendered: str) -> str | None:
    """The part of a prompt that a template left out of what it rendered, None where all is there."""
    if (system or "").strip() not in rendered:
        return "system message"
    lost = any(piece.strip() not in rendered for piece in _MARK.split(text)[::2])
    return "text" if lost else None
