"""Logs of samples, as lm-evaluation-harness and lmms-eval write them with --log_samples.

A log has one JSON object per line, or is gzip of that; early versions wrote a list of objects
(lm-evaluation-harness to 0.4.2), or one object with that list under `logs` (lmms-eval 0.1). Each sample is
read and checked by itself, and only its name and its answers are kept. The sizes of a sample, of the unpacked
file and of the log are bounded, so at worst a hostile file is refused. HARNESSES lists what the two do
differently, in reading and in writing (`vouch publish export`).
"""

import gzip
import hashlib
import io
import json
import math
import re
import zlib
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from vouch.models.released.logits import MAX_ROWS, id_text
from vouch.pipeline.errors import UserError

MAX_LINE = 16 * 2**20
MAX_UNPACKED = 2**30
MAX_LIST = 2**28  # bytes of a list of samples, which is unpacked as a whole
ROUNDING = 1e-3  # a log-likelihood of 0 may come out a little above it
_GZIP, _BOM = b"\x1f\x8b", b"\xef\xbb\xbf"
_LIST = re.compile(rb"\s*(\[|\{([^\n]*[,:{\[])?\s*\n)")  # start of a file without one object per line
_BLANK = re.compile(r"[ \t\n\r]*")


@dataclass(frozen=True, slots=True)
class LogSample:
    """One answer: its location in the file, doc_id, name (of the item, by the key), and its content.

    choices: log-likelihoods in nats, -inf for the impossible. text: None if there are choices, or if a
    request has no response.
    number, temperature: of a further answer to the same question; 0 for the one that is scored.
    """

    location: str
    doc_id: int
    name: str
    choices: tuple[float, ...] = ()
    text: str | None = None
    number: int = 0
    temperature: float = 0.0

    @property
    def line(self) -> str:
        """Its location without its name: `line 3`, `row 3`."""
        return self.location.partition(":")[0]


@dataclass(frozen=True)
class LogRecord:
    """doc: the question's fields. context: the prompt's text.

    Either `continuations` holds the scored texts and `answers` a log-likelihood in nats for each, or
    `continuations` is empty and `answers` holds the one generated text.
    """

    doc_id: int
    doc: Mapping[str, Any]
    target: str
    context: str
    continuations: tuple[str, ...]
    answers: tuple[float | str, ...]
    metrics: Mapping[str, float]

    @property
    def requests(self) -> list[tuple[Any, ...]]:
        """The arguments of each request: context and continuation, or context and how to generate."""
        if not self.continuations:
            return [(self.context, {"do_sample": False, "temperature": 0, "until": []})]
        return [(self.context, continuation) for continuation in self.continuations]

    @property
    def responses(self) -> list[Any]:
        """Each request's first response: [log-likelihood, is greedy] in texts, or the text itself.

        Greedy is unknown and reads False.
        """
        return [answer if isinstance(answer, str) else [repr(answer), "False"] for answer in self.answers]

    @property
    def hashes(self) -> dict[str, str]:
        """SHA-256 of the doc as JSON, of the context and of the target, as both harnesses write them."""
        doc = json.dumps(self.doc, indent=2, ensure_ascii=False)
        texts = {"doc_hash": doc, "prompt_hash": self.context, "target_hash": self.target}
        return {name: hashlib.sha256(text.encode()).hexdigest() for name, text in texts.items()}


@dataclass(frozen=True)
class Harness:
    """A program that writes logs of samples.

    responses: of a line's object, the responses to every request, before any filter.
    sample: the object of one line for a Record.
    """

    responses: Callable[[Mapping[str, Any]], Any]
    sample: Callable[[LogRecord], dict[str, Any]]


def read_samples(
    data: bytes, where: str, harness: "Harness", key: str | None, chosen: str | None
) -> list[LogSample]:
    """The samples of a log: all that have an answer have choices, or all have texts.

    key: dotted path to the item's name, None for the doc_id. chosen: the filter whose lines count. Raises
    UserError naming file, line and doc_id of the first problem.
    """
    samples: list[LogSample] = []
    first: dict[int, str] = {}
    filters: set[str] = set()
    kinds: set[bool] = set()
    for line, values in objects(data, where):
        doc_id = values.get("doc_id")
        if isinstance(doc_id, bool) or not isinstance(doc_id, int) or not 0 <= doc_id < 2**31:
            raise UserError(
                f"{where} {line}: doc_id is {_quoted(doc_id)}, not a number from 0; correct the line"
            )
        here = f"{where} {line}: doc_id {doc_id}"
        name = values.get("filter")
        if isinstance(name, str):
            filters.add(name[:40])
        if chosen is not None and name != chosen:
            continue
        if first.setdefault(doc_id, line) != line:
            chosen_by = f"choose one of its filters by the key filter: {', '.join(sorted(filters)[:5])}"
            advice = chosen_by if len(filters) > 1 else "keep one"
            raise UserError(f"{here}: stands already in {first[doc_id]}; {advice}")
        sample = _sample(values, f"{line}: doc_id {doc_id}", doc_id, here, harness, key)
        samples.append(sample)
        if sample.choices or sample.text is not None:
            kinds.add(bool(sample.choices))
        if len(kinds) > 1 or len(samples) > MAX_ROWS:
            raise UserError(
                f"{here}: a log holds either choices or texts, {MAX_ROWS:,} at most; split the file"
            )
    if not samples:
        others = f" of filter {chosen}, only of {', '.join(sorted(filters)[:5])}" if filters else ""
        raise UserError(f"{where}: holds no samples{others}; correct the file or the key filter")
    return samples


