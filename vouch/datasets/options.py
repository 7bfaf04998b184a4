"""Schemes that give all choices of a dataset the same number of options; `datasets.NAME.options` names one.

DRAWN_SCHEMES are the sets of Kostumov et al. (2024) with four options, drawn as their code does (`faithful`:
one generator for the whole file) or without its defects (`clean`: the same for all copies of a question,
whatever the order of the source). The schemes that make choices of open questions are in built_choices.py.
"""

import random
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from vouch.pipeline.errors import UserError
from vouch.tables import number_words

_NUMBERS = {word: str(value) for word, value in number_words(90).items()} | {"hundred": "100"}
SIZE = 4  # options that a scheme gives
_WORD = re.compile(r"\w+")
_LETTERS = "abcdefgh"
_FORMULA = re.compile(r"[^\w\s,.()&/]")
_BESIDE = "and or nor but not only both either neither all of are is correct option options"
_BESIDE_LETTERS = frozenset(_BESIDE.split())
_BOUND = re.compile(
    r"(all|none|both|neither|either|any|some|two|one) of (the|these|them|those)( .*)?"
    r"|(all|none|both|neither|either) (are|is)?( .*)?|all|none|both|neither|either|other|others"
    r"|(both |only |neither |either )?([a-h1-8]|i{1,3}|iv)( (and|or|nor) ([a-h1-8]|i{1,3}|iv))+"
    r"|i don t know|i do not know|not sure|unknown|(can|could) ?not be determined|can t be determined"
    r"|cannot tell|can t tell|not enough information|.*\b(above|below|option|options|choices?)\b.*|[a-z]|"
)


@dataclass(frozen=True)
class Choice:
    """options: texts of the source, None for a missing one. answers: indices of the correct options."""

    id: str
    group: str
    options: tuple[str | None, ...]
    answers: tuple[int, ...]

    @property
    def native(self) -> tuple[str, ...]:
        """The options before the first missing one."""
        missing = self.options.index(None) if None in self.options else len(self.options)
        return tuple(option for option in self.options[:missing] if option is not None)


def key(text: str) -> str:
    """A text in one spelling: NFKC, lower case, no punctuation, no article, numerals as digits."""
    words = [_NUMBERS.get(word, word) for word in _words(text)]
    if len(words) > 1 and words[0] in ("a", "an", "the"):
        words = words[1:]
    return " ".join(words or unicodedata.normalize("NFKC", text).casefold().split())


