"""Tables in LaTeX with the package booktabs; every text is text."""

import re

from vouch.report import formatting
from vouch.report.grid import Cell, Grid

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
