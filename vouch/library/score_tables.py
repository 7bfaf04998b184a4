"""Reads tables of scores and logs: n scores, with their names as numbers."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from vouch.library import check
from vouch.library.logs import Log, from_log
from vouch.library.records import SCORE_COLUMNS, score_in
from vouch.library.vlmevalkit_logs import COLUMNS as PREDICTION_COLUMNS
from vouch.models.released.rows import READERS
from vouch.pipeline.errors import UserError

COLUMNS = {
    "item": ("item", "item_id", "question_id", "id", "input", "input_label", "example"),
    "model": ("model", "model_id", "model_name", "model_label", "system"),
    "score": ("score", "correct", "value", "result"),
    "prompt": ("prompt", "template", "prompt_template"),
    "run": ("run", "run_id", "epoch", "seed", "repeat", "trial"),
    "group": ("group", "cluster", "cluster_id"),
}
"""Columns, and the names that other tools give them; the first three are required."""
TABLES = (".csv", ".tsv", ".parquet", ".xlsx")
SAME = "-"
"""The prompt or run of a table that names none."""


class Scores(NamedTuple):
    """n scores, each with the indices of its names. values: [n]; low, high: the range of scores.

    remarks: what limits a log as a whole.
    """

    values: Any
    item: Any
    model: Any
    prompt: Any
    run: Any
    group: Any
    items: list[str]
    models: list[str]
    low: float
    high: float
    remarks: tuple[str, ...] = ()

    @property
    def span(self) -> float:
        """The width of the range; 1 if all scores are equal."""
        return (self.high - self.low) or 1.0


def read_scores(tables: Sequence[Any]) -> Scores:
    """The scores of all tables and logs. Raises ValueError with the row at fault."""
    tables = [from_log(table) if _is_log(table) else table for table in tables]
    logs = [table for table in tables if isinstance(table, Log)]
    remarks = tuple(f"{log.source}: {log.remark}" for log in logs if log.remark)
    return _coded(_columns(tables))._replace(remarks=remarks)


def _columns(tables: Sequence[Any]) -> dict[str, list[Any]]:
    """The columns of all tables and logs, by their own names; `row` says where a row is."""
    if not tables:
        raise ValueError("tables: none are given; give a table of scores, or logs")
    several = len(tables) > 1
    parts = [_of_table(table, f"table {n}: " if several else "") for n, table in enumerate(tables, 1)]
    if not several:
        return parts[0]
    names = list(dict.fromkeys(name for part in parts for name in part))
    models = [set(map(str, part["model"])) for part in parts]
    sources = [table.source for table in tables if isinstance(table, Log)]
    if set.intersection(*models) and len(sources) == len(tables):
        if len(set(sources)) < len(sources):
            raise ValueError(f"{sources[0]}: is given twice; give a log of each model")
        short = [Path(source).name for source in sources]
        given = short if len(set(short)) == len(short) else sources
        parts = [
            part | {"model": [name] * len(part["model"])} for part, name in zip(parts, given, strict=True)
        ]
    return {
        name: [value for part in parts for value in part.get(name, [SAME] * len(part["row"]))]
        for name in names
    }


def _of_table(table: Any, where: str) -> dict[str, list[Any]]:
    """Columns by role of one table or log. where: its name in errors if it has no path. Raises ValueError."""
    if isinstance(table, Log):
        return _of_log(table)
    if isinstance(table, str | Path):
        rows = list(_rows(Path(table)))
        given = {name: [row.get(name) for row in rows] for name in (rows[0] if rows else {})}
        where = f"{table}: "
    elif hasattr(table, "columns") and hasattr(table, "to_dict"):
        if table.columns.has_duplicates:
            name = table.columns[table.columns.duplicated()][0]
            raise ValueError(f"tables: two columns have the name {check.shown(name)}; rename one")
        given = {str(name): table[name].tolist() for name in table.columns}
    elif isinstance(table, Mapping):
        given = {str(name): check.plain(values, str(name), 1).tolist() for name, values in table.items()}
    else:
        raise ValueError(
            f"tables is {check.shown(table)}; give a path, a DataFrame, columns by name or a log"
        )
    roles = _roles(given)
    if missing := [role for role in SCORE_COLUMNS if role not in roles]:
        known = ", ".join(map(str, given))[:120] or "none"
        raise ValueError(
            f"{where}no column {missing[0]}, it has {known}; a table needs {', '.join(SCORE_COLUMNS)}"
        )
    columns = {role: given[name] for role, name in roles.items()}
    counts = {role: len(values) for role, values in columns.items()}
    if len(set(counts.values())) > 1:
        raise ValueError(f"{where}columns differ in length: {counts}; give as many rows in each")
    if not columns["item"]:
        raise ValueError(f"{where}has no rows; a table needs a score for each item and model")
    return columns | {"row": [f"{where}row {number}" for number in range(1, len(columns["item"]) + 1)]}


def _is_log(table: Any) -> bool:
    """Whether a path is that of a log: no table, or a table of predictions of VLMEvalKit."""
    if not isinstance(table, str | Path):
        return False
    path = Path(table)
    if path.suffix.lower() not in TABLES:
        return True
    row = next(_rows(path), {})
    return not set(SCORE_COLUMNS) <= _roles(row).keys() and set(PREDICTION_COLUMNS) <= row.keys()


def _rows(path: Path) -> Iterator[Mapping[str, Any]]:
    """The rows of a file whose name ends as a table's does. Raises ValueError."""
    reader = READERS[path.suffix.lower()]
    try:
        data = path.read_bytes()
        if not data.strip():
            raise ValueError(f"{path}: is empty; a table needs {', '.join(SCORE_COLUMNS)}")
        yield from (row for _, row in reader(data, str(path)))
    except OSError as error:
        raise ValueError(f"{path}: not readable ({error!s:.120})") from None
    except UserError as error:
        raise ValueError(str(error)) from None


