"""Tries a tokenizer.json on one text, for vouch/models/loading/boundary.py, in a process that runs this file.

The Rust library under a tokenizer ends its process where memory runs out, and a regular expression or a list
of replacements may need any amount of time. Here both have limits. A line of JSON says what was found; a
process that ends without it was stopped by a limit. Standard library and tokenizers only: it is run by path.
"""

import json
import math
import resource
import sys
from pathlib import Path
from typing import Any

SECONDS = 10  # of processor time, of which the largest vocabularies take two
MEMORY = 1 << 30  # bytes, of which they take a quarter
GROWTH = 50  # times as many characters or tokens as a text has characters; UTF-8 has four bytes at most
WORDS = "The quick brown fox jumps over the lazy dog; VEXING QUIZ (é, 数, 🙂)?\n"
TEXT = "".join(map(chr, range(32, 127))) + WORDS * 20


def growth(steps: Any) -> int:
    """Characters that the replacements of a normalizer or decoder make of one, whatever they look for."""
    if isinstance(steps, list):
        return math.prod(map(growth, steps))
    if not isinstance(steps, dict):
        return 1
    grows = len(steps.get("content", "")) if steps.get("type") == "Replace" else 1
    return max(1, grows) * growth(list(steps.values()))


def main(path: str) -> None:
    """Prints how many tokens and characters TEXT becomes and the largest id, or why Rust panicked."""
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, resource.getrlimit(resource.RLIMIT_DATA)[1]))
    from tokenizers import Tokenizer

    found: dict[str, Any] = {}
    try:
        whole = json.loads(Path(path).read_text("utf-8"))
        found = {"growth": max(growth(whole.get(part)) for part in ("normalizer", "decoder"))}
        del whole
        if found["growth"] > GROWTH:
            print(json.dumps(found))
            return
        tokenizer = Tokenizer.from_file(path)
        tokenizer.no_padding()  # as transformers does, which has its own
        tokenizer.no_truncation()
        characters = len(tokenizer.normalizer.normalize_str(TEXT)) if tokenizer.normalizer else len(TEXT)
        found = {
            "characters": characters,
            "tokens": len(tokenizer.encode(TEXT).ids),
            "largest": max(tokenizer.get_vocab().values(), default=0),
        }
    except Exception:  # whoever loads it gets the same, and says so
        pass
    except BaseException as error:  # a panic in Rust, which writes many lines
        found = {"panic": str(error)[:200]}
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
