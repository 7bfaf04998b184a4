"""Whether a tokenizer.json can be used: it is tried on one text before anything else reads it.

The Rust library under a tokenizer ends its process where memory runs out, and a regular expression or a list
of replacements may take any amount of time. So the trial runs in a process of its own, with limits on both.
That process runs this file by its path and knows the standard library and tokenizers alone; it prints a line
of JSON, or was stopped by a limit.
"""

import json
import math
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

SECONDS = 10  # of processor time, of which the largest vocabularies take two
MEMORY = 1 << 30  # bytes, of which they take a quarter
GROWTH = 50  # times as many characters or tokens as a text has characters; UTF-8 has four bytes at most
WORDS = "The quick brown fox jumps over the lazy dog; VEXING QUIZ (é, 数, 🙂)?\n"
TEXT = "".join(map(chr, range(32, 127))) + WORDS * 20
LARGEST_ID = 1 << 24  # of a token; vocabularies have some hundred thousand


def check_tokenizer(folder: Path) -> None:
    """Raises UserError where a tokenizer would let a text grow without bound, or would end this process."""
    from vouch.tables.answered import SECOND

    for path in (folder / "tokenizer.json", folder / SECOND / "tokenizer.json"):
        if path.is_file():
            _try_tokenizer(path)


def _try_tokenizer(path: Path) -> None:
    from vouch.pipeline.errors import UserError

    command = [sys.executable, "-P", __file__, str(path)]
    tried = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env={**os.environ, "TOKENIZERS_PARALLELISM": "false"},
        check=False,
    )
    length = len(TEXT)
    try:
        report = json.loads(tried.stdout)
    except ValueError:
        raise UserError(
            f"{path}: needs more than {SECONDS} s or {MEMORY >> 30} GB for a "
            f"text of {length:,} characters; correct tokenizer.json"
        ) from None
    if "panic" in report:
        raise UserError(f"{path}: fails at a plain text ({report['panic']}); correct tokenizer.json")
    if report.get("growth", 0) > GROWTH:
        raise UserError(f"{path}: replaces a character by {report['growth']:,}; correct tokenizer.json")
    for kind in ("characters", "tokens"):
        if report.get(kind, 0) > GROWTH * length:
            raise UserError(
                f"{path}: makes {report[kind]:,} {kind} of a text of {length:,}; correct tokenizer.json"
            )
    if report.get("largest", 0) >= LARGEST_ID:
        raise UserError(f"{path}: has a token with the id {report['largest']:,}; correct tokenizer.json")


def _growth(steps: Any) -> int:
    """Characters that the replacements of a normalizer or decoder make of one, whatever they look for."""
    if isinstance(steps, list):
        return math.prod(map(_growth, steps))
    if not isinstance(steps, dict):
        return 1
    grows = len(steps.get("content", "")) if steps.get("type") == "Replace" else 1
    return max(1, grows) * _growth(list(steps.values()))


def _main(path: str) -> None:
    """Prints how many tokens and characters TEXT becomes and the largest id, or why Rust panicked."""
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, resource.getrlimit(resource.RLIMIT_DATA)[1]))
    from tokenizers import Tokenizer

    report: dict[str, Any] = {}
    try:
        whole = json.loads(Path(path).read_text("utf-8"))
        report = {"growth": max(_growth(whole.get(part)) for part in ("normalizer", "decoder"))}
        del whole
        if report["growth"] > GROWTH:
            print(json.dumps(report))
            return
        tokenizer = Tokenizer.from_file(path)
        tokenizer.no_padding()  # as transformers does, which has its own
        tokenizer.no_truncation()
        characters = len(tokenizer.normalizer.normalize_str(TEXT)) if tokenizer.normalizer else len(TEXT)
        report = {
            "characters": characters,
            "tokens": len(tokenizer.encode(TEXT).ids),
            "largest": max(tokenizer.get_vocab().values(), default=0),
        }
    except Exception:  # whoever loads it gets the same, and says so
        pass
    except BaseException as error:  # a panic in Rust, which writes many lines
        report = {"panic": str(error)[:200]}
    print(json.dumps(report))


if __name__ == "__main__":
    _main(sys.argv[1])
