"""`vouch released`: makes tables of the pickles and result tables that VLM-Uncertainty-Bench released.

output/MODEL/DATASET.pkl    a list of rows: id, question, hint, A to D, answer, logits, ... (never unpickled)
tables/METRIC.csv           a line per model, a column per dataset: the authors' numbers

items-DATASET.parquet          id, question, hint, A, B, C, D, answer, category; in the order of the release
logits-DATASET/MODEL.parquet   id, logits
published-DATASET.csv          dataset, model, metric, value
"""

import argparse
import csv
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from vouch.cli.command import argument, command, path_argument
from vouch.cli.printing import plain
from vouch.datasets.loaders.seedbench import TYPES
from vouch.datasets.read.files import lines
from vouch.models.released.files import MAX_BYTES
from vouch.models.released.logits import LogitRows, pickled_rows, row_logits
from vouch.models.released.samples import sound
from vouch.pipeline.errors import UserError, check_name
from vouch.pipeline.files import check_plain, replacing_folder
from vouch.report.formatting import listed, plural

NEEDED = ("question", "A", "B", "answer")
TEXTS = ("question", "hint", *"ABCD", "answer")
CATEGORIES = ("subject", "category", "situation")  # of ScienceQA, of MMBench, of OODCV-VQA
Item = tuple[int | str | None, ...]
"""The cells of a row of items: id, TEXTS, category."""


class ReleasedCell(NamedTuple):
    """A model's answers to a dataset."""

    dataset: str
    model: str


@dataclass(frozen=True)
class Release:
    """A clone of the authors' repository.

    pickles: cell -> its file. published: dataset -> (model, metric, value as printed) of each number.
    """

    pickles: Mapping[ReleasedCell, Path]
    published: Mapping[str, Sequence[tuple[str, str, str]]]

    def cells(self, datasets: Sequence[str], models: Sequence[str]) -> list[ReleasedCell]:
        """The cells that the release has or its tables name, of these datasets and models, by default of all.

        Raises UserError for a name that none of them has.
        """
        numbers = {
            ReleasedCell(dataset, model) for dataset, rows in self.published.items() for model, _, _ in rows
        }
        every = sorted({*self.pickles, *numbers})
        for name in datasets:
            check_name("dataset", name, sorted({cell.dataset for cell in every}), "--dataset")
        for name in models:
            check_name("model", name, sorted({cell.model for cell in every}), "--model")
        return [
            cell
            for cell in every
            if cell.dataset in (datasets or [cell.dataset]) and cell.model in (models or [cell.model])
        ]


@command(
    "released",
    "make tables of the pickles that VLM-Uncertainty-Bench released",
    path_argument("release", help="a clone of its repository"),
    path_argument("folder", help="the new folder, for `vouch use released`"),
    argument("--dataset", action="append", default=[], help="only this dataset; may be repeated"),
    argument(
        "--model",
        action="append",
        default=[],
        help="only this model, as its folder is named; may be repeated",
    ),
)
def run(options: argparse.Namespace) -> int:
    """Make items, logits and published numbers of the pickles that VLM-Uncertainty-Bench released.

    The release has output/MODEL/DATASET.pkl and tables/METRIC.csv. A pickle can run code when it is opened.
    Here it is read by a reader that builds lists, texts and numbers and nothing else; a pickle that needs
    more is refused. The folder is written whole, or not at all.

    A cell, a model's answers to a dataset, is left out if its pickle is missing, or if its questions are not
    those of most models. Each is named, the others are written, and the exit status is 1.

    Examples:
      vouch released ../bench ../released
      vouch released ../bench ../released --dataset mmbench --model Monkey-Chat --model llava-v1.5-7b
      vouch use released --set released.path=../released
    """
    release = read_release(options.release)
    cells = release.cells(options.dataset, options.model)
    here = {
        dataset: [c for c in cells if c.dataset == dataset and c in release.pickles] for dataset, _ in cells
    }
    if not any(here.values()):
        raise UserError(
            f"{_short(options.release)}/output/MODEL/DATASET.pkl: no such file; give a clone of the release"
        )
    if os.path.lexists(options.folder):
        raise UserError(
            f"{_short(options.folder)}: exists already; remove it, or give the name of a new folder"
        )
    written = 0
    with replacing_folder(options.folder) as folder:
        for dataset, wanted in here.items():
            written += _convert(folder, release, wanted) if wanted else 0
            missing = [cell.model for cell in cells if cell.dataset == dataset and cell not in wanted]
            if missing:
                names = listed(missing, len(missing)) if wanted else f"any of {plural(len(missing), 'model')}"
                _say(f"{dataset}: no pickle of {names}")
    _say(f"{_short(options.folder)}: {written} of {plural(len(cells), 'cell')} (model x dataset)")
    return 0 if written == len(cells) else 1


