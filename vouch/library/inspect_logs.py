"""Logs of Inspect, as records: .eval (a zip with a JSON file for each sample) and .json.

Logits are the log-probabilities of the letters where the answer says its letter, behind `ANSWER:` as the
solver multiple_choice asks for it and Inspect's scorer reads it. They need `--logprobs --top-logprobs 20`.
"""

import io
import json
import re
import struct
import zipfile
import zlib
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from vouch.library.records import Record, Records
from vouch.pipeline.errors import UserError

Sample = Mapping[str, Any]
NOT_AMONG_TOP = -100.0
"""Logit of a letter that is not among the most probable tokens."""
MOST_BYTES = 2**28
_SAID = r"ANSWER\s*:[\s*$(]*([A-Z])(?![ ,]*[A-Z\d])"  # not `ANSWER: A heron`
_SHUFFLED = "Choices were shuffled before generating a response, the following was sent to the model:\n\n"
_VALUES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
_ZIP, _ZSTD = b"PK\x03\x04", 93
UNFINISHED = ("started", "cancelled", "error")
NO_LOGITS = "run Inspect with --logprobs --top-logprobs 20 and the solver multiple_choice"


def is_inspect(suffix: str, data: bytes) -> bool:
    """Whether a file is a log of Inspect."""
    if suffix == ".eval":
        return True
    head = data[:4096]
    return suffix == ".json" and b'"eval"' in head and b'"version"' in head and b'"status"' in head


def records(path: Path, data: bytes) -> Records:
    """The records of a log, a sample in each epoch; those of a question are one group."""
    where = str(path)
    header, samples = _from_zip(data, where) if data.startswith(_ZIP) else _from_json(data, where)
    spec = header.get("eval")
    spec = spec if isinstance(spec, dict) else {}
    made = [_record(sample, where) for sample in samples]
    _check_once(samples, where)
    task, model = str(spec.get("task") or ""), str(spec.get("model") or "")
    return Records("Inspect", task, model, made, NO_LOGITS, remark=_unfinished(header.get("status")))


def _check_once(samples: Sequence[Sample], where: str) -> None:
    """Refuses a sample that an epoch has twice. Raises UserError."""
    seen = set[tuple[str, int]]()
    for sample in samples:
        name, epoch = str(sample.get("id")), _epoch(sample)
        if (name, epoch) in seen:
            raise UserError(f"{where}: sample {name[:60]!r} stands twice in epoch {epoch}; keep one")
        seen.add((name, epoch))


def _epoch(sample: Sample) -> int:
    epoch = sample.get("epoch")
    return epoch if isinstance(epoch, int) else 1


def _unfinished(status: Any) -> str:
    """A remark on the status of a run that did not finish; empty if it did, or if the log has no status."""
    return f"status is {status}, so samples may be missing" if status in UNFINISHED else ""


def _from_json(data: bytes, where: str) -> tuple[Sample, list[Sample]]:
    log = _parsed(data, where)
    samples = log.get("samples")
    if not isinstance(samples, list):
        raise UserError(f"{where}: holds no samples; run Inspect without --no-log-samples")
    for number, sample in enumerate(samples, 1):
        if not isinstance(sample, dict):
            raise UserError(
                f"{where}: sample {number} is a {type(sample).__name__}, not an object; fetch the log again"
            )
    return log, samples


