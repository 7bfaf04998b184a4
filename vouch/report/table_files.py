"""Tables of the pages as files: CSV for spreadsheets, LaTeX for papers; rounded as shown."""

import re
from collections.abc import Iterator, Sequence

from vouch.report import formatting
from vouch.report.csv_tables import rows_text
from vouch.report.table import MISSING, Cell, Grid

_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_SPAN = re.compile(r"(\S+?)(?:\u2013| to )(\S+)")


class TableFiles:
    """Collects tables while pages are made. files: text of each file by its name."""

    def __init__(self, datasets: Sequence[str]) -> None:
        self.files: dict[str, str] = {}
        self._datasets = frozenset(datasets)

    def add(self, grid: Grid) -> str:
        """The name that the files of a table share: its own, the dataset, and a number if need be."""
        dataset = grid.caption.partition(": ")[0]
        name = f"{grid.name}-{dataset}" if dataset in self._datasets else grid.name
        stem, number = name, 1
        columns = columns_of(grid)
        text = rows_text(list(columns), zip(*columns.values(), strict=True))
        while self.files.get(f"{stem}.csv", text) != text:
            number += 1
            stem = f"{name}-{number}"
        self.files[f"{stem}.csv"] = text
        self.files[f"{stem}.tex"] = latex(grid)
        return stem


def columns_of(grid: Grid) -> dict[str, list[object]]:
    """The table with numbers as numbers, column by column; intervals in columns of their own."""
    columns: dict[str, list[object]] = {}
    for place, column in enumerate(grid.columns):
        cells = [row[place] for row in grid.rows]
        for name, values in _columns(column.label, cells, column.numeric):
            unique = name
            while unique in columns:
                unique += "\u2032"
            columns[unique] = values
    return columns


def _columns(label: str, cells: Sequence[Cell], numeric: bool) -> Iterator[tuple[str, list[object]]]:
    yield label, [_value(cell.text) if numeric else cell.text for cell in cells]
    notes = [cell.note for cell in cells]
    if not any(notes):
        return
    spans = [_SPAN.fullmatch(note) for note in notes]
    if numeric and all(found or not note for found, note in zip(spans, notes, strict=True)):
        yield f"{label}, low", [_value(found[1]) if found else None for found in spans]
        yield f"{label}, high", [_value(found[2]) if found else None for found in spans]
    else:
        yield f"{label}, note", list(notes)


def _value(text: str) -> object:
    """A number as it is shown; a dash is nothing; anything else stays text."""
    if text == MISSING.text:
        return None
    plain = text.replace(formatting.MINUS, "-").replace(",", "")
    found = _NUMBER.fullmatch(plain)
    return text if not found else float(plain) if found[1] else int(plain)


_SPECIAL = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\{",
        "}": r"\}",
        "$": r"\$",
        "&": r"\&",
        "#": r"\#",
        "%": r"\%",
        "_": r"\_",
        "^": r"\textasciicircum{}",
        "~": r"\textasciitilde{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        '"': r"\textquotedbl{}",
        "[": "{[}",  # after a line end it would be a distance
        "]": "{]}",
        formatting.NARROW: r"\,",
        formatting.MINUS: "$-$",
        "\u2013": "--",
        "\u00b1": r"$\pm$",
        "\u00b0": r"\textdegree{}",
    }
)
# Controls and marks of direction: invisible, and no engine of LaTeX takes them for what they are.
_UNSEEN = re.compile("[\x00-\x1f\x7f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]+")


def escaped(text: str) -> str:
    """Text that LaTeX prints as it stands; white space and invisible characters become blanks."""
    return _UNSEEN.sub(" ", text).translate(_SPECIAL).strip()


def _cell(cell: Cell) -> str:
    text = escaped(cell.text)
    if cell.tone == "strong":
        text = rf"\textbf{{{text}}}"
    return rf"{text} {{\scriptsize {escaped(cell.note)}}}" if cell.note else text


def latex(grid: Grid) -> str:
    """A floating table: caption, heading, one line per row."""
    kinds = "".join("r" if column.numeric else "l" for column in grid.columns)
    lines = [
        r"% needs \usepackage{booktabs}",
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{escaped(grid.caption)}}}",
        rf"\begin{{tabular}}{{{kinds}}}",
        r"\toprule",
        " & ".join(escaped(column.label) for column in grid.columns) + r" \\",
        r"\midrule",
        *(" & ".join(map(_cell, row)) + r" \\" for row in grid.rows),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"
