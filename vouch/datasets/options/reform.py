"""Nouns of WordNet (Fellbaum 1998), from its own files index.noun and data.noun: how far two are apart.

Open questions, or pictures with a label, as choices, as ReForm-Eval was made (Li et al. 2023, A.1 to A.8).

A scheme gives the wrong options of each question, and `choices` puts the answer among them. Two answers that
differ in spelling only are one answer here.
"""

import csv
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from vouch.datasets.options.kostumov import Choice, key
from vouch.datasets.read.files import lines
from vouch.pipeline.errors import UserError
from vouch.tables.decisions import as_it_was

_UP = ("@", "@i")  # pointers to what a noun is a kind of, or an instance of
_HEX = 16


@dataclass(frozen=True)
class Place:
    """A noun in the tree. own: its synsets. above: synset -> fewest steps up to it, its own with none."""

    own: frozenset[str]
    above: Mapping[str, int]

    def __bool__(self) -> bool:
        return bool(self.own)

    def away(self, other: "Place") -> int:
        """Steps of the shortest path; 0 where one names the other, or a kind of it, and where none leads."""
        if self.own & other.above.keys() or other.own & self.above.keys():
            return 0
        shared = self.above.keys() & other.above.keys()
        return min((self.above[synset] + other.above[synset] for synset in shared), default=0)


class Nouns:
    """All nouns of a folder with WordNet's files. Raises UserError where they are not such files."""

    def __init__(self, folder: Path) -> None:
        try:
            self._senses = dict(map(_sense, _lines(folder / "index.noun")))
            self._up = dict(map(_synset, _lines(folder / "data.noun")))
        except (ValueError, IndexError):
            raise UserError(f"{folder}: not WordNet's index.noun and data.noun; get them again") from None

    def place(self, text: str) -> Place:
        """Of a noun in its first, most frequent sense; of `tench, Tinca tinca` the first name counts.

        Empty for what is no noun.
        """
        name = "_".join(text.split(",")[0].lower().split())
        own = frozenset(self._senses.get(name, [])[:1])
        above = dict.fromkeys(own, 0)
        steps, level = 0, sorted(own)
        while level:
            steps += 1
            level = sorted({up for one in level for up in self._up.get(one, ()) if up not in above})
            above |= dict.fromkeys(level, steps)
        return Place(own, above)


def _lines(path: Path) -> list[list[str]]:
    """Fields of each line; those of the licence at the head begin with blanks."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(
            f"{path}: cannot be read ({error.strerror}); put WordNet's index.noun and data.noun there"
        ) from None
    return [line.split() for line in text.splitlines() if line and not line.startswith(" ")]


def _sense(fields: list[str]) -> tuple[str, list[str]]:
    """lemma pos synsets pointers [kinds of pointers] senses tagged [offsets]"""
    return fields[0], fields[-int(fields[2]) :]


def _synset(fields: list[str]) -> tuple[str, list[str]]:
    """offset file type words (hexadecimal) [word number] pointers [kind offset pos places]"""
    start = 4 + 2 * int(fields[3], _HEX)
    pointers = fields[start + 1 : start + 1 + 4 * int(fields[start])]
    return fields[0], [pointers[n + 1] for n in range(0, len(pointers), 4) if pointers[n] in _UP]


WRONG = 3  # options beside the answer
YES_NO = ("yes", "no")
FILL = ("Not sure", "Unknown")
FILE = "wrong-options.csv"
COLUMNS = ("id", *(f"wrong_{number}" for number in range(1, WRONG + 1)))
_SHOWN = 5  # answers in a message


@dataclass(frozen=True)
class Asked:
    """An open question and its (first) answer. category: its kind, of which a pool of answers may be."""

    id: str
    group: str
    category: str
    question: str
    answer: str


def is_yes_no(asked: Asked) -> bool:
    """Whether a question is answered by yes or no, so that its other option is known."""
    return key(asked.answer) in YES_NO


def choices(rows: Sequence[Asked], wrong: Sequence[Sequence[str]], seed: int) -> Iterator[Choice]:
    """Each with its answer at a random place; yes stands before no. Raises UserError where none is wrong."""
    for asked, others in zip(rows, wrong, strict=True):
        if is_yes_no(asked):
            options = list(YES_NO)
            answer = options.index(key(asked.answer))
        elif not others:
            raise UserError(
                f"item {asked.id:.80}: there is no other answer to be a wrong option; take another scheme"
            )
        else:
            options = [asked.answer, *others]
            _lot(asked, seed, "order").shuffle(options)
            answer = options.index(asked.answer)
        yield Choice(asked.id, asked.group, tuple(options), (answer,))


def _lot(asked: Asked, seed: int, what: str) -> random.Random:
    return random.Random(f"{seed}/{what}/{asked.id}")


def _distinct(answers: Iterable[str]) -> list[str]:
    """One spelling of each, in an order that the source's does not change."""
    found: dict[str, str] = {}
    for text in answers:
        spelt = key(text)
        found[spelt] = min(text, found.get(spelt, text))
    return [found[spelt] for spelt in sorted(found)]


def _by_category(rows: Sequence[Asked]) -> dict[str, list[str]]:
    answers = defaultdict(list)
    for asked in rows:
        answers[asked.category].append(asked.answer)
    return {category: _distinct(texts) for category, texts in answers.items()}


def _drawn(pool: Sequence[str], asked: Asked, wanted: int, seed: int, taken: Sequence[str] = ()) -> list[str]:
    """So many of a pool other than the answer and `taken`, at random; fewer where there are no more."""
    known = {key(asked.answer), *map(key, taken)}
    others = [text for text in pool if key(text) not in known]
    return _lot(asked, seed, "wrong").sample(others, min(wanted, len(others)))


