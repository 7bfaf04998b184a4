"""Logs of samples of lm-evaluation-harness and lmms-eval, plain and gzipped."""

import gzip
import json
from pathlib import Path

from vouch.models.released.samples import HARNESSES, LogRecord, read_samples
from vouch.pipeline.errors import UserError

WORDS = b'"resps": | "filtered_resps": | "doc_id": | "-inf" | NaN | Infinity | [[[[ | \x1f\x8b'.split(b" | ")


def CORPUS() -> list[bytes]:
    chosen = [
        LogRecord(n, {"id": n, "q": "What?"}, "a", "Q: What?", (" a", " b"), (-0.5, -1.25), {"acc": 1.0})
        for n in range(3)
    ]
    said = [LogRecord(n, {"id": f"q{n}"}, "a", "Q: What?", (), ("a cat",), {"score": 0.5}) for n in range(3)]
    logs = [
        "".join(json.dumps(form.sample(record)) + "\n" for record in records).encode()
        for form in HARNESSES.values()
        for records in (chosen, said)
    ]
    return [*logs, *(log.splitlines()[0] for log in logs), *(gzip.compress(log, mtime=0) for log in logs)]


def read(data: bytes, folder: Path) -> None:
    problems = []
    for form in HARNESSES.values():
        for key in (None, "doc.id"):
            try:
                read_samples(data, "log.jsonl", form, key, None)
            except UserError as error:
                problems.append(error)
    if problems:
        raise problems[0]
