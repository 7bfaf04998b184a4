"""The prompts of a dataset in packs, and the cache key of every answer. No model is needed.

A pack is all that the bits of an answer may depend on: up to PACK_PROMPTS prompts of one item and variation
for letters and likelihood, a single prompt for text. It depends only on the item and the variation, so a
variation that is added later leaves all other packs as they are. The first prompt of `circular` is the
original once more (of `circular+vr_b`: `vr_b`): in a pack of its own it has the original's key, and is not
asked a second time. Placeholders `{answer k}` of dialogues are filled with the model's own answers to earlier
prompts. A model that takes no images gets prompts without them, so variations of an item that change only its
images share their keys: the question is asked once.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from types import MappingProxyType
from typing import Any

from vouch.models.config import BeamSearch, ExtractConfig
from vouch.models.engine import Decoding
from vouch.models.replies import Pending, Prompt, Replies, fill
from vouch.tables.asked import (
    EARLIER_OPTIONS,
    LETTERS,
    LIKELIHOOD,
    MODEL_PROMPTS,
    OUTPUTS,
    PROMPTS,
    TEXT,
    prompt_for,
    prompts_path,
    repeats,
)
from vouch.tables.marks import in_words, marked, without_figure

ROWS = 1024  # in memory at a time
_COLUMNS = [
    *("id", "item", "variation", "system", "turns", "text", "response", "earlier", "options", "labels"),
    *("images", "outputs", "max_tokens", "order", EARLIER_OPTIONS.name, MODEL_PROMPTS.name),
]


class PromptTable:
    """All prompts of a dataset as a model is asked them, in their order; none if it is not `asked`.

    max_tokens: of a text whose prompt sets no cap. sees: whether the model takes images; if not, prompts are
    without them.
    """

    def __init__(
        self, dataset: str, model: str, max_tokens: int, asked: bool = True, sees: bool = True
    ) -> None:
        self._path, self._model = prompts_path(dataset), model
        self._max_tokens, self._asked, self._sees = max_tokens, asked, sees

    def __iter__(self) -> Iterator[Prompt]:
        for row, stored in enumerate(self._rows(_COLUMNS)):
            prompt = prompt_for(self._model, stored) | {"row": row}
            prompt["max_tokens"] = prompt["max_tokens"] or self._max_tokens
            yield prompt if self._sees else without_images(prompt)

    def _rows(self, columns: list[str]) -> Iterator[Prompt]:
        if self._asked:
            for batch in PROMPTS.open(self._path).iter_batches(ROWS, columns=columns, use_threads=False):
                yield from batch.to_pylist()

    @cached_property
    def repeated(self) -> frozenset[str]:
        """Ids of the prompts whose answers other prompts repeat."""
        return frozenset(
            name for row in self._rows(["earlier"]) for names in row["earlier"] or () for name in names
        )


# The marks that a template puts before a text, of images that have none in it (ImageMarks.front
# of vouch/prompts/template.py)
_FRONT = re.compile(r"\A(?:<image [1-9][0-9]*>\n)+")


def without_images(prompt: Prompt) -> Prompt:
    """The prompt for a model that takes no images. Their marks are left out, or become words as in
    the variation `text_only`."""
    options = list(map(in_words, prompt["options"] or ()))
    one = len(prompt["images"] or ()) == 1 and not any(map(marked, prompt["options"] or ()))

    def bare(text: str) -> str:
        return without_figure(text) if one else in_words(_FRONT.sub("", text))

    turns = [{**turn, "question": bare(turn["question"])} for turn in prompt["turns"] or ()]
    return {**prompt, "images": [], "text": bare(prompt["text"]), "turns": turns, "options": options}


PACK_PROMPTS = 12  # a longer pack gains little, and its mask grows quadratically

_SHOWN = ("system", "turns", "text", "response", "images")
_CONTENT = {LETTERS: (*_SHOWN, "labels"), LIKELIHOOD: (*_SHOWN, "options"), TEXT: (*_SHOWN, "max_tokens")}
_NAMES_IN_KEYS = {"images": "pictures", "labels": "marks"}
"""Older names of columns. They are part of the keys of stored answers, so they stay."""
_NEEDED = {LETTERS: "labels", LIKELIHOOD: "options"}


@dataclass(frozen=True)
class Member:
    """A prompt of a pack, placeholders filled. keys: one for each of its decodings, or a single one.

    problem: why it cannot be asked, else None; with a problem it has no keys.
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

    base: the part that all answers of a run share (the model's pin, the engine, revisions, settings).
    answer_prefix: begins an answer whose letter is read, if the prompt gives no beginning. search: the beam
    search in place of greedy decoding; only then it is part of a key.
    """

    def __init__(
        self,
        base: Mapping[str, Any],
        config: ExtractConfig,
        answer_prefix: str | None = None,
        search: BeamSearch | None = None,
    ) -> None:
        self._base, self._config, self._answer_prefix = dict(base), config, answer_prefix
        self._search = search

    def pack(self, output: str, prompts: Sequence[Prompt]) -> KeyedPack:
        """The pack of some prompts; for text exactly one."""
        if output == LETTERS and self._answer_prefix:
            prompts = [{**one, "response": one["response"] or self._answer_prefix} for one in prompts]
        contents = [
            {_NAMES_IN_KEYS.get(name, name): prompt[name] for name in _CONTENT[output]} for prompt in prompts
        ]
        pack = _digest({**self._base, "ask": output, "pack": contents}).hex()
        if output != TEXT:
            members = [Member(prompt, (_digest([pack, index]),)) for index, prompt in enumerate(prompts)]
            return KeyedPack(output, tuple(members))
        decodings = tuple(self._decodings(pack, prompts[0]["variation"]))
        drawn = [(one, [pack, one.temperature, one.sample, one.seed]) for one in decodings]
        keys = tuple(_digest([*key, *([vars(one.search)] if one.search else [])]) for one, key in drawn)
        return KeyedPack(output, (Member(prompts[0], keys, decodings),))

    def refused(self, output: str, prompt: Prompt, problem: str) -> KeyedPack:
        """A prompt that cannot be asked."""
        (member,) = self.pack(output, [prompt]).members
        return KeyedPack(output, (replace(member, keys=(), problem=problem),))

    def _decodings(self, pack: str, variation: str) -> Iterator[Decoding]:
        yield Decoding(search=self._search)
        for sampling in self._config.sampling:
            for sample in range(1, sampling.samples + 1) if sampling.of_variation(variation) else ():
                drawn = _digest([pack, sampling.temperature, sample, self._config.seed])
                yield Decoding(sampling.temperature, sample, int.from_bytes(drawn[:8]))


def _digest(value: Any) -> bytes:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).digest()


def groups(
    prompts: Iterable[Prompt],
    replies: Replies,
    keys: Keys,
    unsupported: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[list[KeyedPack]]:
    """All packs of each item and variation, in the order of the table.

    Packs with a placeholder whose answer is not known yet are left out. unsupported: request types that the
    model does not support, with the reason.
    """
    for _, group in groupby(prompts, key=lambda prompt: (prompt["item"], prompt["variation"])):
        rows = list(group)
        yield [
            pack
            for output in OUTPUTS
            for pack in _of_group(
                output,
                [row for row in rows if output in (row["outputs"] or ())],
                replies,
                keys,
                unsupported.get(output),
            )
        ]


def _of_group(
    output: str, rows: Sequence[Prompt], replies: Replies, keys: Keys, why: str | None
) -> Iterator[KeyedPack]:
    """why: the reason for which the model answers none of them, else None."""
    size = 1 if output == TEXT else PACK_PROMPTS
    once = 1 if rows and repeats(rows[0]["id"], rows[0]["variation"]) else 0
    starts = range(once, len(rows), size)
    for pack in [rows[:once], *(rows[start : start + size] for start in starts)]:
        try:
            filled = [fill(row, replies) for row in pack]
        except Pending:
            continue
        judged = [(prompt, why or problem or _lack(output, prompt)) for prompt, problem in filled]
        whole = [prompt for prompt, problem in judged if problem is None]
        if whole:
            yield keys.pack(output, whole)
        for prompt, problem in judged:
            if problem is not None:
                yield keys.refused(output, prompt, problem)


def _lack(output: str, prompt: Prompt) -> str | None:
    needed = _NEEDED.get(output)
    return f"asks for {output} but has no {needed}" if needed and not prompt[needed] else None
