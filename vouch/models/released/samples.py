"""Logs of samples in memory: what lm-evaluation-harness and lmms-eval write with --log_samples.

A line is read and judged by itself, and only names and answers of it are kept. Lines, the unpacked file
and the number of samples are bounded, so a hostile file can at worst be refused.
"""

import gzip
import io
import json
import math
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from vouch.models.released.forms import MAX_ROWS, id_text
from vouch.pipeline.errors import UserError

MAX_LINE = 16 * 2**20
MAX_UNPACKED = 2**30
ROUNDING = 1e-3  # a log-likelihood of 0 may come out a little above it
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class Sample:
    """One answer: its place in the file, doc_id, name (of the item, by the key), and what it is.

    choices: log-likelihoods in nats, -inf for what cannot be. text: None where there are choices, or nothing.
    number, temperature: of a further answer to the same question; 0 for the one that is scored.
    """

    place: str
    doc_id: int
    name: str
    choices: tuple[float, ...] = ()
    text: str | None = None
    number: int = 0
    temperature: float = 0.0

    @property
    def line(self) -> str:
        """Its place without its name: `line 3`, `row 3`."""
        return self.place.partition(":")[0]


def read_samples(
    data: bytes, where: str, form: ModuleType, key: str | None, chosen: str | None
) -> list[Sample]:
    """The samples of a log, all with choices or all with texts.

    key: dotted path to the item's name, None for the doc_id. chosen: the filter whose lines count. Raises
    UserError naming file, line and doc_id of the first problem.
    """
    samples: list[Sample] = []
    first: dict[int, int] = {}
    filters: set[str] = set()
    for number, line in lines(data, where):
        place = f"{where} line {number}"
        values = object_of(line, place)
        doc_id = _doc_id(values, place)
        place = f"{place}: doc_id {doc_id}"
        name = values.get("filter")
        if isinstance(name, str):
            filters.add(name[:40])
        if chosen is not None and name != chosen:
            continue
        if first.setdefault(doc_id, number) != number:
            raise UserError(f"{place}: stands already in line {first[doc_id]}; {_one_of(filters)}")
        samples.append(_sample(values, f"line {number}: doc_id {doc_id}", doc_id, place, form, key))
        if (samples[-1].text is None) != (samples[0].text is None) or len(samples) > MAX_ROWS:
            raise UserError(
                f"{place}: a log holds either choices or texts, {MAX_ROWS:,} at most; split the file"
            )
    if not samples:
        found = f" of filter {chosen}, only of {', '.join(sorted(filters)[:5])}" if filters else ""
        raise UserError(f"{where}: holds no samples{found}; correct the file or the key filter")
    return samples


def _one_of(filters: set[str]) -> str:
    if len(filters) < 2:
        return "keep one"
    return f"choose one of its filters by the key filter: {', '.join(sorted(filters)[:5])}"


def lines(data: bytes, where: str) -> Iterator[tuple[int, bytes]]:
    """Number and content of every line that is not blank."""
    file = gzip.GzipFile(fileobj=io.BytesIO(data)) if data.startswith(_GZIP) else io.BytesIO(data)
    number = total = 0
    try:
        while line := file.readline(MAX_LINE + 1):
            number, total = number + 1, total + len(line)
            if len(line) > MAX_LINE or total > MAX_UNPACKED:
                raise UserError(
                    f"{where} line {number}: longer than {MAX_LINE:,} bytes, or the file than "
                    f"{MAX_UNPACKED:,}; leave out the fields doc and arguments"
                )
            if line.strip():
                yield number, line
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(
            f"{where} line {number + 1}: not readable as gzip ({error}); fetch it again"
        ) from None


def object_of(line: bytes, place: str) -> dict[str, Any]:
    """The object on a line. Raises UserError."""
    try:
        values = json.loads(line.decode("utf-8"), parse_float=_finite)
    except RecursionError:
        raise UserError(f"{place}: nested too deep; correct the line") from None
    except ValueError as error:
        raise UserError(f"{place}: not JSON in UTF-8 ({error!s:.120}); correct the line") from None
    if not isinstance(values, dict):
        raise UserError(
            f"{place}: holds a {type(values).__name__}, not an object with doc_id; correct the line"
        )
    return values


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"the number {text[:20]} is too large")
    return value


def _doc_id(values: Mapping[str, Any], place: str) -> int:
    doc_id = values.get("doc_id")
    if isinstance(doc_id, bool) or not isinstance(doc_id, int) or not 0 <= doc_id < 2**31:
        raise UserError(f"{place}: doc_id is {_quoted(doc_id)}, not a number from 0; correct the line")
    return doc_id


def _sample(
    values: Mapping[str, Any], line: str, doc_id: int, place: str, form: ModuleType, key: str | None
) -> Sample:
    name = str(doc_id) if key is None else id_text(_field(values, key, place), f"{place}: {key}")
    given = form.responses(values)
    if given is None:
        raise UserError(f"{place}: has no responses; write the log with --log_samples")
    answers = [_only(request, place) for request in (given if isinstance(given, list) else [given])]
    if answers and all(_is_pair(answer) for answer in answers):
        choices = tuple(_log_likelihood(answer[0], choice, place) for choice, answer in enumerate(answers, 1))
        if max(choices) == -math.inf:
            raise UserError(f"{place}: all its choices are impossible (-inf); remove it, or ask it again")
        return Sample(line, doc_id, name, choices)
    if len(answers) == 1 and isinstance(answers[0], str):
        return Sample(line, doc_id, name, text=sound(answers[0], place))
    raise UserError(
        f"{place}: responses are neither one text nor [log-likelihood, is greedy] for each choice; "
        "only multiple_choice and generate_until tasks are read"
    )


def _field(values: Mapping[str, Any], key: str, place: str) -> Any:
    level: Any = values
    for part in key.split("."):
        if not isinstance(level, dict) or part not in level:
            found = ", ".join(level)[:200] if isinstance(level, dict) else "no fields"
            raise UserError(f"{place}: no field {part} of key {key}, it has {found}; correct the key")
        level = level[part]
    return level


def _only(request: Any, place: str) -> Any:
    """The one response to a request; a filtered or flattened one stands without its list."""
    if not isinstance(request, list) or _is_pair(request):
        return request
    if len(request) != 1:
        raise UserError(f"{place}: {len(request)} responses to one request; write the log without repeats")
    return request[0]


def _is_pair(answer: Any) -> bool:
    return isinstance(answer, list) and len(answer) == 2 and answer[1] in (True, False, "True", "False")


def _log_likelihood(value: Any, choice: int, place: str) -> float:
    number = _number(value)
    if number is not None and number <= ROUNDING:
        return number
    why = "is not a number of at most 0"
    if number is not None and number > 0:
        why = "is positive, perhaps a loss: its sign and scale depend on who wrote it"
    raise UserError(f"{place}: log-likelihood {choice} is {_quoted(value)}, which {why}; correct the log")


def _number(value: Any) -> float | None:
    """A number, or a text of one as JSON would write it; infinity only where it is spelled out."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        number, text = float(value), str(value)
    except (ValueError, OverflowError):
        return None
    return None if "_" in text or (math.isinf(number) and "inf" not in text) else number


def _quoted(value: Any) -> str:
    """A value in an error; str() of a nested one could go too deep."""
    scalar = value is None or isinstance(value, str | int | float)
    return repr(str(value)[:40]) if scalar else f"a {type(value).__name__}"


def sound(text: str, place: str) -> str:
    """The text, if UTF-8 has a form for it. Raises UserError."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise UserError(f"{place}: its text holds half a surrogate pair; correct the line") from None
    return text
