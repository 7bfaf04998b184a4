"""Damaged copies of valid files: bytes, pieces of text, and values of JSON. Same seed, same copies."""

import json
import random
from collections.abc import Callable, Sequence
from typing import Any

NUMBERS = (0, -1, 1, 2**31 - 1, 2**31, -(2**31), 2**63, 2**64, 10**400, 0.1, -0.0, 1e308, 5e-324)
WORDS = (
    *("", " ", "\0", "\n", "\r\n", "\t", "\x1b[2J", "\u2028", "\ufeff", "\u202e", "\ud800"),
    *("é", "e\u0301", "🎈", "İ", "../../etc/passwd", "/etc/passwd", "C:\\x", "~", "nan", "inf", "-inf"),
    *("1e999", "0x", "1_0", "None", "null", "{{7*7}}", "${x}", "%s%n", "=1+1", "<b>", "\\u0000", '"', "'"),
    *("`", "!!python/name:os", "<image 1>", "&a *a"),
    *(" " * 3000, "A) " * 300, "9" * 5000, "[" * 3000, "{" * 3000),
    *(character * 300 for character in "a(*-"),
)
LONGEST = 1 << 19  # bytes of a damaged copy
Mutation = Callable[[random.Random, bytes, Sequence[bytes]], bytes]


def mutated(dice: random.Random, corpus: Sequence[bytes], words: Sequence[bytes] = ()) -> bytes:
    """One damaged copy. corpus: valid files, at least one. words: what the format is made of."""
    data = dice.choice(corpus)
    for _ in range(dice.choice((1, 1, 1, 2, 2, 4, 8, 16))):
        if words and dice.random() < 0.3:
            data = _put(dice, data, dice.choice(words))
        else:
            data = dice.choice(_MUTATIONS)(dice, data, corpus)
    return data[:LONGEST]


def _span(dice: random.Random, data: bytes) -> tuple[int, int]:
    start = dice.randrange(len(data) + 1)
    return start, min(len(data), start + dice.choice((1, 2, 4, 16, 256, 4096)))


def _put(dice: random.Random, data: bytes, piece: bytes) -> bytes:
    start, end = _span(dice, data)
    return data[:start] + piece + data[start if dice.random() < 0.5 else end :]


def _flip(dice: random.Random, data: bytes, corpus: Sequence[bytes]) -> bytes:
    if not data:
        return data
    place = dice.randrange(len(data))
    return data[:place] + bytes([data[place] ^ (1 << dice.randrange(8))]) + data[place + 1 :]


def _byte(dice: random.Random, data: bytes, corpus: Sequence[bytes]) -> bytes:
    return _put(dice, data, bytes([dice.choice((0, 1, 0x7F, 0x80, 0xFF, dice.randrange(256)))]))


def _integer(dice: random.Random, data: bytes, corpus: Sequence[bytes]) -> bytes:
    value, size = dice.choice((0, 1, -1, 2**15, 2**31 - 1, -(2**31), 2**62)), dice.choice((2, 4, 8))
    return _put(dice, data, (value % 2 ** (8 * size)).to_bytes(size, dice.choice(("little", "big"))))


def _cut(dice: random.Random, data: bytes, corpus: Sequence[bytes]) -> bytes:
    start, end = _span(dice, data)
    return data[:start] if dice.random() < 0.3 else data[:start] + data[end:]


def _again(dice: random.Random, data: bytes, corpus: Sequence[bytes]) -> bytes:
    start, end = _span(dice, data)
    return data[:end] + data[start:end] * dice.choice((1, 2, 50, 1000)) + data[end:]


def _splice(dice: random.Random, data: bytes, corpus: Sequence[bytes]) -> bytes:
    other = dice.choice(corpus)
    start, end = _span(dice, other)
    return _put(dice, data, other[start:end]) if dice.random() < 0.7 else data[:end] + other[start:]


def _word(dice: random.Random, data: bytes, corpus: Sequence[bytes]) -> bytes:
    word: Any = dice.choice((*WORDS, *NUMBERS))
    return _put(dice, data, str(word).encode("utf-8", "surrogatepass"))


def _value(dice: random.Random, data: bytes, corpus: Sequence[bytes]) -> bytes:
    """One value of a line of JSON put in another's place, left out, or exchanged for an odd one."""
    lines = data.split(b"\n")
    place = dice.randrange(len(lines))
    try:
        whole = json.loads(lines[place])
    except (ValueError, RecursionError):
        return _word(dice, data, corpus)
    lines[place] = json.dumps(_changed(dice, whole, whole)).encode()
    return b"\n".join(lines)


def _changed(dice: random.Random, value: Any, whole: Any) -> Any:
    if isinstance(value, dict | list) and value and dice.random() < 0.85:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        key = dice.choice(keys)
        kept = dict(value) if isinstance(value, dict) else list(value)
        if dice.random() < 0.1:
            del kept[key]  # type: ignore[arg-type]
        else:
            kept[key] = _changed(dice, value[key], whole)
        return kept
    odd = (None, True, False, [], {}, [value], {"a": value}, [value] * 40, float("nan"), whole)
    return dice.choice((*WORDS, *NUMBERS, *odd))


_MUTATIONS: tuple[Mutation, ...] = (_flip, _byte, _integer, _cut, _again, _splice, _word, _value)
