"""Schemes that make choices of open questions, BUILT_SCHEMES; `datasets.NAME.options` names one.

As in ReForm-Eval (Li et al. 2023, A.1 to A.8), a scheme gives the wrong options of each question, and
`built_choices` puts the answer among them.
"""

import csv
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from vouch.datasets.options import Choice, key
from vouch.datasets.read.files import lines
from vouch.pipeline.errors import UserError
from vouch.tables.decisions import as_it_was

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
    """Three other answers at random, from the same category first, then from the whole set (A.2).

    For multiple class identification in COCO, where the category is the object's super-category.
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
