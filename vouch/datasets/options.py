"""Schemes that give every item of a dataset the same number of options; `datasets.NAME.options` names one.

DRAWN_SCHEMES give choices other options: the sets of Kostumov et al. (2024) with four options, drawn as their
code does (`faithful`: one generator for the whole file) or without its defects (`clean`: the same for all
copies of a question, whatever the order of the source).

BUILT_SCHEMES make choices of open questions as ReForm-Eval does (Li et al. 2023, A.1 to A.8): a scheme gives
the wrong options of each question, and `built_choices` puts the answer among them."""

import csv
import random
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from vouch.datasets.read.files import lines
from vouch.pipeline.errors import UserError
from vouch.tables import number_words
from vouch.tables.decisions import as_it_was

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


WRONG = 3  # number of options beside the answer
YES_NO = ("yes", "no")
FILE = "wrong-options.csv"
COLUMNS = ("id", *(f"wrong_{number}" for number in range(1, WRONG + 1)))


@dataclass(frozen=True)
class OpenQuestion:
    """An open question and its (first) answer."""

    id: str
    group: str
    category: str
    question: str
    answer: str


def is_yes_no(asked: OpenQuestion) -> bool:
    """Whether the answer is yes or no, so that the other option is known."""
    return key(asked.answer) in YES_NO


def built_choices(
    rows: Sequence[OpenQuestion], wrong: Sequence[Sequence[str]], seed: int
) -> Iterator[Choice]:
    """Each question with its answer at a random position, but yes before no. Raises UserError."""
    for asked, others in zip(rows, wrong, strict=True):
        options, answer = [asked.answer, *others], asked.answer
        if is_yes_no(asked):
            options, answer = [*YES_NO], key(asked.answer)
        elif not others:
            raise UserError(
                f"item {asked.id:.80}: no other answer can be its wrong option; take another scheme"
            )
        else:
            random.Random(f"{seed}/order/{asked.id}").shuffle(options)
        yield Choice(asked.id, asked.group, tuple(options), (options.index(answer),))


def _distinct(answers: Iterable[str]) -> list[str]:
    """One spelling of each answer, in an order that does not depend on the source's."""
    spellings: dict[str, str] = {}
    for text in answers:
        spelt = key(text)
        spellings[spelt] = min(text, spellings.get(spelt, text))
    return [spellings[spelt] for spelt in sorted(spellings)]


def _drawn(
    pool: Sequence[str], asked: OpenQuestion, wanted: int, seed: int, taken: Sequence[str] = ()
) -> list[str]:
    """At most `wanted` texts drawn at random from a pool, without the answer and those in `taken`."""
    excluded = {key(asked.answer), *map(key, taken)}
    others = [text for text in pool if key(text) not in excluded]
    return random.Random(f"{seed}/wrong/{asked.id}").sample(others, min(wanted, len(others)))


def _of_category(rows: Sequence[OpenQuestion], seed: int) -> list[list[str]]:
    answers = defaultdict(list)
    for asked in rows:
        answers[asked.category].append(asked.answer)
    pools = {category: _distinct(texts) for category, texts in answers.items()}
    return [_drawn(pools[asked.category], asked, WRONG, seed) for asked in rows]


def classes(rows: Sequence[OpenQuestion], seed: int, _folder: Path) -> list[Sequence[str]]:
    """Three other answers of the whole set, at random (A.1): for Flowers102 and Pets37."""
    all_answers = _distinct(asked.answer for asked in rows)
    return [_drawn(all_answers, asked, WRONG, seed) for asked in rows]


def pool(rows: Sequence[OpenQuestion], seed: int, _folder: Path) -> list[Sequence[str]]:
    """Three other answers to questions of the same category, at random (A.1, A.2, A.4, A.5).

    For TDIUC, ImageNetVC and CLEVR; as in CLEVR, `Not sure` and `Unknown` fill up a small pool.
    """
    wrong_options: list[Sequence[str]] = []
    for asked, wrong in zip(rows, _of_category(rows, seed), strict=True):
        taken = {key(asked.answer), *map(key, wrong)}
        wrong_options.append(
            [*wrong, *(text for text in ("Not sure", "Unknown") if key(text) not in taken)][:WRONG]
        )
    return wrong_options


def nearby(rows: Sequence[OpenQuestion], seed: int, _folder: Path) -> list[Sequence[str]]:
    """Three other answers at random, from the same category first, then from the whole set (A.2, A.6).

    For the object tasks of COCO, where the category is the object's super-category, and for WikiHow.
    """
    all_answers = _distinct(asked.answer for asked in rows)
    return [
        [*wrong, *_drawn(all_answers, asked, WRONG - len(wrong), seed, wrong)]
        for asked, wrong in zip(rows, _of_category(rows, seed), strict=True)
    ]