def _words(text: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


class Pool:
    """Distractors from other groups that differ from the question's own options and need no context."""

    def __init__(self, rows: Iterable[Choice], seed: int) -> None:
        texts: dict[str, str] = {}
        self._of_group: dict[str, set[str]] = defaultdict(set)
        for row in rows:
            for option in row.native:
                spelt = key(option)
                self._of_group[row.group].add(spelt)
                if not _BOUND.fullmatch(" ".join(_words(option))):
                    texts[spelt] = min(option, texts.get(spelt, option))
        self._texts = sorted(texts.items())
        self._seed = seed
        random.Random(f"{seed}/pool").shuffle(self._texts)

    def draw(self, row: Choice, wanted: int) -> tuple[str, ...]:
        """Distractors for a row; fewer than `wanted` if the pool has no more."""
        own = sorted(key(option) for option in row.native)
        taken = set(self._of_group[row.group])
        start = random.Random(f"{self._seed}/{row.group}/{own}").randrange(max(1, len(self._texts)))
        free = (text for spelt, text in self._texts[start:] + self._texts[:start] if spelt not in taken)
        return tuple(islice(free, wanted))


def _named(text: str) -> list[int]:
    """Indices of the options that a text such as `A and C only` names."""
    words = _words(text)
    letters = [word for word in words if len(word) == 1 and word in _LETTERS]
    beside = _BESIDE_LETTERS.issuperset(set(words) - set(letters)) and not _FORMULA.search(text)
    return [_LETTERS.index(letter) for letter in letters] if beside and len(words) > 1 else []


def resized(rows: Sequence[Choice], seed: int, size: int = SIZE) -> list[Choice]:
    """Gives every row `size` options: adds distractors at the end, or removes wrong options at random."""
    pool = Pool(rows, seed)
    return [_resized(row, size, pool, seed) for row in rows]


def _resized(row: Choice, size: int, pool: Pool, seed: int) -> Choice:
    native = row.native
    if len(native) <= size:
        return replace(row, options=(*native, *pool.draw(row, size - len(native))))
    named = [index for text in native for index in _named(text)]
    first = max(named, default=-1) + 1  # options that `Both A and B` names keep their letters
    removable = (i for i in range(first, len(native)) if i not in row.answers)
    wrong = sorted(removable, key=lambda i: key(native[i]))
    rng = random.Random(f"{seed}/{row.group}/{[key(native[i]) for i in wrong]}")
    removed = set(rng.sample(wrong, min(len(wrong), len(native) - size)))
    kept = [index for index in range(len(native)) if index not in removed]
    return replace(
        row,
        options=tuple(native[index] for index in kept),
        answers=tuple(kept.index(index) for index in row.answers),
    )


DIGITS = [word.capitalize() for word in number_words(5)]


def mmbench(rows: Sequence[Choice], seed: int) -> list[Choice]:
    """Fills up each row with cells from random rows (drawn with replacement), which may be filled already.

    The first cell becomes option D, the second C; it may be a missing one. Raises UserError for a row with
    more than four options.
    """
    rng = random.Random(seed)
    cells = []
    for row in rows:
        if len(row.options) > SIZE:
            raise UserError(
                f"item {row.id}: has {len(row.options)} options, but kostumov_mmbench takes at most {SIZE}; "
                "take another scheme"
            )
        cells.append([*row.options, *[None] * (SIZE - len(row.options))])
    for row, own in zip(rows, cells, strict=True):
        drawn = rng.choices(cells, k=SIZE - len(row.native))
        for index, other in zip(range(SIZE - 1, -1, -1), drawn, strict=False):
            own[index] = rng.choice(other)
    return [replace(row, options=tuple(own)) for row, own in zip(rows, cells, strict=True)]


def scienceqa(rows: Sequence[Choice], seed: int) -> list[Choice]:
    """Adds options at the end of rows, each from a random row of the source, drawn with replacement.

    Of five options the correct one comes first, and three of the others are drawn with replacement. Raises
    UserError for more than five options or several answers.
    """
    rng = random.Random(seed)
    four = []
    for row in rows:
        native = row.native
        if len(native) > SIZE + 1 or len(row.answers) != 1:
            raise UserError(
                f"item {row.id}: has {len(native)} options and {len(row.answers)} correct ones, but "
                f"kostumov_scienceqa takes at most {SIZE + 1} and one; take another scheme"
            )
        if len(native) > SIZE:
            (answer,) = row.answers
            wrong = [option for index, option in enumerate(native) if index != answer]
            options = (native[answer], *rng.choices(wrong, k=SIZE - 1))
            four.append(replace(row, options=options, answers=(0,)))
        else:
            drawn = rng.choices(rows, k=SIZE - len(native))
            four.append(replace(row, options=(*native, *(rng.choice(other.native) for other in drawn))))
    return four


def oodcv(rows: Sequence[Choice], seed: int) -> list[Choice]:
    """The two digits that end the source's two options, and two more from 0 to 5, all as words, shuffled.

    The two are drawn with replacement: in a quarter of the rows they are equal. Raises UserError for a row
    without two digits.
    """
    rng = random.Random(seed)
    return [_with_digits(row, _digits(row), rng, rng.choices) for row in rows]


def oodcv_clean(rows: Sequence[Choice], seed: int) -> list[Choice]:
    """Like `oodcv`, but the four digits are different, and are drawn separately for each item."""
    four = []
    for row in rows:
        digits = _digits(row)
        rng = random.Random(f"{seed}/{row.group}/{sorted(digits)}")
        four.append(_with_digits(row, digits, rng, rng.sample))
    return four


def _digits(row: Choice) -> list[int]:
    last = [option.split()[-1] if option.split() else "" for option in row.native]
    digits = [int(word) for word in last if word.isdecimal() and int(word) < len(DIGITS)]
    if not len(digits) == len(row.options) == len(set(digits)) == 2 or len(row.answers) != 1:
        raise UserError(
            f"item {row.id}: its options are {list(row.options)!s:.80}, but kostumov_oodcv needs two "
            f"that end in different digits below {len(DIGITS)}, and one answer; take another scheme"
        )
    return digits


def _with_digits(
    row: Choice, native: list[int], rng: random.Random, draw: Callable[..., list[int]]
) -> Choice:
    """The row with two more digits, which `draw` takes from those that the row lacks."""
    correct = native[row.answers[0]]
    digits = [*native, *draw([digit for digit in range(len(DIGITS)) if digit not in native], k=2)]
    rng.shuffle(digits)
    return replace(row, options=tuple(DIGITS[digit] for digit in digits), answers=(digits.index(correct),))


# scheme -> protocol -> a function of all choices, in the order of the source, and a seed: their new options
DRAWN_SCHEMES: Mapping[str, Mapping[str, Callable[[Sequence[Choice], int], list[Choice]]]] = {
    "kostumov_mmbench": {"faithful": mmbench, "clean": resized},
    "kostumov_oodcv": {"faithful": oodcv, "clean": oodcv_clean},
    "kostumov_scienceqa": {"faithful": scienceqa, "clean": resized},
}