def _say(line: str) -> None:
    print(f"released: {plain(line)}", flush=True)


def _short(path: Path) -> str:
    """A path as the user may have given it."""
    return min(os.path.relpath(path), str(path), key=len)


def read_release(source: Path) -> Release:
    """Lists the pickles and reads the tables. Raises UserError."""
    if not source.is_dir():
        raise UserError(f"{_short(source)}: no such folder; give a clone of the release")
    pickles = {
        ReleasedCell(path.stem, path.parent.name): path for path in sorted(source.glob("output/*/*.pkl"))
    }
    published: dict[str, list[tuple[str, str, str]]] = {}
    for path in sorted(source.glob("tables/*.csv")):
        for dataset, model, value in _numbers(path):
            published.setdefault(dataset, []).append((model, path.stem, value))
    return Release(pickles, published)


def _numbers(path: Path) -> Iterator[tuple[str, str, str]]:
    """Dataset, model and value of a table of the authors: an index, model_name, the datasets, their mean."""
    check_plain(path)
    where = _short(path)
    try:
        with path.open(encoding="utf-8", newline="") as text:
            table = csv.DictReader(lines(text, path))
            columns = table.fieldnames or []
            if "model_name" not in columns:
                raise UserError(f"{where}: no column model_name; fetch it again")
            for row in table:
                for dataset in [name for name in columns if name not in ("", "model_name", "avg")]:
                    value = row[dataset]
                    if not row["model_name"] or not _is_number(value):
                        raise UserError(
                            f"{where} line {table.line_num}: {dataset} of {row['model_name'] or 'no model'}: "
                            f"{value!r:.40} is not a number; fetch it again"
                        )
                    yield dataset, row["model_name"], str(value)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{where}: not readable as CSV in UTF-8 ({error}); fetch it again") from None


def _is_number(text: str | None) -> bool:
    try:
        return math.isfinite(float(text or ""))
    except ValueError:
        return False


def _convert(folder: Path, release: Release, cells: Sequence[ReleasedCell]) -> int:
    """Writes the files of a dataset; returns how many of its cells were written."""
    dataset = cells[0].dataset
    read: dict[str, tuple[list[Item], LogitRows]] = {}
    for cell in cells:
        items, logits = _read(release.pickles[cell])
        same = next((known for known, _ in read.values() if known == items), items)  # kept once: memory
        read[cell.model] = (same, logits)
    asked = _most_common([items for items, _ in read.values()])
    models = [model for model, (items, _) in read.items() if items == asked]
    for model, (items, _) in read.items():
        if model not in models:
            _say(_difference(release.pickles[ReleasedCell(dataset, model)], items, asked, len(models)))
    names = ("id", *TEXTS, "category")
    columns = [_column(name, cells_) for name, cells_ in zip(names, zip(*asked, strict=True), strict=True)]
    pq.write_table(pa.table(columns, names), folder / f"items-{dataset}.parquet")
    answers = folder / f"logits-{dataset}"
    answers.mkdir()
    for model in models:
        matrix = read[model][1].logits
        values = pa.FixedSizeListArray.from_arrays(pa.array(matrix.ravel()), matrix.shape[1])
        pq.write_table(pa.table({"id": columns[0], "logits": values}), answers / f"{model}.parquet")
    numbers = [(dataset, *number) for number in release.published.get(dataset, ()) if number[0] in models]
    if numbers:
        with (folder / f"published-{dataset}.csv").open("w", encoding="utf-8", newline="") as text:
            csv.writer(text, lineterminator="\n").writerows(
                [("dataset", "model", "metric", "value"), *numbers]
            )
    _say(
        f"{dataset}: {plural(len(asked), 'question')}, {plural(len(models), 'model')}, "
        f"{plural(len(numbers), 'published number')}"
    )
    return len(models)


