"""Rows of forward passes made from packs of questions. A job is one row; jobs of one shape share a pass."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from vouch.models.decoder.preparing import Prepared
from vouch.models.decoder.row_engine import padded_length
from vouch.models.decoder.tries import Trie, build
from vouch.tables.prompts import LETTERS, TEXT

Mode = Literal["trie", "batch", "plain"]
MODES: tuple[Mode, ...] = ("trie", "batch", "plain")  # fastest first

MAX_NODES = 1024  # of a trie: its mask grows with the square
MAX_WANTED = 512  # rows of the vocabulary's width


@dataclass(frozen=True)
class Target:
    """The places of a job whose logits answer one question.

    wanted: for letters the place of the last prompt token; for likelihood, of each option, the places
    before its tokens; `option` is the first option's number. Places count from the job's first token.
    """

    output: str
    prepared: Prepared
    wanted: tuple[tuple[int, ...], ...]
    option: int = 0


@dataclass(frozen=True)
class Job:
    """One row of a pass.

    mode: trie (several questions after a prefix), batch (one sequence after a prefix), plain (one whole
    prompt). sequence: tokens of batch and plain. length: places it is padded to. wanted: places whose
    logits are read, padded to a power of two so that the shape follows from the pack alone.
    """

    mode: Mode
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
        text = self.targets[0].output == TEXT
        return (self.mode, prefix, self.length, len(self.wanted), text, self.prepared.shown_shape)


def jobs(
    output: str, prepared: Sequence[Prepared], mode: Mode, bucket: int, may_pad: Callable[[int], bool]
) -> Iterator[Job]:
    """The jobs of a pack. Prompts without pictures are always read whole (`plain`).

    may_pad: whether a row of so many tokens, padding and answer included, can be continued after
    padding; see Forward. Other rows that a text is to follow are not padded.
    """
    if output == TEXT:
        for one in prepared:
            yield _text(one, "batch" if one.prefix and mode != "plain" else "plain", bucket, may_pad)
        return
    if mode != "trie":
        for one in prepared:
            yield from _chains(output, one, mode if one.prefix else "plain", bucket)
        return
    groups: dict[str, list[Prepared]] = {}
    for one in prepared:
        if one.prefix:
            groups.setdefault(one.prefix_digest, []).append(one)
        else:
            yield from _chains(output, one, "plain", bucket)
    for group in groups.values():
        yield from _tries(output, group, bucket)


def _text(prepared: Prepared, mode: Mode, bucket: int, may_pad: Callable[[int], bool]) -> Job:
    prompt = prepared.ids[0 if mode == "plain" else prepared.prefix :]
    last = len(prompt) - 1
    target = Target(TEXT, prepared, ((last,),))
    length = padded_length(len(prompt), bucket)
    if not may_pad(len(prepared.ids) - len(prompt) + length + prepared.question.max_tokens):
        length = len(prompt)
    return Job(mode, prepared, (target,), length, (last,), sequence=prompt)


def _chains(output: str, prepared: Prepared, mode: Mode, bucket: int) -> Iterator[Job]:
    start = 0 if mode == "plain" else prepared.prefix
    prompt = prepared.ids[start:]
    last = len(prompt) - 1
    if output == LETTERS:
        target = Target(output, prepared, ((last,),))
        yield _job(mode, prepared, (target,), len(prompt), (last,), bucket, sequence=prompt)
        return
    for number, option in enumerate(prepared.options):
        places = tuple(range(last, last + len(option)))
        sequence = (*prompt, *option[:-1])
        target = Target(output, prepared, (places,), number)
        yield _job(mode, prepared, (target,), len(sequence), places, bucket, sequence=sequence)


def _tries(output: str, group: Sequence[Prepared], bucket: int) -> Iterator[Job]:
    """Greedily as many questions a trie as its size allows, in their order."""
    chosen: list[Prepared] = []
    for one in group:
        if chosen and not _fits(output, [*chosen, one]):
            yield _trie(output, chosen, bucket)
            chosen = []
        chosen.append(one)
    yield _trie(output, chosen, bucket)


def _sequences(output: str, prepared: Prepared) -> list[tuple[int, ...]]:
    suffix = prepared.ids[prepared.prefix :]
    return [suffix] if output == LETTERS else [(*suffix, *option[:-1]) for option in prepared.options]


def _fits(output: str, group: Sequence[Prepared]) -> bool:
    sequences = [sequence for one in group for sequence in _sequences(output, one)]
    wanted = sum(len(option) for one in group for option in one.options) if output != LETTERS else len(group)
    return len(build(sequences)) <= MAX_NODES and wanted <= MAX_WANTED


def _trie(output: str, group: Sequence[Prepared], bucket: int) -> Job:
    sequences = [(one, sequence) for one in group for sequence in _sequences(output, one)]
    trie = build([sequence for _, sequence in sequences])
    targets, place = [], 0
    for one in group:
        last = len(one.ids) - one.prefix - 1
        paths = trie.paths[place : place + (1 if output == LETTERS else len(one.options))]
        place += len(paths)
        if output == LETTERS:
            wanted: tuple[tuple[int, ...], ...] = ((paths[0][last],),)
        else:
            wanted = tuple(path[last:] for path in paths)
        targets.append(Target(output, one, wanted))
    nodes = tuple(sorted({node for target in targets for path in target.wanted for node in path}))
    return _job("trie", group[0], tuple(targets), len(trie), nodes, bucket, trie=trie)


def _job(
    mode: Mode,
    prepared: Prepared,
    targets: tuple[Target, ...],
    tokens: int,
    wanted: tuple[int, ...],
    bucket: int,
    trie: Trie | None = None,
    sequence: tuple[int, ...] = (),
) -> Job:
    count = 1 << (len(wanted) - 1).bit_length()
    padded = (*wanted, *[wanted[-1]] * (count - len(wanted)))
    return Job(mode, prepared, targets, padded_length(tokens, bucket), padded, trie, sequence)