def wordnet(rows: Sequence[OpenQuestion], _seed: int, folder: Path) -> list[Sequence[str]]:
    """The three answers nearest to the correct one in WordNet (A.1): for ImageNet-1K and CIFAR10.

    The authors do not say how they measured nearness; here it is the shortest path over hypernyms. WordNet's
    files are in the folder `wordnet` of the source. Synonyms, hyponyms and hypernyms of the answer would be
    correct as well, and are never taken. Raises UserError for an answer that WordNet lacks.
    """
    read_noun = noun_reader(folder / "wordnet")
    nouns = {text: read_noun(text) for text in _distinct(row.answer for row in rows if not is_yes_no(row))}
    unknown = [text for text, noun in nouns.items() if not noun]
    if unknown:
        raise UserError(
            f"{folder}: {len(unknown)} answers are not nouns of WordNet ({', '.join(unknown[:5])}); "
            "write them as WordNet does, or take the scheme reform_classes"
        )
    nearest: dict[str, Sequence[str]] = {}
    for text, noun in nouns.items():
        ranked = sorted((steps_between(noun, other), name) for name, other in nouns.items())
        nearest[key(text)] = [name for steps, name in ranked if steps][:WRONG]
    return [nearest.get(key(asked.answer), ()) for asked in rows]


Noun = Mapping[str, int]  # steps up to each synset above it; its own, with 0, comes first


def noun_reader(folder: Path) -> Callable[[str], Noun]:
    """Finds nouns in WordNet (Fellbaum 1998) in their first, most frequent sense; empty if it lacks one.

    In `tench, Tinca tinca` the first name counts. Raises UserError if the files are not WordNet's.
    """
    try:
        # lemma pos synsets pointers [kinds of pointers] senses tagged [offsets]
        senses = {fields[0]: fields[-int(fields[2])] for fields in _wordnet_lines(folder / "index.noun")}
        hypernyms = dict(map(_synset, _wordnet_lines(folder / "data.noun")))
    except (ValueError, IndexError):
        raise UserError(f"{folder}: not WordNet's index.noun and data.noun; get them again") from None

    def read(text: str) -> Noun:
        name = "_".join(text.split(",")[0].lower().split())
        above: dict[str, int] = {}
        level = [senses[name]] if name in senses else []
        while level:
            above |= dict.fromkeys(level, max(above.values(), default=-1) + 1)
            level = sorted({up for synset in level for up in hypernyms.get(synset, ())} - above.keys())
        return above

    return read


def steps_between(noun: Noun, other: Noun) -> int:
    """Steps of the shortest path; 0 if there is none, or if one noun is a synonym or a kind of the other."""
    shared = noun.keys() & other.keys()
    if not shared or next(iter(noun)) in shared or next(iter(other)) in shared:
        return 0
    return min(noun[synset] + other[synset] for synset in shared)


def _wordnet_lines(path: Path) -> list[list[str]]:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(
            f"{path}: cannot be read ({error.strerror}); put WordNet's index.noun and data.noun there"
        ) from None
    return [line.split() for line in text.splitlines() if line and not line.startswith(" ")]  # no licence


def _synset(fields: list[str]) -> tuple[str, list[str]]:
    # offset file type words (hexadecimal) [word number] pointers [kind offset pos words]
    start = 4 + 2 * int(fields[3], 16)
    pointers = fields[start + 1 : start + 1 + 4 * int(fields[start])]
    return fields[0], [pointers[n + 1] for n in range(0, len(pointers), 4) if pointers[n] in ("@", "@i")]


def written(rows: Sequence[OpenQuestion], _seed: int, folder: Path) -> list[Sequence[str]]:
    """Wrong options that a model or a person wrote into wrong-options.csv of the source (A.4, A.8).

    Raises UserError if options are missing, are equal, or are the answer.
    """
    path = folder / FILE
    by_id = read_written(path)
    missing = [asked.id for asked in rows if asked.id not in by_id and not is_yes_no(asked)]
    if missing:
        raise UserError(f"{path}: no line for {len(missing)} questions ({missing[0]!r:.80}, ...); add them")
    for asked in rows:
        spelt = [key(asked.answer), *map(key, by_id.get(asked.id, ()))]
        if len(set(spelt)) < len(spelt):
            raise UserError(
                f"{path}: {asked.id!r:.80}: two options are the same, or one is the answer "
                f"{asked.answer!r:.60}; correct the line"
            )
    return [by_id.get(asked.id, ()) for asked in rows]


def read_written(path: Path) -> dict[str, list[str]]:
    """Wrong options by id; cells are escaped as in files of decisions. Raises UserError, with the line."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as text:
            table = csv.DictReader(lines(text, path), strict=True)
            if tuple(table.fieldnames or ()) != COLUMNS:
                raise UserError(f"{path}: its first line must be {','.join(COLUMNS)}; correct it")
            by_id: dict[str, list[str]] = {}
            for row in table:
                name, *cells = (as_it_was(row[column] or "") for column in COLUMNS)
                wrong = [cell.strip() for cell in cells]
                if None in row or not all(wrong) or name in by_id:
                    raise UserError(
                        f"{path} line {table.line_num}: needs an id of its own and {WRONG} texts; correct it"
                    )
                by_id[name] = wrong
            return by_id
    except FileNotFoundError:
        raise UserError(
            f"{path}: no such file; write it, or have it written by `vouch review distract`"
        ) from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path}: not readable as CSV in UTF-8 ({error!s:.120}); correct it") from None


# scheme -> a function of the questions, a seed and the source's folder: the wrong options of each question
BUILT_SCHEMES: Mapping[str, Callable[[Sequence[OpenQuestion], int, Path], list[Sequence[str]]]] = {
    "reform_classes": classes,
    "reform_nearby": nearby,
    "reform_pool": pool,
    "reform_wordnet": wordnet,
    "reform_written": written,
}
SCHEMES = sorted([*BUILT_SCHEMES, *DRAWN_SCHEMES])
