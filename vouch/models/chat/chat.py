"""A question as the messages that chat templates of vision-language models expect."""

import re
from typing import Any

from vouch.models.requests.engine import Question

_MARK = re.compile(r"<image (\d+)>")

# Templates that print today's date take it from this variable or ask a function for it, in whose place the
# macro stands: an answer must not depend on the day.
TEMPLATE_VARIABLES = {"date_string": "01 Jan 2025"}
_DAY = {
    "%d": "01", "%-d": "1", "%e": " 1", "%j": "001", "%m": "01", "%-m": "1", "%b": "Jan", "%B": "January",
    "%Y": "2025", "%y": "25", "%A": "Wednesday", "%a": "Wed", "%H": "00", "%M": "00", "%S": "00",
}  # fmt: skip
_FUNCTION = "strftime_now"
_MACRO = (
    "{%- macro " + _FUNCTION + "(format) -%}{%- set said = format"
    + "".join(f" | replace('{name}', '{value}')" for name, value in _DAY.items())
    + " -%}{%- if '%' in said -%}{{- raise_exception('no fixed date for ' ~ format) -}}{%- endif -%}"
    "{{- said -}}{%- endmacro -%}"
)  # fmt: skip


def dated(template: str) -> str:
    """A template whose date is the same every day."""
    return _MACRO + template if _FUNCTION in template else template


def messages(question: Question) -> tuple[list[dict[str, Any]], list[int]]:
    """Messages, and the 0-based order in which pictures appear in them.

    Pictures stand where `<image 1>`, `<image 2>`, ... are, or all before the first turn where there is
    no such mark. Raises ValueError where the marks do not name each picture once.
    """
    asked = [text for text, _ in question.turns] + [question.text]
    order = [int(number) - 1 for text in asked for number in _MARK.findall(text)]
    count = len(question.pictures)
    if order and sorted(order) != list(range(count)):
        raise ValueError(f"marks of pictures {[index + 1 for index in order]}, but {count} pictures")
    contents = [_content(text) for text in asked]
    if not order:
        contents[0] = [{"type": "image"}] * count + contents[0]
    result: list[dict[str, Any]] = []
    if question.system is not None:
        result.append({"role": "system", "content": [{"type": "text", "text": question.system}]})
    for place, content in enumerate(contents):
        result.append({"role": "user", "content": content})
        if place < len(question.turns):
            said = {"type": "text", "text": question.turns[place][1]}
            result.append({"role": "assistant", "content": [said]})
    return result, order or list(range(count))


def _content(text: str) -> list[dict[str, Any]]:
    content: list[dict[str, Any]] = []
    for place, piece in enumerate(_MARK.split(text)):  # text, number, text, number, ..., text
        if place % 2:
            content.append({"type": "image"})
        elif piece.strip():
            content.append({"type": "text", "text": piece})
    return content


def dropped(question: Question, rendered: str) -> str | None:
    """The part of a question that a template left out of what it rendered, None where all is there."""
    if (question.system or "").strip() not in rendered:
        return "system message"
    if any(_lost(text, rendered) for text, _ in question.turns):
        return "earlier turns"
    if any(answer.strip() not in rendered for _, answer in question.turns):
        return "earlier answers"
    return "text" if _lost(question.text, rendered) else None


def _lost(text: str, rendered: str) -> bool:
    return any(piece.strip() not in rendered for piece in _MARK.split(text)[::2])
