"""Logs of samples, as lm-evaluation-harness and lmms-eval write them with --log_samples.

A log has one JSON object per line, or is gzip of that; early versions wrote a list of objects
(lm-evaluation-harness to 0.4.2), or one object with that list under `logs` (lmms-eval 0.1). Each sample is
read and checked by itself, and only its name and its answers are kept. The sizes of a sample, of the unpacked
file and of the log are bounded, so at worst a hostile file is refused. HARNESSES lists what the two do
differently, in reading and in writing (`vouch publish export`).
"""

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from vouch.models.released.logits import MAX_ROWS, id_text
from vouch.models.released.objects import behind_question, is_pair, number_of, objects
from vouch.pipeline.errors import UserError

ROUNDING = 1e-3  # a log-likelihood of 0 may come out a little above it


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
    answers = behind_question(values, answers)
    if answers and all(is_pair(answer) for answer in answers):
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
    if not isinstance(request, list) or is_pair(request):
        return request
    if len(request) != 1:
        raise UserError(f"{where}: {len(request)} responses to one request; write the log without repeats")
    return request[0]


def _log_likelihood(value: Any, choice: int, where: str) -> float:
    number = number_of(value)
    if number is not None and number <= ROUNDING:
        return number
    why = "is not a number of at most 0"
    if number is not None and number > 0:
        why = "is positive, perhaps a loss: its sign and scale depend on who wrote it"
    raise UserError(f"{where}: log-likelihood {choice} is {_quoted(value)}, which {why}; correct the log")


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
