"""Packs of questions as rows of forward passes; rows of one shape share a pass.

A `PassRow` is for a model that goes on from its prompt, an `EncoderRow` for one with a text encoder.
In the mode `trie` several questions after one prefix are a single row: a tree of their tokens, so that the
model reads each common beginning once.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from vouch.models.batching import (
    MAX_NODES,
    MAX_WANTED,
    TOKEN_WEIGHT,
    Bucket,
    padded_length,
    padded_positions,
)
from vouch.models.decoder.preparing import Prepared
from vouch.tables.asked import LIKELIHOOD, TEXT


@dataclass(frozen=True)
class Trie:
    """A tree of n nodes; every node comes after its parent.

    tokens, depths  [n] token and distance from the root (0 for a first token)
    attends         [n, n] whether a row's node attends to a column's: to itself and its ancestors
    paths           for every sequence: its nodes, in the order of its tokens
    """

    tokens: NDArray[np.int64]
    depths: NDArray[np.int64]
    attends: NDArray[np.bool_]
    paths: tuple[tuple[int, ...], ...]

    def __len__(self) -> int:
        return len(self.tokens)


def build(sequences: Sequence[Sequence[int]]) -> Trie:
    """The tree of some token sequences, in their order."""
    tokens: list[int] = []
    parents: list[int] = []
    depths: list[int] = []
    children: dict[tuple[int, int], int] = {}
    paths = []
    for sequence in sequences:
        node, path = -1, []
        for depth, token in enumerate(sequence):
            child = children.setdefault((node, token), len(tokens))
            if child == len(tokens):
                tokens.append(token)
                parents.append(node)
                depths.append(depth)
            path.append(child)
            node = child
        paths.append(tuple(path))
    attends = np.eye(len(tokens), dtype=bool)
    for node, parent in enumerate(parents):
        if parent >= 0:
            attends[node, : parent + 1] = attends[parent, : parent + 1]
    return Trie(np.array(tokens, dtype=np.int64), np.array(depths, dtype=np.int64), attends, tuple(paths))


Mode = Literal["trie", "batch", "plain"]
MODES: tuple[Mode, ...] = ("trie", "batch", "plain")  # fastest first


@dataclass(frozen=True)
class Target:
    """The positions of a job whose logits answer one question.

    wanted: for letters and text the position of the last prompt token; for likelihood, for each option, the
    positions before its tokens. `option` is the first option's index. Positions count from the job's first
    token.
    """

    prepared: Prepared
    wanted: tuple[tuple[int, ...], ...]
    option: int = 0


@dataclass(frozen=True)
class PassRow:
    """One row of a pass.

    mode: trie (several questions after a prefix), batch (one sequence after a prefix), plain (one whole
    prompt). sequence: tokens of batch and plain. length: tokens it is padded to. wanted: positions whose
    logits are read; their number is padded too, so that the shape depends only on the pack.
    """

    mode: Mode
    output: str
    prepared: Prepared
    targets: tuple[Target, ...]
    length: int
    wanted: tuple[int, ...]
    trie: Trie | None = None
    sequence: tuple[int, ...] = ()

    @property
    def shape(self) -> Hashable:
        """What rows of one pass have in common."""
        prefix = 0 if self.mode == "plain" else self.prepared.prefix
        text = self.output == TEXT
        return (self.mode, prefix, self.length, len(self.wanted), text, self.prepared.shown_shape)

    @property
    def key(self) -> Hashable:
        """Of the images that it shows."""
        return self.prepared.prefix_digest

    @property
    def shared(self) -> int:
        """Bytes of its images while it waits, or a weight for what is cached after them."""
        cached = 0 if self.mode == "plain" else self.prepared.prefix
        return max(self.prepared.shown_bytes, cached * TOKEN_WEIGHT)

    @property
    def own(self) -> int:
        """Bytes of the rest."""
        return 0 if self.trie is None else self.trie.attends.nbytes

    @property
    def asked(self) -> list[Prepared]:
        """The questions that it serves."""
        return [target.prepared for target in self.targets]

    @cached_property
    def index_of(self) -> dict[int, int]:
        """The index in `wanted` of each position."""
        return {position: index for index, position in enumerate(self.wanted)}


def jobs(
    output: str, prepared: Sequence[Prepared], mode: Mode, bucket: Bucket, may_pad: Callable[[int], bool]
) -> Iterator[PassRow]:
    """The jobs of a pack. Prompts without images are always read whole (`plain`), text is never a trie.

    may_pad: whether a row of so many tokens, padding and answer included, can be continued after
    padding; see Forward. Other rows that a text is to follow are not padded.
    """
    groups: dict[str, list[Prepared]] = {}
    for one in prepared:
        if one.prefix and mode == "trie" and output != TEXT:
            groups.setdefault(one.prefix_digest, []).append(one)
            continue
        chained: Mode = "plain" if mode == "plain" or not one.prefix else "batch"
        start = 0 if chained == "plain" else one.prefix
        for number, (sequence, positions) in enumerate(_branches(output, one, start)):
            length = padded_length(len(sequence), bucket)
            if output == TEXT and not may_pad(start + length + one.question.max_tokens):
                length = len(sequence)
            target = Target(one, (positions,), number)
            wanted = _padded(
                positions, padded_positions(len(positions), length, bucket, output == LIKELIHOOD)
            )
            yield PassRow(chained, output, one, (target,), length, wanted, sequence=sequence)
    for group in groups.values():
        yield from _tries(output, group, bucket)


def _branches(output: str, prepared: Prepared, start: int) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """For each option: its sequence from `start` on without the last token, and the positions before tokens.

    Letters and text continue the prompt like an option of one token.
    """
    prompt, options = prepared.ids[start:], prepared.options if output == LIKELIHOOD else ((0,),)
    last = len(prompt) - 1
    return [((*prompt, *option[:-1]), tuple(range(last, last + len(option)))) for option in options]


def _tries(output: str, group: Sequence[Prepared], bucket: Bucket) -> Iterator[PassRow]:
    """Tries of the questions in their order, each with as many questions as its size allows."""
    chosen: list[Prepared] = []
    job: PassRow | None = None
    for one in group:
        more = _trie(output, [*chosen, one], bucket)
        if job is not None and not _fits(more):
            yield job
            chosen, more = [], _trie(output, [one], bucket)
        chosen.append(one)
        job = more
    if job is not None:
        yield job


def _fits(job: PassRow) -> bool:
    wanted = sum(len(path) for target in job.targets for path in target.wanted)
    return job.trie is not None and len(job.trie) <= MAX_NODES and wanted <= MAX_WANTED


def _trie(output: str, group: Sequence[Prepared], bucket: Bucket) -> PassRow:
    branches = [_branches(output, one, one.prefix) for one in group]
    trie = build([sequence for of_one in branches for sequence, _ in of_one])
    paths = iter(trie.paths)
    targets = tuple(
        Target(
            one,
            tuple(
                tuple(path[position] for position in positions)
                for (_, positions), path in zip(of_one, paths, strict=False)
            ),
        )
        for one, of_one in zip(group, branches, strict=True)
    )
    nodes = sorted({node for target in targets for path in target.wanted for node in path})
    length = padded_length(len(trie), bucket)
    count = padded_positions(len(nodes), length, bucket, output == LIKELIHOOD, tree=True)
    return PassRow("trie", output, group[0], targets, length, _padded(nodes, count), trie)


def _padded(wanted: Sequence[int], count: int) -> tuple[int, ...]:
    return (*wanted, *[wanted[-1]] * (count - len(wanted)))


@dataclass(frozen=True)
class EncoderRow:
    """One prompt. texts: [1, n] integer tensors of any number of tokens each, padded to `lengths`.

    images: other tensors. option_length: tokens of an option that the decoder reads, padded.
    """

    output: str
    prepared: Prepared
    texts: Mapping[str, torch.Tensor]
    lengths: Mapping[str, int]
    images: Mapping[str, torch.Tensor]
    option_length: int
    mode: str = "encoder_decoder"

    @property
    def shape(self) -> Hashable:
        """What rows of one pass have in common."""
        images = tuple((name, tuple(value.shape)) for name, value in sorted(self.images.items()))
        options = len(self.prepared.options), self.option_length
        return self.output, tuple(sorted(self.lengths.items())), len(self.prepared.prefill), images, options

    @property
    def key(self) -> Hashable:
        """Of the images that it shows."""
        return self.prepared.prefix_digest

    @property
    def shared(self) -> int:
        """Bytes of its images while it waits."""
        return self.prepared.shown_bytes

    own = 0

    @property
    def length(self) -> int:
        """Tokens of the prompt, padded."""
        return self.lengths["input_ids"]

    @property
    def asked(self) -> list[Prepared]:
        """The question that it serves."""
        return [self.prepared]
