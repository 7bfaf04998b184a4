"""Which rows share a forward pass: the length of a row, the rows of a pass, and how long a row waits.

No model is needed: engines ask here what to compute, and `vouch plan` what would be computed.

Everything about a row follows from its own pack and from `batch` and `bucket` in params.yaml, so that the
bits of an answer never depend on other prompts. How long a row waits changes only the order of the answers.
A pass that is not full is filled with copies, which cost as much as prompts. So rows wait until it is full,
within bounds of memory, and with `bucket: geometric` there are few shapes:

                  bucket: N               bucket: geometric
    length        the next multiple of N  the next of 16, 24, 32, 48, 64, 96, 128, ...
    positions     a power of two          1; for several, and for likelihood, a power of two from 16 on, or in
                                          trees a third of the length, rounded up to a multiple of 8, or all
    rows          `batch`, or about       `batch`, or about 1024 tokens; 1 or a multiple of 4
                  2048 tokens

`positions` are those whose logits are computed. The fixed kernels of a CPU (vouch/pipeline/processor.py) take
the rows of a matrix in fours, and compute up to three that are left over in another order. So with a multiple
of 4 the bits of a row do not depend on where in the pass it is.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, Protocol, TypeVar

from vouch.tables.asked import LIKELIHOOD, TEXT

Bucket = int | Literal["geometric"]

MAX_NODES = 1024  # of a trie: its mask grows with the square
MAX_WANTED = 512  # positions of a tree whose logits are read, counted for each option that reads them
_LENGTHS = sorted({*(1 << n for n in range(4, 25)), *(3 << n for n in range(3, 24))})


def padded_length(tokens: int, bucket: Bucket) -> int:
    """The length to which a row is padded, at least one token more than it needs.

    So every row is padded. A batch without any padding would get no attention mask, and a GPU has other
    kernels for that: a prompt's last bits would depend on the other rows of its batch.
    """
    if bucket == "geometric":
        return _LENGTHS[bisect_right(_LENGTHS, tokens)]
    return (tokens // bucket + 1) * bucket


def padded_positions(
    count: int, length: int, bucket: Bucket, scored: bool = False, tree: bool = False
) -> int:
    """The number of positions whose logits are computed for a row of `length`, at least `count`.

    scored: whether they are for likelihood. tree: whether the row is a trie.
    """
    if bucket == "geometric" and (count > 1 or scored):
        if tree:
            third = -(-length // 24) * 8
            return third if count <= third else length
        return min(length, 1 << (max(count, 16) - 1).bit_length())
    return 1 << (count - 1).bit_length()


def rows_of_pass(length: int, batch: int, bucket: Bucket, tokens: int | None = None) -> int:
    """The rows of every pass whose rows have this length. More gain nothing, and filling rows cost.

    tokens: the most of a pass, about.
    """
    rows = min(batch, max(1, (tokens or (1024 if bucket == "geometric" else 2048)) // length))
    if bucket == "geometric":
        return rows // 4 * 4 or 1
    return rows


# How long rows wait

ROWS_HELD = 1024  # most rows that wait
ROOM = 1 << 28  # bytes that they take at most, about one of the largest images
TOKENS_HELD = 1 << 14  # of prefixes that an engine keeps for rows that wait, and for later ones
TOKEN_WEIGHT = ROOM // TOKENS_HELD  # bytes that stand for a token of these


class WaitingRow(Protocol):
    """A row of a pass.

    shape: equal for all rows of a pass. key: of the images that it shows, which others may show too. shared,
    own: bytes that the images and the rest take while it waits.
    """

    @property
    def shape(self) -> Hashable: ...
    @property
    def key(self) -> Hashable: ...
    @property
    def shared(self) -> int: ...
    @property
    def own(self) -> int: ...


R = TypeVar("R", bound=WaitingRow)


class Waiting(Generic[R]):
    """Rows that wait for others of their shape. rows: those of a pass, by one of its rows.

    At most ROWS_HELD rows wait, which take at most ROOM bytes. Beyond that the fullest pass goes as it is.
    """

    def __init__(self, rows: Callable[[R], int]) -> None:
        self._rows = rows
        self._batches: dict[Hashable, list[R]] = {}
        self._keys = Counter[Hashable]()
        self._count = self._bytes = 0

    def __contains__(self, key: Hashable) -> bool:
        """Whether a row with these images waits."""
        return key in self._keys

    def batches(self, rows: Iterable[R]) -> Iterator[list[R]]:
        """The rows of one pass after the other, each pass as soon as it is full; the last ones at the end."""
        for row in rows:
            batch = self._batches.setdefault(row.shape, [])
            batch.append(row)
            self._bytes += row.own + (0 if row.key in self._keys else row.shared)
            self._keys[row.key] += 1
            self._count += 1
            if len(batch) >= self._rows(row):
                yield self._taken(row.shape)
            while self._count >= ROWS_HELD or (self._bytes > ROOM and self._count):
                yield self._taken(max(self._batches, key=self._fullness))
        while self._batches:
            yield self._taken(next(iter(self._batches)))

    def _fullness(self, shape: Hashable) -> float:
        batch = self._batches[shape]
        return len(batch) / self._rows(batch[0])

    def _taken(self, shape: Hashable) -> list[R]:
        batch = self._batches.pop(shape)
        for row in batch:
            self._keys[row.key] -= 1
            if not self._keys[row.key]:
                del self._keys[row.key]
            self._bytes -= row.own + (0 if row.key in self._keys else row.shared)
        self._count -= len(batch)
        return batch


# Passes that are only counted


@dataclass(frozen=True)
class PlannedRow:
    """A row of a pass that is only counted. tokens, positions: before padding."""

    output: str
    tokens: int
    positions: int = 1
    tree: bool = False

    def shape(self, bucket: Bucket) -> tuple[int, int, bool, bool]:
        """What rows of one pass have in common: length, positions, whether they are trees, or texts begin."""
        length = padded_length(self.tokens, bucket)
        positions = padded_positions(self.positions, length, bucket, self.output == LIKELIHOOD, self.tree)
        return length, positions, self.tree, self.output == TEXT


@dataclass(frozen=True)
class TokenCounts:
    """The length of a prompt. prompt: its tokens after its images. options: those of each option to score.

    new: of its tokens, those that the prompt before it in its pack does not begin with.
    """

    prompt: int
    new: int
    options: tuple[int, ...] = ()


def planned_rows(output: str, pack: Sequence[TokenCounts], after_image: bool) -> Iterator[PlannedRow]:
    """The rows of a pack, as vouch/models/decoder/rows.py makes them of real tokens.

    after_image: whether its prompts show images, so that one row holds all of them.
    """
    if not after_image or output == TEXT:
        for one in pack:
            for option in one.options or (1,):
                yield PlannedRow(output, one.prompt + option - 1, option)
        return
    trees: list[tuple[int, int, int]] = []  # tokens, positions, and these once for each option
    for one in pack:
        options = one.options or (1,)
        further = sum(option - 1 for option in options)
        if trees:
            before = trees[-1]
            joined = before[0] + one.new + further, before[1] + 1 + further, before[2] + sum(options)
            if joined[0] <= MAX_NODES and joined[2] <= MAX_WANTED:
                trees[-1] = joined
                continue
        trees.append((one.prompt + further, 1 + further, sum(options)))
    for tokens, positions, _ in trees:
        yield PlannedRow(output, tokens, positions, tree=True)


@dataclass(frozen=True)
class Passes:
    """A number of passes. rows: of all of them, `filling` of which hold no prompt. texts: passes for text."""

    count: int = 0
    rows: int = 0
    filling: int = 0
    texts: int = 0


def count_passes(rows: Mapping[PlannedRow, int], batch: int, bucket: Bucket) -> Passes:
    """The passes that some rows take, each with its number, if there is room for all that wait."""
    shapes = Counter[tuple[int, int, bool, bool]]()
    for row, number in rows.items():
        shapes[row.shape(bucket)] += number
    passes = every = texts = 0
    for (length, _, _, text), number in shapes.items():
        size = rows_of_pass(length, batch, bucket)
        full = -(-number // size)
        passes, every, texts = passes + full, every + full * size, texts + full * text
    return Passes(passes, every, every - shapes.total(), texts)
