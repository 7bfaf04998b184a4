"""mmbench: MMBench (Liu et al. 2024): TSV files of OpenCompass, or parquet of the hub.

    origin: {url: ".../mmbench_dev_20230712.tsv", sha256: "..."}           the edition of the papers
    origin: {hub: lmms-lab/MMBench_EN, revision: "...", split: dev}         the same rows
    origin: {hub: lmms-lab/MMBench, revision: "...", config: en, split: dev}   a later edition

A question is in several rows, with its options rotated; their indices are equal modulo a million. They are
one group. In some TSV files a copy's image cell has the index of the row that has the image.
"""

from collections.abc import Iterator

from vouch.datasets.raw import Expected, LoaderSettings, RawItem, Rejected, counted
from vouch.datasets.read.files import Row, SourceFiles, items
from vouch.datasets.read.forms import TSV, count_each, images_of, rows, shared_images

COPIES = 1_000_000
LEGACY = "mmbench_dev_20230712"
_LETTERS = ("A", "B", "C", "D")
_NEEDED = ("index", "question", "A", "B", "answer", "image")
_OPTIONAL = ("hint", "C", "D", "category")

# Texts that mean a missing cell: in the papers' edition those that pandas reads as missing, because the
# published option counts depend on that; in parquet of the hub `nan`, unless a later option or the answer
# shows that it is a text.
_PANDAS = frozenset({
    *("", "nan", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
    *("<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "null"),
})  # fmt: skip
_HUB = frozenset({"", "nan"})
_EDITIONS: dict[tuple[str, str], Expected] = {
    ("en", "dev"): {"items": {4329}, "groups": {1164}},
    ("en", "test"): {"items": {6666}},
    ("cn", "dev"): {"items": {4329}},
    ("cc", "test"): {"items": {2040}},
}
_PAPERS: Expected = {
    "items": {4377},
    "groups": {1176},
    "hints": {322},
    "questions": {382},
    **counted("answer", _LETTERS, 1166, 1166, 1077, 968),
    **counted("options", (4, 3, 2), 3911, 288, 178),
}

Settings = LoaderSettings
count = count_each


def expected(source: SourceFiles, settings: Settings) -> Expected | None:
    hub = (source.origin and source.origin.hub) or ""
    if source.has(f"{LEGACY}{TSV}") or (hub.endswith("/MMBench_EN") and source.split == "dev"):
        return _PAPERS
    return _EDITIONS.get((source.config, source.split)) if hub.endswith("/MMBench") else None


def read(source: SourceFiles, name: str, settings: Settings) -> Iterator[RawItem | Rejected]:
    shared = shared_images(source, _NEEDED)
    yield from items(rows(source, _NEEDED, _OPTIONAL), lambda row: _item(row, shared))


def _item(row: Row, shared: dict[str, bytes]) -> RawItem:
    form = row.file.name.lower()
    papers = form.endswith(f"{LEGACY}{TSV}")
    missing = _PANDAS if papers else {""} if form.endswith(TSV) else _HUB

    def cell(column: str) -> str | None:
        text = row.maybe(column)
        return None if text is None or text in missing else text

    texts = {letter: row.maybe(letter) or "" for letter in _LETTERS}
    last = max((letter for letter in _LETTERS if cell(letter) is not None), default="")
    answer = row.text("answer").strip()
    last = last if papers or not texts.get(answer) else max(last, answer)
    options = [(cell(letter) if papers else texts[letter]) or None for letter in texts if letter <= last]
    index = row.integer("index")
    return RawItem(
        id=str(index),
        where=row.where,
        question=row.text("question"),
        hint=cell("hint"),
        options=options,
        answers=[row.letter("answer", len(options))],
        images=images_of(row, shared),
        category=cell("category") or "",
        group=str(index % COPIES),
    )
