"""The lines of JSON that pass between Vouch and a driver: `>` to it, `<` from it.

    < {"versions": {PACKAGE: VERSION}}
    > {"hello": 1, "folder", "parts", "code", "settings", "dtype", "device", "threads", "weights"}
    < {"ready": 1, "outputs": [...], "device", "batch": n, "probe": {"prompt", "letters"}}

    > {"id": 7, "output": "letters", QUESTION, "labels": [...]}
    > {"id": 8, "output": "likelihood", QUESTION, "options": [...]}
    > {"id": 9, "output": "text", QUESTION, "max_tokens", "stop", "temperature", "seed"}

    < {"id": 7, "logits": [...], "letter_mass": p, "entropy": nats, ...}
    < {"id": 8, "nll": [...], "tokens": [...]}
    < {"id": 9, "text": "...", "logprobs": [...], "entropies": [...], "eos": n}
    < {"id": 7, "refused": "why"}
    < {"id": 7, "again": "why"}
    < {"fatal": "why"}
    < {"beat": n}

QUESTION is "system", "turns", "text", "response" and "images" (paths of PNG files); drivers/vouch_driver.py
says what each key holds. Letters may also have "spelling", "other_logits", "bracket_mass", "nll" and "flags".
A line that breaks these rules raises Broken: the driver is at fault, not the question.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vouch.models.engine import (
    Decoding,
    LetterAnswer,
    LikelihoodAnswer,
    Question,
    Refusal,
    TextAnswer,
    letter_flags,
)
from vouch.models.lock_entry import ProbeAnswer
from vouch.pipeline.errors import hidden
from vouch.tables.asked import LETTERS, LIKELIHOOD, OUTPUTS

LONGEST = 8 << 20  # bytes of a line
MOST_PACKAGES = 5000
MOST_AHEAD = 1024  # questions that a driver may ask for at once
SLACK = 1e-3  # by which a probability may exceed its bounds
FLAGS = ("other_spelling", "control_tokens")  # that only a driver knows
_WORDS = 500  # characters of a reason

Answer = LetterAnswer | LikelihoodAnswer | TextAnswer | Refusal


class Broken(ValueError):
    """A line that breaks the protocol."""


@dataclass(frozen=True)
class Request:
    """One answer that is wanted: of a question, for text of one decoding."""

    output: str
    question: Question
    decoding: Decoding | None = None


@dataclass(frozen=True)
class Ready:
    """What a driver says of itself. batch: questions that it is sent before it has answered one."""

    outputs: list[str]
    device: str
    batch: int
    probe: ProbeAnswer | None


def line(number: int, request: Request, images: Sequence[str]) -> dict[str, Any]:
    """The line that asks for one answer. images: paths of PNG files."""
    question = request.question
    asked: dict[str, Any] = {
        "id": number,
        "output": request.output,
        "system": question.system,
        "turns": [list(turn) for turn in question.turns],
        "text": question.text,
        "response": question.prefill,
        "images": list(images),
    }
    if request.output == LETTERS:
        return asked | {"labels": list(question.labels)}
    if request.output == LIKELIHOOD:
        return asked | {"options": list(question.options)}
    decoding = request.decoding or Decoding()
    drawn = {"temperature": decoding.temperature, "seed": decoding.seed}
    return asked | {"max_tokens": question.max_tokens, "stop": question.stop} | drawn


def parsed(line: bytes) -> dict[str, Any]:
    """The mapping in a line. Raises Broken."""

    def refuse(name: str) -> float:
        raise Broken(f"a number is {name}")

    try:
        value = json.loads(line, parse_constant=refuse)
    except Broken:
        raise
    except (ValueError, RecursionError) as error:
        raise Broken(f"a line that is not JSON ({error!s:.80}): {line[:60]!r}") from None
    if not isinstance(value, dict):
        raise Broken(f"a line that is no mapping: {line[:60]!r}")
    return value


def versions(message: Mapping[str, Any]) -> dict[str, str]:
    """A driver's first line: the packages of its environment. Raises Broken."""
    values = message.get("versions")
    if not isinstance(values, dict):
        raise Broken(f"its first line has no `versions` but {_names(message)}")
    short = all(isinstance(one, str) and len(one) < 200 for pair in values.items() for one in pair)
    if len(values) > MOST_PACKAGES or not short:
        raise Broken("`versions` is no mapping from packages to versions")
    return values


def ready(message: Mapping[str, Any]) -> Ready:
    """What a driver says once its model can be asked. Raises Broken."""
    if message.get("ready") != 1:
        raise Broken(f"its second line has no `ready`: 1 but {_names(message)}")
    outputs = message.get("outputs")
    if not isinstance(outputs, list) or not outputs or not all(one in OUTPUTS for one in outputs):
        raise Broken(f"`outputs` of ready is not a list of {', '.join(OUTPUTS)}")
    batch = _count(message, "batch", 1)
    try:
        probe = ProbeAnswer.model_validate(message["probe"]) if message.get("probe") else None
    except ValueError as error:
        raise Broken(
            f"`probe` of ready is not {{prompt, letters}} ({' '.join(str(error).split()):.120})"
        ) from None
    device = message.get("device")
    if not isinstance(device, str) or not device.isprintable() or not 0 < len(device) < 40:
        raise Broken("`device` of ready is no short text")
    ordered = [output for output in OUTPUTS if output in outputs]
    return Ready(ordered, device, min(batch, MOST_AHEAD), probe)


