"""worldmedqa_v: WorldMedQA-V (Matos et al. 2024), medical exams of four countries, in two languages.

    origin: {hub: WorldMedQA/V, revision: "...", files: ["*_processed.tsv"]}

Eight files COUNTRY_LANGUAGE_processed.tsv: brazil, israel, japan and spain, each `local` and `english`.
Columns: index, image, question, A, B, C, D, answer, correct_option, split. `correct_option` is the letter of
the correct option; `answer` is empty. Source: the tables of answers that the authors made of these files with
VLMEvalKit (github.com/WorldMedQA/V at ec9c4747, visuals/), which keep all columns but the image.
Questions of a country about the same image are one group, so that the two languages stay together.
"""

import hashlib
import re
from collections.abc import Iterator

from vouch.datasets.raw import Expected, LoaderSettings, RawItem, Rejected
from vouch.datasets.read.files import Row, SourceFiles, items
from vouch.datasets.read.forms import count_each, rows

SIZES = {"brazil": 89, "israel": 186, "japan": 168, "spain": 125}
_LETTERS = ("A", "B", "C", "D")
_NEEDED = ("question", *_LETTERS, "correct_option", "image")
_FILE = re.compile(r"(?:.*/)?([a-z]+)_(english|local)_processed\.tsv")

Settings = LoaderSettings
count = count_each


def expected(source: SourceFiles, settings: Settings) -> Expected | None:
    parts = [match.groups() for file in source.files if (match := _FILE.fullmatch(file.name))]
    parts = parts or [(country, language) for country in SIZES for language in ("english", "local")]
    sizes = {f"category {country} {language}": SIZES.get(country, 0) for country, language in parts}
    return {"items": {sum(sizes.values())}, **{key: {size} for key, size in sizes.items()}}


def read(source: SourceFiles, name: str, settings: Settings) -> Iterator[RawItem | Rejected]:
    """One item per row; ids are the file's name and the row in it."""
    starts: dict[str, int] = {}
    yield from items(rows(source, _NEEDED), lambda row: _item(row, starts))


def _item(row: Row, starts: dict[str, int]) -> RawItem:
    match = _FILE.fullmatch(row.file.name)
    country, language = match.groups() if match else ("", "")
    first = starts.setdefault(row.file.name, row.number)
    images = row.images("image")
    digest = hashlib.sha256(b"".join(images)).hexdigest()[:32]
    return RawItem(
        id=f"{country}-{language}-{row.number - first + 1}",
        where=row.where,
        question=row.text("question"),
        options=[row.text(letter) for letter in _LETTERS],
        answers=[row.letter("correct_option", len(_LETTERS))],
        images=images,
        category=f"{country} {language}",
        group=f"{country}-{digest}" if images else None,
    )
