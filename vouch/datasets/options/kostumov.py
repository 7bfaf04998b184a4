"""Options of an item while they are normalised, and distractors drawn from other items.

A clean distractor
- is drawn from the options of other groups, never from a sibling's (copies share their group);
- differs from every option, also in another spelling: case, accents' form, punctuation, articles and
  number words do not make a difference here, and rather too much is held to be equal than too little;
- makes sense away from its item: no `All of the above`, `Both A and B`, `I don't know`, bare letter;
- is the same for all copies of a question, and does not depend on the order of the source.

The sets of Kostumov et al. (2024) to four options: drawn as their code does, or without its defects.

A faithful draw uses Python's generator with one seed for the whole file. A clean one is the same for all
copies of a question and does not depend on the order of the source; for MMBench and ScienceQA see
choice.py.
"""

import random
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from vouch.pipeline.errors import UserError

_TO_NINETEEN = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen
fifteen sixteen seventeen eighteen nineteen"""
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety hundred"
_NUMBERS = {word: str(value) for value, word in enumerate(_TO_NINETEEN.split())}
_NUMBERS |= {word: str(10 * ten) for ten, word in enumerate(_TENS.split(), start=2)}
_WORD = re.compile(r"\w+")
_LETTERS = "abcdefgh"
_FORMULA = re.compile(r"[^\w\s,.()&/]")
_BESIDE_TEXT = "and or nor but not only both either neither all of are is correct option options"
_BESIDE_LETTERS = frozenset(_BESIDE_TEXT.split())
_BOUND = re.compile(
    r"(all|none|both|neither|either|any|some|two|one) of (the|these|them|those)( .*)?"
    r"|(all|none|both|neither|either) (are|is)?( .*)?|all|none|both|neither|either|other|others"
    r"|(both |only |neither |either )?([a-h1-8]|i{1,3}|iv)( (and|or|nor) ([a-h1-8]|i{1,3}|iv))+"
    r"|i don t know|i do not know|not sure|unknown|(can|could) ?not be determined|can t be determined"
    r"|cannot tell|can t tell|not enough information|.*\b(above|below|option|options|choices?)\b.*|[a-z]|"
)


@dataclass(frozen=True)
class Choice:
    """options: texts of the source, None where one is missing. answers: indices of the correct ones."""

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
    """Equal for spellings of one text: NFKC, no case, no punctuation, no article, numerals as digits."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    words = [_NUMBERS.get(word, word) for word in _WORD.findall(folded)]
    if len(words) > 1 and words[0] in ("a", "an", "the"):
        words = words[1:]
    return " ".join(words) or " ".join(folded.split())


def bound(text: str) -> bool:
    """Whether a text makes sense among its own options only, or holds no word at all."""
    return bool(_BOUND.fullmatch(" ".join(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))))


class Pool:
    """Texts to draw distractors from, and what each group's members may not be given."""

    def __init__(self, rows: Iterable[Choice], seed: int) -> None:
        texts: dict[str, str] = {}
        self._of_group: dict[str, set[str]] = defaultdict(set)
        for row in rows:
            for option in row.native:
                spelt = key(option)
                self._of_group[row.group].add(spelt)
                if not bound(option):
                    texts[spelt] = min(option, texts.get(spelt, option))
        self._texts = sorted(texts.items())
        self._seed = seed
        random.Random(f"{seed}/pool").shuffle(self._texts)

    def draw(self, row: Choice, wanted: int) -> tuple[str, ...]:
        """Distractors for a row; fewer where the pool has no more."""
        own = sorted(key(option) for option in row.native)
        taken = set(self._of_group[row.group])
        start = random.Random(f"{self._seed}/{row.group}/{own}").randrange(max(1, len(self._texts)))
        drawn: list[str] = []
        for step in range(len(self._texts)):
            if len(drawn) == wanted:
                break
            spelt, text = self._texts[(start + step) % len(self._texts)]
            if spelt not in taken:
                drawn.append(text)
        return tuple(drawn)


def _named(text: str) -> list[int]:
    """Places of the options whose letters a text names, as `A and C only` does; none of a bare letter."""
    words = _WORD.findall(unicodedata.normalize("NFKC", text).casefold())
    letters = [word for word in words if len(word) == 1 and word in _LETTERS]
    beside = _BESIDE_LETTERS.issuperset(set(words) - set(letters)) and not _FORMULA.search(text)
    return [_LETTERS.index(letter) for letter in letters] if beside and len(words) > 1 else []


def resized(rows: Sequence[Choice], size: int, seed: int) -> list[Choice]:
    """Every row with `size` options: distractors are put at the end, or wrong ones taken out at random.

    The others keep their order, so an answer moves up only past what was taken out before it.
    """
    pool = Pool(rows, seed)
    return [_resized(row, size, pool, seed) for row in rows]


def _resized(row: Choice, size: int, pool: Pool, seed: int) -> Choice:
    native = row.native
    if len(native) <= size:
        return replace(row, options=(*native, *pool.draw(row, size - len(native))))
    named = [place for text in native for place in _named(text)]
    first = max(named, default=-1) + 1  # what `Both A and B` names keeps its letter
    out_of = (i for i in range(first, len(native)) if i not in row.answers)
    wrong = sorted(out_of, key=lambda i: key(native[i]))
    lot = random.Random(f"{seed}/{row.group}/{[key(native[i]) for i in wrong]}")
    out = set(lot.sample(wrong, min(len(wrong), len(native) - size)))
    kept = [index for index in range(len(native)) if index not in out]
    return replace(
        row,
        options=tuple(native[index] for index in kept),
        answers=tuple(kept.index(index) for index in row.answers),
    )