def _column(name: str, values: Sequence[int | str | None]) -> pa.Array:
    """A column of items; ids are texts if not all are integers."""
    if name != "id":
        return pa.array(values, pa.string())
    whole = all(isinstance(value, int) for value in values)
    return pa.array(values, pa.int64()) if whole else pa.array(list(map(str, values)), pa.string())


def _read(path: Path) -> tuple[list[Item], LogitRows]:
    """The questions and the logits of a file. Raises UserError."""
    check_plain(path)
    where = _short(path)
    if path.stat().st_size > MAX_BYTES:
        raise UserError(f"{where}: larger than {MAX_BYTES:,} bytes; fetch it again, or leave its model out")
    return parse_cell(path.read_bytes(), where)


def parse_cell(data: bytes, where: str) -> tuple[list[Item], LogitRows]:
    """The questions and the logits of a pickle's bytes, row by row. Raises UserError naming row and key."""
    rows = pickled_rows(data, where, "leave it out: name the other models with --model")
    logits = row_logits(rows, where)
    return [_item(row, f"{where} row {number}") for number, row in enumerate(rows, start=1)], logits


def _item(row: Mapping[str, Any], where: str) -> Item:
    here = f"{where}: id {row['id']}"
    for key in NEEDED:
        if key not in row:
            raise UserError(f"{here}: no key {key}, it has {', '.join(row)[:200]}; fetch the file again")
    texts = [_text(row, key, here) for key in TEXTS]
    kind = row.get("question_type_id")  # of SEED-Bench
    category = next((_text(row, key, here) for key in CATEGORIES if key in row), None)
    return (row["id"], *texts, TYPES.get(kind) if isinstance(kind, int) else category)


def _text(row: Mapping[str, Any], key: str, where: str) -> str | None:
    """A text of a row; a missing one is NaN or None in the release."""
    value = row.get(key)
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if not isinstance(value, str):
        raise UserError(f"{where}: {key} is a {type(value).__name__}, not a text; fetch the file again")
    return sound(value, f"{where}: {key}")


def _most_common(candidates: Sequence[list[Item]]) -> list[Item]:
    """The questions that most models answered; of equally many, the first."""
    return max(candidates, key=candidates.count)


def _difference(path: Path, items: Sequence[Item], asked: Sequence[Item], models: int) -> str:
    """What is said of a cell whose questions are others."""
    if len(items) != len(asked):
        what = f"{plural(len(items), 'row')}, not {len(asked):,} as"
    else:
        row = next(number for number, pair in enumerate(zip(items, asked, strict=True)) if pair[0] != pair[1])
        pairs = zip(("id", *TEXTS, "category"), items[row], asked[row], strict=True)
        key, ours, theirs = next(pair for pair in pairs if pair[1] != pair[2])
        what = f"row {row + 1}: id {items[row][0]}: {key} is {ours!r:.40}, not {theirs!r:.40} as"
    return (
        f"left out {_short(path)}: {what} in {plural(models, 'other model')}; "
        f"take it by itself with --dataset {path.stem} --model {path.parent.name}"
    )
