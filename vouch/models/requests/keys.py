"""Prompts grouped into packs, and the cache key of every answer. No model, no disk.

A pack is what bits of an answer may depend on: up to PACK_PROMPTS prompts of one item and variation
for letters and likelihood, a single prompt for text. It follows from the item and the variation alone,
so a variation that is added later leaves all other packs as they are. The first prompt of `circular` is the
original once more (of `circular+vr_b`: `vr_b`): in a pack of its own it has the key of that one, and is not
asked a second time.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from vouch.models.requests.config import Config
from vouch.models.requests.engine import Decoding
from vouch.models.requests.prompt_table import KnownTexts, Pending, Prompt, fill
from vouch.tables.prompts import LETTERS, LIKELIHOOD, OUTPUTS, TEXT, repeats

PACK_PROMPTS = 12  # a longer pack gains little and its mask grows with the square

_SHOWN = ("system", "turns", "text", "response", "pictures")
_CONTENT = {LETTERS: (*_SHOWN, "marks"), LIKELIHOOD: (*_SHOWN, "options"), TEXT: (*_SHOWN, "max_tokens")}
_NEEDED = {LETTERS: "marks", LIKELIHOOD: "options"}


@dataclass(frozen=True)
class Member:
    """A prompt of a pack, placeholders filled. keys: one for each of its decodings, or a single one.

    problem: why it is not asked at all, else None; then it has no keys.
    """

    prompt: Prompt
    keys: tuple[bytes, ...]
    decodings: tuple[Decoding, ...] = ()
    problem: str | None = None


@dataclass(frozen=True)
class KeyedPack:
    """A pack of prompts with the keys of their answers."""

    output: str
    members: tuple[Member, ...]


class Keys:
    """Keys of answers: SHA-256 over everything that can change one, and nothing else.

    base: what all answers of a run have in common (the model's pin, the engine, revisions, settings).
    answer_prefix: begins an answer whose letter is read, where the prompt gives no beginning.
    """

    def __init__(self, base: Mapping[str, Any], config: Config, answer_prefix: str | None = None) -> None:
        self._base, self._config, self._answer_prefix = dict(base), config, answer_prefix

    def pack(self, output: str, prompts: Sequence[Prompt]) -> KeyedPack:
        """The pack of some prompts; for text exactly one."""
        if output == LETTERS and self._answer_prefix:
            prompts = [{**one, "response": one["response"] or self._answer_prefix} for one in prompts]
        contents = [{name: prompt[name] for name in _CONTENT[output]} for prompt in prompts]
        pack = _digest({**self._base, "ask": output, "pack": contents}).hex()
        if output != TEXT:
            members = [Member(prompt, (_digest([pack, place]),)) for place, prompt in enumerate(prompts)]
            return KeyedPack(output, tuple(members))
        decodings = tuple(self._decodings(pack, prompts[0]["variation"]))
        keys = tuple(_digest([pack, one.temperature, one.sample, one.seed]) for one in decodings)
        return KeyedPack(output, (Member(prompts[0], keys, decodings),))

    def refused(self, output: str, prompt: Prompt, problem: str) -> KeyedPack:
        """A prompt that cannot be asked."""
        (member,) = self.pack(output, [prompt]).members
        return KeyedPack(output, (replace(member, keys=(), problem=problem),))

    def _decodings(self, pack: str, variation: str) -> Iterator[Decoding]:
        yield Decoding()
        for sampling in self._config.sampling:
            for sample in range(1, sampling.samples + 1) if sampling.of_variation(variation) else ():
                drawn = _digest([pack, sampling.temperature, sample, self._config.seed])
                yield Decoding(sampling.temperature, sample, int.from_bytes(drawn[:8]))


def _digest(value: Any) -> bytes:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).digest()


def groups(prompts: Iterable[Prompt], known_texts: KnownTexts, keys: Keys) -> Iterator[list[KeyedPack]]:
    """All packs of each item and variation, in the order of the table.

    Packs with a placeholder whose answer is not known yet are left out.
    """
    for _, group in groupby(prompts, key=lambda prompt: (prompt["item"], prompt["variation"])):
        rows = list(group)
        yield [
            pack
            for output in OUTPUTS
            for pack in _of_group(
                output, [row for row in rows if output in (row["outputs"] or ())], known_texts, keys
            )
        ]


def _of_group(
    output: str, rows: Sequence[Prompt], known_texts: KnownTexts, keys: Keys
) -> Iterator[KeyedPack]:
    size = 1 if output == TEXT else PACK_PROMPTS
    once = 1 if rows and repeats(rows[0]["id"], rows[0]["variation"]) else 0
    starts = range(once, len(rows), size)
    for pack in [rows[:once], *(rows[start : start + size] for start in starts)]:
        try:
            filled = [fill(row, known_texts) for row in pack]
        except Pending:
            continue
        judged = [(prompt, problem or _lack(output, prompt)) for prompt, problem in filled]
        whole = [prompt for prompt, problem in judged if problem is None]
        if whole:
            yield keys.pack(output, whole)
        for prompt, problem in judged:
            if problem is not None:
                yield keys.refused(output, prompt, problem)


def _lack(output: str, prompt: Prompt) -> str | None:
    needed = _NEEDED.get(output)
    return f"asks for {output} but has no {needed}" if needed and not prompt[needed] else None