SIZE = 4
DIGITS = ("Zero", "One", "Two", "Three", "Four", "Five")


def mmbench(rows: Sequence[Choice], seed: int) -> list[Choice]:
    """Fills rows up with cells of rows drawn with replacement, those already filled up included.

    The first goes to D, the second to C. A cell may be missing itself, may repeat an option or the answer,
    and rotated copies get different ones. Raises UserError for a row with more than four options.
    """
    rng = random.Random(seed)
    cells = []
    for row in rows:
        if len(row.options) > SIZE:
            raise UserError(
                f"item {row.id}: has {len(row.options)} options, but kostumov_mmbench knows {SIZE} at most; "
                "take another scheme"
            )
        cells.append([*row.options, *[None] * (SIZE - len(row.options))])
    for row, own in zip(rows, cells, strict=True):
        drawn = rng.choices(cells, k=SIZE - len(row.native))
        for place, other in zip(range(SIZE - 1, -1, -1), drawn, strict=False):
            own[place] = rng.choice(other)
    return [replace(row, options=tuple(own)) for row, own in zip(rows, cells, strict=True)]


def scienceqa(rows: Sequence[Choice], seed: int) -> list[Choice]:
    """Fills rows up at the end with options of rows as the source has them, drawn with replacement.

    Of five options the correct one comes first and three are drawn with replacement from the four others,
    so that the answer is always A and a wrong option may stand twice. Raises UserError for more than five
    options or several answers.
    """
    rng = random.Random(seed)
    found = []
    for row in rows:
        native = row.native
        if len(native) > SIZE + 1 or len(row.answers) != 1:
            raise UserError(
                f"item {row.id}: has {len(native)} options and {len(row.answers)} correct ones, but "
                f"kostumov_scienceqa knows {SIZE + 1} at most and one; take another scheme"
            )
        if len(native) > SIZE:
            (answer,) = row.answers
            wrong = [option for index, option in enumerate(native) if index != answer]
            options = (native[answer], *rng.choices(wrong, k=SIZE - 1))
            found.append(replace(row, options=options, answers=(0,)))
        else:
            drawn = rng.choices(rows, k=SIZE - len(native))
            found.append(replace(row, options=(*native, *(rng.choice(other.native) for other in drawn))))
    return found


def oodcv(rows: Sequence[Choice], seed: int) -> list[Choice]:
    """Two digits that the source's two options end in, and two more from 0 to 5, as words, shuffled.

    They are drawn with replacement: a quarter of the rows have one twice. Raises UserError for a row that
    is not two digits.
    """
    rng = random.Random(seed)
    found = []
    for row in rows:
        digits, others = _digits(row)
        found.append(_shuffled(row, [*digits, *rng.choices(others, k=2)], digits[row.answers[0]], rng))
    return found


def oodcv_clean(rows: Sequence[Choice], seed: int) -> list[Choice]:
    """Four different digits, by a lot of the item's own. Raises UserError likewise."""
    found = []
    for row in rows:
        digits, others = _digits(row)
        rng = random.Random(f"{seed}/{row.group}/{sorted(digits)}")
        found.append(_shuffled(row, [*digits, *rng.sample(others, 2)], digits[row.answers[0]], rng))
    return found


def _digits(row: Choice) -> tuple[list[int], list[int]]:
    """The digits of the source's options, and those that may be added."""
    last = [option.split()[-1] if option.split() else "" for option in row.native]
    digits = [int(word) for word in last if word.isdecimal() and int(word) < len(DIGITS)]
    if not len(digits) == len(row.options) == len(set(digits)) == 2 or len(row.answers) != 1:
        raise UserError(
            f"item {row.id}: its options are {list(row.options)!s:.80}, but kostumov_oodcv needs two "
            f"that end in different digits below {len(DIGITS)}, and one answer; take another scheme"
        )
    return digits, [digit for digit in range(len(DIGITS)) if digit not in digits]


def _shuffled(row: Choice, digits: list[int], right: int, rng: random.Random) -> Choice:
    rng.shuffle(digits)
    return replace(row, options=tuple(DIGITS[digit] for digit in digits), answers=(digits.index(right),))


def to_four(rows: Sequence[Choice], seed: int) -> list[Choice]:
    """Four options each, see choice.py."""
    return resized(rows, SIZE, seed)


class Draws(NamedTuple):
    """How a scheme draws in either protocol, given all choices in the order of the source and a seed."""

    faithful: Callable[[Sequence[Choice], int], list[Choice]]
    clean: Callable[[Sequence[Choice], int], list[Choice]]


SCHEMES: Mapping[str, Draws] = {
    "kostumov_mmbench": Draws(mmbench, to_four),
    "kostumov_oodcv": Draws(oodcv, oodcv_clean),
    "kostumov_scienceqa": Draws(scienceqa, to_four),
}
