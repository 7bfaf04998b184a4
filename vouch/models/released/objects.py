"""The JSON objects of a file: one per line, a list of them, or a list under `logs` of one object; gzip too.

Sizes of a line, of the unpacked file and of a list are bounded, so at worst a hostile file is refused.
"""

import gzip
import io
import json
import math
import re
import zlib
from collections.abc import Generator, Iterator, Mapping
from typing import Any

from vouch.pipeline.errors import UserError

MAX_LINE = 16 * 2**20
MAX_UNPACKED = 2**30
MAX_LIST = 2**28  # bytes of a list of samples, which is unpacked as a whole
_GZIP, _BOM = b"\x1f\x8b", b"\xef\xbb\xbf"
_LIST = re.compile(rb"\s*(\[|\{([^\n]*[,:{\[])?\s*\n)")  # start of a file without one object per line
_BLANK = re.compile(r"[ \t\n\r]*")


def objects(data: bytes, where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Location (`line 3`, or `sample 3` of a list) and content of every object of a file. Raises
    UserError."""
    file = gzip.GzipFile(fileobj=io.BytesIO(data)) if data.startswith(_GZIP) else io.BytesIO(data)
    try:
        head = file.read(2**12)
        file.seek(len(_BOM) if head.startswith(_BOM) else 0)
        if not _LIST.match(head.removeprefix(_BOM)):
            yield from _by_line(file, where)
            return
        text = file.read(MAX_LIST + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{where} line 1: not readable as gzip ({error}); fetch it again") from None
    if len(text) > MAX_LIST:
        raise UserError(f"{where}: a list of more than {MAX_LIST:,} bytes; write one object a line")
    yield from ((name, _object(value, f"{where} {name}")) for name, value in _listed(text, where))


def _by_line(file: io.BytesIO | gzip.GzipFile, where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, line in _lines(file, where):
        values = _object_of(line, f"{where} line {number}")
        logs = values.get("logs")
        if isinstance(logs, list) and all(isinstance(one, dict) and "doc_id" in one for one in logs):
            yield from ((f"sample {index}", one) for index, one in enumerate(logs, start=1))
        else:
            yield f"line {number}", values


def _lines(file: io.BytesIO | gzip.GzipFile, where: str) -> Iterator[tuple[int, bytes]]:
    """Number and content of every line that is not blank."""
    number = total = 0
    try:
        while line := file.readline(MAX_LINE + 1):
            number, total = number + 1, total + len(line)
            if len(line) > MAX_LINE or total > MAX_UNPACKED:
                raise UserError(
                    f"{where} line {number}: longer than {MAX_LINE:,} bytes, or the file than "
                    f"{MAX_UNPACKED:,}; leave out the fields doc and arguments"
                )
            line = line.removeprefix(_BOM)  # of files put one after the other
            if line.strip():
                yield number, line
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(
            f"{where} line {number + 1}: not readable as gzip ({error}); fetch it again"
        ) from None


def _object_of(line: bytes, where: str) -> dict[str, Any]:
    try:
        values = json.loads(line.decode("utf-8"), parse_float=_finite)
    except RecursionError:
        raise UserError(f"{where}: nested too deep; correct the line") from None
    except ValueError as error:
        raise UserError(f"{where}: not JSON in UTF-8 ({error!s:.120}); correct the line") from None
    return _object(values, where)


def _object(values: Any, where: str) -> dict[str, Any]:
    if not isinstance(values, dict):
        raise UserError(f"{where}: holds a {type(values).__name__}, not an object; correct the line")
    return values


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"the number {text[:20]} is too large")
    return value


_DECODER = json.JSONDecoder(parse_float=_finite)


def _listed(data: bytes, where: str) -> Iterator[tuple[str, Any]]:
    """Each value of a list, which is the whole document or the value of `logs` in its object."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise UserError(f"{where}: not JSON in UTF-8 ({error}); correct the file") from None
    at = _after(text, 0)
    at = yield from (_elements if text[at] == "[" else _logs)(text, at, where)
    if text[at:].strip():
        raise UserError(f"{where}: more text after its list of samples; write one list, or one object a line")


def _logs(text: str, at: int, where: str) -> Generator[tuple[str, Any], None, int]:
    """The values of the list `logs` in the object that begins at `at`, and where the object ends."""
    at, listed = _after(text, at + 1), False
    while text[at : at + 1] != "}":
        key, at = _value(text, at, where)
        at = _beyond(text, at, ":", ":", where)
        if key == "logs" and text[at : at + 1] == "[":
            if listed:
                raise UserError(f"{where}: logs stands twice; keep one")
            listed, at = True, (yield from _elements(text, at, where))
        else:
            _, at = _value(text, at, where)
        at = _beyond(text, at, ",", "}", where)
    if not listed:
        raise UserError(f"{where}: one object without a list of samples under logs; write one object a line")
    return at + 1


def _elements(text: str, at: int, where: str) -> Generator[tuple[str, Any], None, int]:
    """The values of the list that begins at `at`, and where the list ends."""
    at, count = _after(text, at + 1), 0
    while text[at : at + 1] != "]":
        count += 1
        here = f"{where} sample {count}"
        value, at = _value(text, at, here)
        yield f"sample {count}", value
        at = _beyond(text, at, ",", "]", here)
    return at + 1


def _after(text: str, at: int) -> int:
    """Index of the first character from `at` on that is not blank."""
    blank = _BLANK.match(text, at)
    return blank.end() if blank else at


def _beyond(text: str, at: int, sign: str, end: str, where: str) -> int:
    """Index after a separator, or of the closing sign instead of it. Raises UserError."""
    at = _after(text, at)
    next_sign = text[at : at + 1]
    if next_sign not in (sign, end) or not next_sign:
        raise UserError(
            f"{where}: not JSON ({next_sign or 'the end of the file'} instead of {sign}); fetch it again"
        )
    return _after(text, at + 1) if next_sign == sign else at


def _value(text: str, at: int, where: str) -> tuple[Any, int]:
    """The value that begins at `at`, of at most MAX_LINE characters, and where it ends. Raises UserError."""
    size = min(2**16, MAX_LINE)
    while True:
        part = text[at : at + size]
        whole = at + size >= len(text)
        try:
            value, end = _DECODER.raw_decode(part)
            if end < len(part) or whole:  # else a number may go on
                return value, at + end
        except RecursionError:
            raise UserError(f"{where}: nested too deep; correct it") from None
        except ValueError as error:
            if whole:
                raise UserError(f"{where}: not JSON in UTF-8 ({error!s:.120}); correct it") from None
        if size == MAX_LINE:
            raise UserError(
                f"{where}: not JSON, or longer than {MAX_LINE:,} characters; leave out doc and arguments"
            )
        size = min(8 * size, MAX_LINE)


def is_pair(answer: Any) -> bool:
    """Whether it is [log-likelihood, is greedy], the answer to one choice."""
    return isinstance(answer, list) and len(answer) == 2 and answer[1] in (True, False, "True", "False")


def behind_question(sample: Mapping[str, Any], answers: list[Any]) -> list[Any]:
    """The answers to the choices behind the question: for acc_mutual_info each is scored without it, too."""
    both = "acc_mutual_info" in sample and len(answers) % 2 == 0
    return answers[: len(answers) // 2] if both else answers


def number_of(value: Any) -> float | None:
    """A number, or a text of one as JSON would write it; infinity only if it is spelled out."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        number, text = float(value), str(value)
    except (ValueError, OverflowError):
        return None
    return None if "_" in text or (math.isinf(number) and "inf" not in text) else number