def classes(rows: Sequence[Asked], seed: int, _folder: Path) -> list[Sequence[str]]:
    """Three other answers of the whole set, at random (A.1): Flowers102, Pets37, answers are classes."""
    every = _distinct(asked.answer for asked in rows)
    return [_drawn(every, asked, WRONG, seed) for asked in rows]


def pool(rows: Sequence[Asked], seed: int, _folder: Path) -> list[Sequence[str]]:
    """Three other answers to questions of the same category, at random (A.1, A.2, A.4, A.5).

    TDIUC, ImageNetVC and CLEVR, whose rule for small pools this is too: `Not sure` and `Unknown` fill up.
    """
    pools = _by_category(rows)
    found: list[Sequence[str]] = []
    for asked in rows:
        wrong = _drawn(pools[asked.category], asked, WRONG, seed)
        taken = {key(asked.answer), *map(key, wrong)}
        found.append([*wrong, *(text for text in FILL if key(text) not in taken)][:WRONG])
    return found


def nearby(rows: Sequence[Asked], seed: int, _folder: Path) -> list[Sequence[str]]:
    """Three other answers at random, of the same category first, then of the whole set (A.2, A.6).

    The object tasks of COCO, where the category is the object's super-category, and WikiHow.
    """
    every, near = _distinct(asked.answer for asked in rows), _by_category(rows)
    found: list[Sequence[str]] = []
    for asked in rows:
        wrong = _drawn(near[asked.category], asked, WRONG, seed)
        found.append([*wrong, *_drawn(every, asked, WRONG - len(wrong), seed, wrong)])
    return found


def wordnet(rows: Sequence[Asked], _seed: int, folder: Path) -> list[Sequence[str]]:
    """The three answers of the set that are nearest to the right one in WordNet (A.1): ImageNet-1K, CIFAR10.

    The authors do not say which similarity they took; here it is the shortest path over hypernyms of the
    first, most frequent senses. WordNet's files index.noun and data.noun (Fellbaum 1998) lie in the folder
    `wordnet` of the source. A synonym of the answer, and what is a kind of it or what it is a kind of,
    would be right as well, and is never taken. Raises UserError for answers that are no nouns of WordNet.
    """
    nouns = Nouns(folder / "wordnet")
    answers = _distinct(asked.answer for asked in rows if not is_yes_no(asked))
    places = {text: nouns.place(text) for text in answers}
    unknown = [text for text, place in places.items() if not place]
    if unknown:
        raise UserError(
            f"{folder}: {len(unknown)} answers are no nouns of WordNet ({', '.join(unknown[:_SHOWN])}); "
            "write them as WordNet does, or take the scheme reform_classes"
        )
    nearest: dict[str, Sequence[str]] = {}
    for text, place in places.items():
        away = ((place.away(other), other_text) for other_text, other in places.items())
        nearest[key(text)] = [other for steps, other in sorted(pair for pair in away if pair[0])][:WRONG]
    return [nearest.get(key(asked.answer), ()) for asked in rows]


def written(rows: Sequence[Asked], _seed: int, folder: Path) -> list[Sequence[str]]:
    """Options that a model or a person wrote, in the file wrong-options.csv of the source (A.4, A.8).

    `vouch review distract` lets a model write it; it is there to be read and corrected. Raises UserError
    where some are missing, or no wrong ones.
    """
    path = folder / FILE
    found = read_written(path)
    missing = [asked.id for asked in rows if asked.id not in found and not is_yes_no(asked)]
    if missing:
        raise UserError(f"{path}: no line for {len(missing)} questions ({missing[0]!r:.80}, ...); add them")
    for asked in rows:
        spelt = [key(asked.answer), *map(key, found.get(asked.id, ()))]
        if len(set(spelt)) < len(spelt):
            raise UserError(
                f"{path}: {asked.id!r:.80}: two options are the same, or one is the answer "
                f"{asked.answer!r:.60}; correct the line"
            )
    return [found.get(asked.id, ()) for asked in rows]


def read_written(path: Path) -> dict[str, list[str]]:
    """Wrong options by id; cells are guarded as those of decisions are. Raises UserError, with the line."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as text:
            table = csv.DictReader(lines(text, path), strict=True)
            if tuple(table.fieldnames or ()) != COLUMNS:
                raise UserError(f"{path}: its first line must be {','.join(COLUMNS)}; correct it")
            found: dict[str, list[str]] = {}
            for row in table:
                name, *cells = (as_it_was(row[column] or "") for column in COLUMNS)
                wrong = [cell.strip() for cell in cells]
                if None in row or not all(wrong) or name in found:
                    raise UserError(
                        f"{path} line {table.line_num}: must have an id of its own and {WRONG} texts; "
                        "correct it"
                    )
                found[name] = wrong
            return found
    except FileNotFoundError:
        raise UserError(
            f"{path}: no such file; write it, or have it written by `vouch review distract`"
        ) from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path}: not readable as CSV in UTF-8 ({error!s:.120}); correct it") from None


# scheme -> wrong options of each question; the seed of what is drawn, and the source's folder
SCHEMES: Mapping[str, Callable[[Sequence[Asked], int, Path], list[Sequence[str]]]] = {
    "reform_classes": classes,
    "reform_nearby": nearby,
    "reform_pool": pool,
    "reform_wordnet": wordnet,
    "reform_written": written,
}