def _from_zip(data: bytes, where: str) -> tuple[Sample, list[Sample]]:
    """Header and samples. Of a sample that was written twice the later counts."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = archive.namelist()
            header = next((name for name in ("header.json", "_journal/start.json") if name in names), None)
            if header is None:
                raise UserError(f"{where}: is a zip without header.json, no log of Inspect")
            if sum(archive.getinfo(name).file_size for name in set(names)) > 8 * MOST_BYTES:
                raise UserError(f"{where}: unpacks to more than {8 * MOST_BYTES:,} bytes; split the log")
            wanted = [name for name in dict.fromkeys(names) if re.match(r"samples/.*\.json$", name)]
            # A long sample is a folder, of which sample.json holds the output and the scores.
            wanted = [name for name in wanted if name.count("/") == 1 or name.endswith("/sample.json")]
            samples = [_parsed(_unpacked(archive, data, name, where), f"{where} {name}") for name in wanted]
            top = _parsed(_unpacked(archive, data, header, where), f"{where} {header}")
            if header != "header.json":  # written at the end of a run
                top["status"] = "started"
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, struct.error) as error:
        raise UserError(f"{where}: not readable as a zip ({error!s:.120}); fetch it again") from None
    return top, sorted(samples, key=_order)


def _order(sample: Sample) -> tuple[Any, ...]:
    """By epoch, then id; numbers before texts."""
    name = sample.get("id")
    number = name if isinstance(name, int) else 0
    return _epoch(sample), isinstance(name, str), number, str(name)


def _unpacked(archive: zipfile.ZipFile, data: bytes, name: str, where: str) -> bytes:
    """The bytes of a member. Inspect packs with Zstandard, which arrow unpacks; Python does from 3.14 on."""
    member = archive.getinfo(name)
    if member.file_size > MOST_BYTES:
        raise UserError(f"{where} {name}: unpacks to more than {MOST_BYTES:,} bytes; split the log")
    if member.compress_type != _ZSTD:
        return archive.read(member)
    try:
        import pyarrow
    except ModuleNotFoundError:
        raise UserError(
            f"{where}: is packed with Zstandard, which needs pyarrow: pip install pyarrow"
        ) from None
    start = member.header_offset
    name_size, more_size = struct.unpack("<HH", data[start + 26 : start + 30])
    start += 30 + name_size + more_size
    packed = data[start : start + member.compress_size]
    try:
        unpacked = pyarrow.Codec("zstd").decompress(packed, member.file_size).to_pybytes()
    except (OSError, ValueError) as error:
        raise UserError(
            f"{where} {name}: not readable as Zstandard ({error!s:.80}); fetch it again"
        ) from None
    if zlib.crc32(unpacked) != member.CRC:
        raise UserError(f"{where} {name}: is damaged; fetch it again")
    return bytes(unpacked)


def _parsed(data: bytes, where: str) -> dict[str, Any]:
    try:
        value = json.loads(data.decode("utf-8-sig"))
    except ValueError as error:
        raise UserError(f"{where}: not JSON in UTF-8 ({error!s:.120}); fetch it again") from None
    if not isinstance(value, dict):
        raise UserError(f"{where}: holds a {type(value).__name__}, not an object; fetch it again")
    return value


def _record(sample: Sample, where: str) -> Record:
    name = sample.get("id")
    if isinstance(name, bool) or not isinstance(name, int | str):
        raise UserError(f"{where}: a sample has the id {str(name)[:40]!r}; give each a number or a text")
    given = sample.get("choices")
    options = tuple(map(str, given)) if isinstance(given, list) else ()
    few = options if len(options) in range(1, 27) else ()
    scores = _of_scorers(sample)
    asked = sample.get("input")
    text = _text(sample)
    row, problem = letters(sample, few, scores)
    correct = _correct(sample.get("target"), len(few))
    if len(correct) > 1:  # one letter is no answer, and its log-probabilities say nothing of several
        row, problem, correct = (), "has several correct options", frozenset()
    return Record(
        question=str(name),
        group=str(name),
        logits=row,
        options=few,
        correct=correct,
        texts=() if text is None else (text,),
        target=", ".join(map(str, _listed(sample.get("target")))),
        asked=asked if isinstance(asked, str) else "",
        filtered={scorer: str(score.get("answer") or "") for scorer, score in scores.items()},
        scores={scorer: _number(score.get("value")) for scorer, score in scores.items()},
        problem=problem if text is not None else "has no output",
    )


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _of_scorers(sample: Sample) -> dict[str, dict[str, Any]]:
    """The scores by scorer, `choice` first. The first versions had one score without a name."""
    given = sample.get("scores")
    if not isinstance(given, dict):
        given = {"score": sample["score"]} if isinstance(sample.get("score"), dict) else {}
    every = {name: score for name, score in given.items() if isinstance(score, dict)}
    return dict(sorted(every.items(), key=lambda one: one[0] != "choice"))


def _number(value: Any) -> float:
    """A score as Inspect's own metrics read it; NaN if it is none."""
    if isinstance(value, int | float):
        return float(value)
    text = value if isinstance(value, str) else ""
    if (key := text if text in _VALUES else text.lower()) in _VALUES:
        return _VALUES[key]
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _correct(target: Any, count: int) -> frozenset[int]:
    """Indices of the correct choices, from letters: `B`, `["B"]`, `AB` or `A, B`."""
    letters = re.sub(r"[\s,]", "", "".join(map(str, _listed(target)))).upper()
    if not re.fullmatch("[A-Z]+", letters) or len(set(letters)) < len(letters):
        return frozenset()
    indices = frozenset(map(ascii_uppercase.index, letters))
    return indices if max(indices) < count else frozenset()