def _sample(
    values: Mapping[str, Any], line: str, doc_id: int, where: str, harness: "Harness", key: str | None
) -> LogSample:
    name = str(doc_id) if key is None else id_text(_field(values, key, where), f"{where}: {key}")
    given = harness.responses(values)
    if given is None and not any(name in values for name in ("resps", "filtered_resps")):
        raise UserError(f"{where}: has no responses; write the log with --log_samples")
    answers = [_only(request, where) for request in (given if isinstance(given, list) else [given])]
    if any(answer is None for answer in answers):
        return LogSample(line, doc_id, name)
    if "acc_mutual_info" in values and len(answers) % 2 == 0:
        answers = answers[: len(answers) // 2]  # the rest are the choices without the question
    if answers and all(_is_pair(answer) for answer in answers):
        choices = tuple(_log_likelihood(answer[0], choice, where) for choice, answer in enumerate(answers, 1))
        if max(choices) == -math.inf:
            raise UserError(f"{where}: all its choices are impossible (-inf); remove it, or ask it again")
        return LogSample(line, doc_id, name, choices)
    if len(answers) == 1 and isinstance(answers[0], str):
        return LogSample(line, doc_id, name, text=sound(answers[0], where))
    raise UserError(
        f"{where}: responses are neither one text nor [log-likelihood, is greedy] for each choice; "
        "only multiple_choice and generate_until tasks are read"
    )


def _field(values: Mapping[str, Any], key: str, where: str) -> Any:
    level: Any = values
    for part in key.split("."):
        if not isinstance(level, dict) or part not in level:
            fields = ", ".join(level)[:200] if isinstance(level, dict) else "no fields"
            raise UserError(f"{where}: no field {part} of key {key}, it has {fields}; correct the key")
        level = level[part]
    return level


def _only(request: Any, where: str) -> Any:
    """The one response to a request; filtered or flattened ones are not in a list."""
    if not isinstance(request, list) or _is_pair(request):
        return request
    if len(request) != 1:
        raise UserError(f"{where}: {len(request)} responses to one request; write the log without repeats")
    return request[0]


def _is_pair(answer: Any) -> bool:
    return isinstance(answer, list) and len(answer) == 2 and answer[1] in (True, False, "True", "False")


def _log_likelihood(value: Any, choice: int, where: str) -> float:
    number = _number(value)
    if number is not None and number <= ROUNDING:
        return number
    why = "is not a number of at most 0"
    if number is not None and number > 0:
        why = "is positive, perhaps a loss: its sign and scale depend on who wrote it"
    raise UserError(f"{where}: log-likelihood {choice} is {_quoted(value)}, which {why}; correct the log")


def _number(value: Any) -> float | None:
    """A number, or a text of one as JSON would write it; infinity only if it is spelled out."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        number, text = float(value), str(value)
    except (ValueError, OverflowError):
        return None
    return None if "_" in text or (math.isinf(number) and "inf" not in text) else number


def _quoted(value: Any) -> str:
    """A value as an error quotes it; str() of a nested one could go too deep."""
    scalar = value is None or isinstance(value, str | int | float)
    return repr(str(value)[:40]) if scalar else f"a {type(value).__name__}"


def sound(text: str, where: str) -> str:
    """The text, if UTF-8 has a form for it. Raises UserError."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise UserError(f"{where}: its text holds half a surrogate pair; correct the line") from None
    return text


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


def _lm_eval_sample(record: LogRecord) -> dict[str, Any]:
    arguments = {
        f"gen_args_{number}": {f"arg_{index}": value for index, value in enumerate(request)}
        for number, request in enumerate(record.requests)
    }
    return {
        "doc_id": record.doc_id,
        "doc": dict(record.doc),
        "target": record.target,
        "arguments": arguments,
        "resps": [[response] for response in record.responses],
        "filtered_resps": record.responses,
        "filter": "none",
        "metrics": list(record.metrics),
        **record.hashes,
        **record.metrics,
    }


def _lmms_eval_sample(record: LogRecord) -> dict[str, Any]:
    return {
        "doc_id": record.doc_id,
        "doc": dict(record.doc),
        "target": record.target,
        "resps": [[response] for response in record.responses],
        "filtered_resps": record.responses,
        **record.hashes,
        **record.metrics,
        **({"score": record.metrics["acc"]} if "acc" in record.metrics else {}),
        "input": record.context,
    }


HARNESSES = {
    "lm_eval": Harness(lambda sample: sample.get("resps"), _lm_eval_sample),
    "lmms_eval": Harness(lambda sample: sample.get("resps", sample.get("filtered_resps")), _lmms_eval_sample),
}
