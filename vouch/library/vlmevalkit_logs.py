"""Predictions of VLMEvalKit, as records: MODEL_DATASET.xlsx (tsv, csv, json), and the results beside them.

Its columns are index, question, the options A, B, ..., answer and prediction. Results are found by their
names: `_JUDGE_result` has `hit` for each question, `_auxmatch` `score` for each question with yes or no, and
`_acc` the mean alone. MMBench's circular copies have the question's index plus a multiple of 1,000,000, and
a hit is that of all copies.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from vouch.library.records import SCORE_COLUMNS, Record, Records, score_in
from vouch.models.released.rows import READERS
from vouch.pipeline.errors import UserError

Row = Mapping[str, Any]
TABLES = (".xlsx", ".tsv", ".csv")
COLUMNS = ("index", "prediction")
"""What every table of predictions has."""
RESULTS = ("_result", "_auxmatch")
COPIES = 1_000_000
NO_LOGITS = "VLMEvalKit logs texts alone"


def is_table(data: bytes) -> bool:
    """Whether a .json file is predictions, a list of objects."""
    return data.lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b"[") and b'"prediction"' in data[:1_000_000]


def records(path: Path, data: bytes) -> Records:
    """The records of predictions. Raises UserError."""
    where = str(path)
    rows = _table(path, data)
    if not rows:
        raise UserError(f"{where}: holds no rows; run the model again")
    if missing := [name for name in COLUMNS if name not in rows[0]]:
        known = ", ".join(map(str, rows[0]))[:120]
        scores = set(SCORE_COLUMNS) <= set(rows[0])
        hint = "a table of scores is for `vouch compare` and vouch.compare_scores" if scores else "correct it"
        raise UserError(f"{where}: no column {missing[0]}, it has {known}; {hint}")
    results = {_index(row, where): row for row in rows if "hit" in row} or _results(path)
    seen: dict[str, int] = {}
    for number, row in enumerate(rows, start=1):
        if (first := seen.setdefault(_index(row, where), number)) != number:
            raise UserError(
                f"{where} row {number}: index {_index(row, where)} is that of row {first}; keep one"
            )
    questions = seen.keys() | {_base(row, where) for row in rows}
    if others := [index for index in results if index not in questions]:
        raise UserError(
            f"{where}: its results have index {others[0]}, which it has not; keep those of one run"
        )
    yes_no = {_cell(row, "answer").lower() for row in rows} <= {"yes", "no"}
    circular = any(_base(row, where) in seen and _base(row, where) != _index(row, where) for row in rows)
    images = {_base(row, where): _cell(row, "image_path") for row in rows} if "image_path" in rows[0] else {}
    made = [_record(row, where, results, yes_no, circular, images) for row in rows]
    model, task = _names(path)
    return Records(
        "VLMEvalKit",
        task,
        model,
        made,
        NO_LOGITS,
        None if results else _accuracy(path),
        circular and bool(results),
    )


def _table(path: Path, data: bytes) -> list[Row]:
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise UserError(f"{path}: not a table in {', '.join(TABLES)} or .json; convert it")
    return [row for _, row in reader(data, str(path))]


def _cell(row: Row, name: str) -> str:
    """A cell as text; empty for what is missing, NaN of a JSON file too."""
    value = row.get(name)
    return "" if value is None or value != value else str(value)


def _index(row: Row, where: str) -> str:
    text = _cell(row, "index").strip().removesuffix(".0")
    if not text:
        raise UserError(f"{where}: a row has no index; give each its own")
    return text


def _base(row: Row, where: str) -> str:
    """The question that a row is a circular copy of, itself if it is none."""
    own = _cell(row, "g_index").strip().removesuffix(".0") or _index(row, where)
    return str(int(own) % COPIES) if own.isascii() and own.isdecimal() and len(own) < 16 else own


def _results(path: Path) -> dict[str, Row]:
    """The rows of the results beside the predictions, by index; empty if there are none."""
    tables = [each for each in sorted(path.parent.iterdir()) if each.suffix in (*TABLES, ".json")]
    results = [each for each in tables if each.stem.endswith(RESULTS) and _begins(each, path)]
    longer = [
        each for each in tables if _begins(each, path) and each not in results
    ]  # m_MMBench_V11 of m_MMBench
    files = [each for each in results if not any(_begins(each, other) for other in longer)]
    if len(files) > 1:
        names = ", ".join(each.name for each in files)
        raise UserError(f"{path}: has several results ({names[:160]}); keep the one that counts beside it")
    rows = _table(files[0], files[0].read_bytes()) if files else []
    return {_index(row, str(files[0])): row for row in rows}


def _begins(file: Path, predictions: Path) -> bool:
    return file.stem.startswith(f"{predictions.stem}_")


def _accuracy(path: Path) -> float | None:
    """The mean over all questions from the file `_acc`, if it has one split."""
    for end in (".csv", ".json"):
        file = path.with_name(f"{path.stem}_acc{end}")
        if file.is_file():
            rows = _table(file, file.read_bytes())
            value = score_in(_cell(rows[0], "Overall")) if len(rows) == 1 else float("nan")
            return None if value != value else value
    return None


def _record(
    row: Row,
    where: str,
    results: Mapping[str, Row],
    yes_no: bool,
    circular: bool,
    images: Mapping[str, str],
) -> Record:
    index, base = _index(row, where), _base(row, where)
    question = base if circular else index
    result: Row = results.get(index) or results.get(base, {})
    shown = _shown(row)
    options = ("Yes", "No") if yes_no else shown
    own = score_in(_cell(result, "hit") or _cell(result, "score"))
    return Record(
        question=question,
        group=images.get(base) or question,
        options=options,
        correct=_correct(_cell(row, "answer"), options),
        texts=(_cell(row, "prediction"),),
        target=_cell(row, "answer"),
        asked=_cell(row, "question"),
        filtered={"extracted": _cell(result, "extracted")} if "extracted" in result else {},
        scores={"hit" if "hit" in result else "score": own} if result else {},
    )


def _shown(row: Row) -> tuple[str, ...]:
    """The options A, B, ... up to the first that is missing."""
    options = []
    for letter in ascii_uppercase:
        if not (text := _cell(row, letter)):
            break
        options.append(text)
    return tuple(options) if len(options) > 1 else ()


def _correct(answer: str, options: Sequence[str]) -> frozenset[int]:
    letter = answer.strip().upper()
    if len(letter) == 1 and letter in ascii_uppercase[: len(options)]:
        return frozenset([ascii_uppercase.index(letter)])
    plain = [option.strip().casefold() for option in options]
    return frozenset([plain.index(letter.casefold())]) if plain.count(letter.casefold()) == 1 else frozenset()


def _names(path: Path) -> tuple[str, str]:
    """Model and dataset: MODEL_DATASET, in a folder MODEL or one of its runs."""
    for folder in list(path.absolute().parents)[:2]:
        if folder.name and path.stem.startswith(f"{folder.name}_"):
            return folder.name, path.stem.removeprefix(f"{folder.name}_")
    return path.stem, ""
