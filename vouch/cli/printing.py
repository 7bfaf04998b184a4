"""Plain text for the terminal: what data hold never reaches it raw."""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any


def plain(text: object) -> str:
    """One line that moves no cursor and sets no colour: what cannot be printed becomes a space.

    Controls, escape sequences' first character, line ends and marks that change the direction of writing.
    """
    return "".join(char if char.isprintable() else " " for char in str(text))


def cut(text: object, width: int) -> str:
    """One line of at most so many characters."""
    line = " ".join(plain(text).split())
    return line if len(line) <= width else f"{line[: width - 1]}…"


def table(head: Sequence[str], rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> str:
    """Columns padded to their widest cell, `right` ones aligned right; every cell is plain."""
    clean = [[plain(cell) for cell in row] for row in (head, *rows)]
    widths = [max(len(row[i]) for row in clean) for i in range(len(head))]

    def line(row: Sequence[str]) -> str:
        cells = [
            c.rjust(w) if i in right else c.ljust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))
        ]
        return "  ".join(cells).rstrip()

    return "\n".join([line(clean[0]), "  ".join("-" * w for w in widths), *map(line, clean[1:])]) + "\n"


def number(value: float | None, digits: int = 3) -> str:
    """A number, n.a. where there is none."""
    return "n.a." if value is None else f"{value:.{digits}f}"


def interval(row: Mapping[str, Any] | None, key: str = "value") -> str:
    """The number under a key, and its interval, low and high, where it has one. Differences get a sign."""
    if row is None or row[key] is None:
        return "n.a."
    form = "+.3f" if key == "difference" else ".3f"
    bounds = "" if row["low"] is None else f" [{row['low']:{form}}, {row['high']:{form}}]"
    return f"{row[key]:{form}}{bounds}"


def as_json(value: Any) -> str:
    """For scripts: ASCII, so that a terminal that shows it is safe as well; a number that is none is null."""
    return json.dumps(value, indent=1, allow_nan=False) + "\n"