def _choice(sample: Sample) -> dict[str, Any]:
    """The first completion of a sample."""
    output = sample.get("output")
    choices = output.get("choices") if isinstance(output, dict) else None
    return choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}


def _text(sample: Sample) -> str | None:
    message = _choice(sample).get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, list):
        parts = [part for part in content if isinstance(part, dict) and part.get("type") == "text"]
        content = "".join(str(part.get("text") or "") for part in parts)
    kept = sample.get("attachments")
    if isinstance(content, str) and isinstance(kept, dict) and content.startswith("attachment://"):
        content = kept.get(content.removeprefix("attachment://"), content)
    return content if isinstance(content, str) else None


def spelled(token: str) -> str:
    """A token as text: some tokenizers write a blank as \\u0120 or \\u2581."""
    return token.translate({0x120: " ", 0x2581: " ", 0x10A: "\n"})


def _letter(token: str) -> str:
    match = re.fullmatch(r"\W*([A-Za-z])\W*", spelled(token))
    return match[1].upper() if match else ""


def _tokens(sample: Sample) -> Iterator[tuple[str, float, Sequence[Any]]]:
    """Token, log-probability and alternatives, of the answer."""
    logprobs = _choice(sample).get("logprobs")
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    for each in content if isinstance(content, list) else []:
        if isinstance(each, dict) and isinstance(each.get("token"), str):
            yield each["token"], _number(each.get("logprob")), _listed(each.get("top_logprobs"))


def letters(
    sample: Sample, options: Sequence[str], scores: Mapping[str, Mapping[str, Any]]
) -> tuple[tuple[float, ...], str]:
    """The log-probability of each option's letter, and why there are none."""
    if not options:
        return (), "has no choices, or more than 26"
    content = list(_tokens(sample))
    if not content:
        return (), "has no log-probabilities"
    tokens = [spelled(token) for token, *_ in content]
    text = "".join(tokens)
    matches = [*re.finditer(_SAID, text, re.I), *re.finditer(rf"^{_SAID}[\s*$),.]*$", text, re.I | re.M)]
    if not matches:
        return (), "says no letter behind ANSWER:"
    chosen, own, others = content[bisect_right(list(accumulate(map(len, tokens))), matches[-1].start(1))]
    if not others:
        return (), "has no log-probabilities of other letters; run it with --top-logprobs"
    pairs = [(one.get("token"), _number(one.get("logprob"))) for one in others if isinstance(one, dict)]
    ranked = sorted([*pairs, (chosen, own)], key=lambda pair: pair[1])
    top = {
        _letter(token): logprob for token, logprob in ranked if isinstance(token, str)
    }  # the likeliest spelling
    order = _shown(options, scores.get("choice"))
    if order is None:
        return (), "was shuffled by the solver, and its choices cannot be told apart"
    row = [NOT_AMONG_TOP] * len(options)
    for shown, option in enumerate(order):
        row[option] = max(top.get(ascii_uppercase[shown], NOT_AMONG_TOP), NOT_AMONG_TOP)
    if any(number != number for number in row):
        return (), "has a log-probability that is NaN"
    answer = scores["choice"].get("answer") if "choice" in scores else None
    shown = ascii_uppercase.find(_letter(chosen)) if _letter(chosen) else -1
    if "choice" in scores and (shown not in range(len(order)) or answer != ascii_uppercase[order[shown]]):
        return (), "says another letter than its scorer read"
    return tuple(row), ""


def _shown(options: Sequence[str], score: Mapping[str, Any] | None) -> list[int] | None:
    """The option behind each letter that the model saw; None if the solver's shuffle cannot be undone.

    Inspect shows targets, answers and messages as if the solver had not shuffled; what was sent is in the
    scorer's explanation.
    """
    explanation = str(score.get("explanation") or "") if score else ""
    if not explanation.startswith(_SHUFFLED):
        return list(range(len(options)))
    rest, order = explanation.removeprefix(_SHUFFLED), list[int]()
    for letter in ascii_uppercase[: len(options)]:
        further = ascii_uppercase[len(order) + 1]
        ends = f"\n{further}) " if len(order) + 1 < len(options) else "\nShuffled answer:"
        fitting = [
            index
            for index, option in enumerate(options)
            if index not in order and rest.startswith(f"{letter}) {option}{ends}")
        ]
        if len(fitting) != 1:
            return None
        order += fitting
        rest = rest.removeprefix(f"{letter}) {options[fitting[0]]}\n")
    return order
