"""reform: one of the 61 sets of ReForm-Eval (Li et al. 2023), as Aweminus/ReForm-Eval-Data holds them.

`settings.set` names it, docs/reform-eval.md lists them. source is a folder with files of that repository,
wherever they lie in it. Pictures are base64 texts in the rows.

What the authors do at run time without a seed is done here once, with `settings.seed` and the question's id:
wrong options of TDIUC and of COCO counting are drawn from the set's own pool. Boxes are drawn into pictures.
Where a family's instruction is itself the question, the item's question is a short one with the same meaning,
so that other templates can ask it, and what the instruction speaks of (a caption, a claim) is the hint.
"""

from collections.abc import Collection, Iterator
from typing import Any, Literal

from pydantic import Field

from vouch.datasets.raw import Expected, LoaderSettings, RawItem, Rejected
from vouch.datasets.read import json_rows
from vouch.datasets.read.files import File, Row, Source, items
from vouch.datasets.read.reform import (
    DRAWN,
    SHAPES,
    Set,
    dialogues,
    find_set,
    maker,
    options_of,
    pool_file,
    read_pool,
    tdiuc,
)
from vouch.pipeline.errors import UserError

_ROUNDS = 10  # of a dialogue at most, for the progress shown
_ENTAILMENT = {"0": "entailment", "1": "neutral", "2": "contradiction"}


class Settings(LoaderSettings):
    """set: its name. sample: what the source holds: 10p, the part that the authors ran, or the full set.

    file: a name to look for, in place of the authors'. seed: of wrong options that are drawn. capitalize:
    whether questions and answers of dialogues begin with a capital letter and go on in small ones, as the
    authors have it. join_answers: whether several answers of an open question are one reference, joined by
    spaces, as the authors have it for TextVQA, DocVQA and OCR-VQA, or one reference each.
    """

    set: str
    sample: Literal["full", "10p"] = "10p"
    file: str | None = Field(default=None, pattern=r"^[^\x00-\x1f]+$")
    seed: int = Field(default=0, ge=0, lt=2**32)
    capitalize: bool = True
    join_answers: bool = True


def kinds(settings: Settings) -> Collection[str]:
    """Each set has one kind."""
    shape = SHAPES.get(find_set(settings.set, "settings.set").shape[0])
    return ("text",) if shape is not None and shape.options is None else ("choice",)


def expected(source: Source, settings: Settings) -> Expected | None:
    """How many items, or dialogues, there should be."""
    wanted = find_set(settings.set, "settings.set")
    counts = wanted.full if settings.sample == "full" else wanted.sample
    what = "groups" if wanted.shape[0] == "dialogue" else "items"
    return {what: counts} if counts else None


def count(source: Source, name: str, settings: Settings) -> int:
    """Items at most."""
    wanted = find_set(settings.set, f"datasets.{name}.settings.set")
    counts = wanted.full if settings.sample == "full" else wanted.sample or wanted.full
    return max(counts) * (_ROUNDS if wanted.shape[0] == "dialogue" else 1)


def read(source: Source, name: str, settings: Settings) -> Iterator[RawItem | Rejected]:
    """The items in the order of the file; of TDIUC by the questions' ids, as the authors sort them."""
    wanted = find_set(settings.set, f"datasets.{name}.settings.set")
    file = _find(source, settings.file or wanted.file, name)
    shape = wanted.shape[0]
    if shape == "dialogue":
        yield from dialogues(file, _checked(file, wanted), name, wanted, settings.capitalize)
        return
    if shape == "tdiuc":
        answers = _find(source, wanted.file.replace("_ques", "_anns"), name).checked()
        rows = tdiuc(file, answers, wanted, settings.sample == "10p")
    else:
        rows = _rows(file)
    is_drawn = SHAPES[shape].options == DRAWN
    pool = read_pool(_find(source, pool_file(wanted), name).checked()) if is_drawn else []

    def draw(answer: str, row: str) -> list[str]:
        return options_of(answer, pool, f"{wanted.name}/{settings.seed}/{row}")

    head = {} if is_drawn else _checked(file, wanted)
    yield from items(rows, maker(name, wanted, head, settings.join_answers, draw))


def _rows(file: File) -> Iterator[Row]:
    path = file.checked()
    for number, value in enumerate(json_rows.rows(path)):
        yield Row(value if isinstance(value, dict) else {}, f"{path} row {number}", number, file)


def _find(source: Source, wanted: str, name: str) -> File:
    """The file whose name ends so; one of the authors' configurations forgets `.json`."""
    found = [file for file in source.files if f"/{file.name}".endswith((f"/{wanted}", f"/{wanted}.json"))]
    if len(found) != 1:
        what = "no file" if not found else f"{len(found)} files"
        raise UserError(
            f"{source.path}: {what} {wanted} in it; correct datasets.{name}.source or origin, or name yours "
            f"in datasets.{name}.settings.file"
        )
    return found[0]


def _checked(file: File, wanted: Set) -> dict[str, Any]:
    """The file's header. Raises UserError where it says that it is another version or split."""
    head = json_rows.header(file.checked())
    for key in ("version", "split", "dataset_name"):
        meant = getattr(wanted, key)
        if meant and str(head.get(key)) != meant:
            raise UserError(
                f"{file.path}: {key} is {head.get(key)!r:.60}, expected {meant!r}; fetch the right file"
            )
    if wanted.shape[0] == "entailment" and head.get("gt_info") != _ENTAILMENT:
        raise UserError(f"{file.path}: gt_info is {head.get('gt_info')!r:.80}, expected {_ENTAILMENT}")
    return head