def _roles(given: Any) -> dict[str, str]:
    """The column of each role that a table has."""
    named = {str(name).strip().lower(): str(name) for name in given}
    columns = {
        role: next((named[name] for name in names if name in named), None) for role, names in COLUMNS.items()
    }
    return {role: name for role, name in columns.items() if name is not None}


def _of_log(log: Log) -> dict[str, list[Any]]:
    """A log as a table: its questions, scored as the log's `correct` says, with its groups."""
    names = [record.question for record in log._records]
    first: dict[str, str] = {}  # a group by the first of its questions: hashes may differ between two runs
    for name, group in zip(names, log.groups, strict=True):
        first[group] = min(name, first.get(group, name))
    return {
        "item": names,
        "model": [log.model or log.source] * log.rows,
        "score": log.correct.tolist(),
        "run": _numbered(names),
        "group": [first[group] for group in log.groups],
        "row": [f"{log.source}: {each}" for each in log.ids],
    }


def _numbered(names: Sequence[str]) -> list[int]:
    """How often each name came before."""
    count, numbers = Counter[str](), []
    for name in names:
        numbers.append(count[name])
        count[name] += 1
    return numbers


def _coded(columns: Mapping[str, list[Any]]) -> Scores:
    """Names as numbers, scores as float64. Raises ValueError with the row at fault."""
    rows = columns["row"]
    blank = [SAME] * len(rows)
    named = {
        role: [_name(value, role, row) for value, row in zip(columns.get(role, blank), rows, strict=True)]
        for role in ("item", "model", "prompt", "run")
    }
    named["group"] = named["item"]
    if "group" in columns:
        named["group"] = [
            _name(value, "group", row) for value, row in zip(columns["group"], rows, strict=True)
        ]
    _check_once(named, rows, "run" in columns)
    values = np.array([_number(value, row) for value, row in zip(columns["score"], rows, strict=True)])
    codes = {role: _codes(names, role == "model") for role, names in named.items()}
    shares = bool((values >= 0).all() and (values <= 1).all())
    return Scores(
        values,
        **{role: code for role, (_, code) in codes.items()},
        items=codes["item"][0],
        models=codes["model"][0],
        low=0.0 if shares else float(values.min()),
        high=1.0 if shares else float(values.max()),
    )


def _name(value: Any, role: str, row: str) -> str:
    """A name as text: 1 and 1.0 are one."""
    if isinstance(value, float | np.floating) and value.is_integer():
        value = int(value)
    text = "" if check.is_missing(value) else str(value)
    if not text.strip():
        raise ValueError(f"{row}: has no {role}; name it, or leave the row out")
    return text


def _number(value: Any, row: str) -> float:
    """A finite score; of a text as well, and of true and false."""
    number = score_in(value)
    if not math.isfinite(number) or abs(number) > check.MOST_FEATURE:
        raise ValueError(f"{row}: score is {check.shown(value)}; give a number, or leave the row out")
    return number


def _check_once(named: Mapping[str, list[str]], rows: Sequence[str], has_run: bool) -> None:
    """Refuses two scores of one thing, and an item that is in two groups."""
    first: dict[tuple[str, ...], int] = {}
    group_of: dict[str, str] = {}
    keys = zip(*(named[role] for role in ("model", "item", "prompt", "run")), strict=True)
    for index, (row, key, group) in enumerate(zip(rows, keys, named["group"], strict=True)):
        model, item = key[0][:60], key[1][:60]
        if (earlier := first.setdefault(key, index)) != index:
            table, _, name = rows[earlier].rpartition(": ")
            there = name if table == row.rpartition(": ")[0] else rows[earlier]
            hint = "keep one" if has_run else "give a column run if it was asked again, or keep one"
            hint = "give each table once" if row == rows[earlier] else hint
            raise ValueError(f"{row}: model {model} has a score of item {item} in {there} as well; {hint}")
        if (before := group_of.setdefault(key[1], group)) != group:
            raise ValueError(
                f"{row}: item {item} is in group {group[:40]}, before in {before[:40]}; give one"
            )


def _codes(names: Sequence[str], as_given: bool) -> tuple[list[str], Any]:
    """The different names, sorted or in the order of the table, and [n] the number of each."""
    distinct = list(dict.fromkeys(names)) if as_given else sorted(set(names))
    number = {name: index for index, name in enumerate(distinct)}
    return distinct, np.array([number[name] for name in names], dtype=np.int64)
