"""worldmedqa_v: WorldMedQA-V (Matos et al. 2024), medical exams of four countries, in two languages.

    origin: {hub: WorldMedQA/V, revision: "...", files: ["*_processed.tsv"]}

Eight files COUNTRY_LANGUAGE_processed.tsv: brazil, israel, japan and spain, each `local` and `english`.
Questions of a country about the same image are one group, so that the two languages stay together.
"""

import hashlib
import re
from collections.abc import Iterator

from vouch.datasets.raw import Expected, LoaderSettings, RawItem, Rejected
from vouch.datasets.read.files import Row, SourceFiles, items
from vouch.datasets.read.forms import count_each, rows, table_columns

SIZES = {"brazil": 89, "israel": 186, "japan": 168, "spain": 125}
_LETTERS = ("A", "B", "C", "D")
_ANSWERS = ("correct_option", "answer")  # names of the answer's column in the known editions
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
    columns = table_columns(source)
    answer = next((column for column in _ANSWERS if column in columns), _ANSWERS[0])
    starts: dict[str, int] = {}
    needed = ("question", *_LETTERS, answer, "image")
    yield from items(rows(source, needed), lambda row: _item(row, answer, starts))


def _item(row: Row, answer: str, starts: dict[str, int]) -> RawItem:
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
        answers=[row.letter(answer, len(_LETTERS))],
        images=images,
        category=f"{country} {language}",
        group=f"{country}-{digest}" if images else None,
    )