def answer(message: Mapping[str, Any], request: Request) -> tuple[Answer, list[str]]:
    """The answer in a line that has an id, and its flags. Raises Broken if it does not fit the question."""
    for name, transient in (("refused", False), ("again", True)):
        if name in message:
            return Refusal(words(message, name), transient=transient), []
    if request.output == LETTERS:
        return _letters(message, request.question)
    if request.output == LIKELIHOOD:
        count = len(request.question.options)
        nll, tokens = _numbers(message, "nll", count, low=-SLACK), message.get("tokens")
        if not isinstance(tokens, list) or len(tokens) != count or not all(map(_whole, tokens)):
            raise Broken(f"`tokens` are not {count} counts")
        return LikelihoodAnswer(nll, tokens), []
    return _text(message, request.question), []


def _letters(message: Mapping[str, Any], question: Question) -> tuple[LetterAnswer, list[str]]:
    count = len(question.labels)
    logits, spelling = _numbers(message, "logits", count), message.get("spelling")
    mass = _number(message, "letter_mass", 0.0, 1.0)
    if spelling not in (None, "", " "):
        raise Broken("`spelling` is neither nothing nor a space")
    other = _numbers(message, "other_logits", count) if message.get("other_logits") is not None else None
    bracket = _number(message, "bracket_mass", 0.0, 1.0) if message.get("bracket_mass") is not None else None
    nll = _number(message, "nll", 0.0) if message.get("nll") is not None else None
    entropy = _number(message, "entropy", 0.0)
    read = LetterAnswer(logits, spelling, other, None, mass, bracket, nll, entropy)
    flags = message.get("flags", [])
    if not isinstance(flags, list) or not all(flag in FLAGS for flag in flags):
        raise Broken(f"`flags` are others than {', '.join(FLAGS)}")
    return read, letter_flags(logits, mass) + list(dict.fromkeys(flags))


def _text(message: Mapping[str, Any], question: Question) -> TextAnswer:
    text = message.get("text")
    if not isinstance(text, str) or len(text.encode("utf-8", "surrogatepass")) > LONGEST:
        raise Broken("`text` is no text")
    if any("\ud800" <= char <= "\udfff" for char in text):
        raise Broken("`text` has half a surrogate pair")
    logprobs, entropies, eos = message.get("logprobs"), message.get("entropies"), message.get("eos")
    steps = None if logprobs is None else len(logprobs) if isinstance(logprobs, list) else -1
    if logprobs is not None:
        logprobs = _numbers(message, "logprobs", steps, high=SLACK)
        if len(logprobs) > question.max_tokens:
            raise Broken(f"`logprobs` are {len(logprobs)}, of at most {question.max_tokens} tokens")
    if entropies is not None:
        entropies = _numbers(message, "entropies", len(logprobs or ()), low=-SLACK)
    if eos is not None and (not _whole(eos, 0) or (logprobs is not None and eos >= len(logprobs))):
        raise Broken("`eos` is no position of a token")
    return TextAnswer(text, logprobs, entropies, eos, stopped=bool(question.stop) and question.stop in text)


def words(message: Mapping[str, Any], name: str) -> str:
    """The reason in a message, in one line and without secrets. Raises Broken."""
    given = message[name]
    if not isinstance(given, str) or not given.strip():
        raise Broken(f"`{name}` gives no reason")
    line = "".join(
        char if char.isprintable() else "\N{REPLACEMENT CHARACTER}"
        for char in " ".join(hidden(given).split())
    )
    return line[:_WORDS]


def _names(message: Mapping[str, Any]) -> str:
    return f"{', '.join(map(repr, message))[:80]}" if message else "nothing"


def _numbers(
    message: Mapping[str, Any], name: str, count: int | None, low: float = -math.inf, high: float = math.inf
) -> list[float]:
    values = message.get(name)
    if not isinstance(values, list) or len(values) != count:
        got = len(values) if isinstance(values, list) else "none"
        raise Broken(f"`{name}` has {got} numbers, not {count}")
    if not all(_finite(value) and low <= value <= high for value in values):
        raise Broken(f"`{name}` has a value that cannot be")
    return [float(value) for value in values]


def _number(message: Mapping[str, Any], name: str, low: float, high: float = math.inf) -> float:
    """A number within its bounds, but for rounding. Raises Broken."""
    value = message.get(name)
    if not _finite(value) or not low - SLACK <= float(value) <= high + SLACK:  # type: ignore[arg-type]
        raise Broken(f"`{name}` is {value!r:.40}, not a number from {low:g} to {high:g}")
    return float(value)  # type: ignore[arg-type]


def _finite(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond every float
        return False


def _whole(value: object, least: int = 1) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value < 1 << 31


def _count(message: Mapping[str, Any], name: str, least: int) -> int:
    value = message.get(name)
    if not isinstance(value, int) or not _whole(value, least):
        raise Broken(f"`{name}` of ready is {value!r:.40}, not a number from {least}")
    return value
