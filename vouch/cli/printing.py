"""The output of commands: tables, numbers and JSON, as plain text that cannot control a terminal."""

import json
import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any


def plain(text: object) -> str:
    """One line that neither moves the cursor nor sets a colour: unprintable characters become spaces.

    These are control characters, the first character of escape sequences, line ends, and characters that
    change the direction of writing.
    """
    return "".join(char if char.isprintable() else " " for char in str(text))


def plain_lines(lines: Iterable[str]) -> str:
    """The lines as plain text, each with a line end."""
    return "".join(f"{plain(line)}\n" for line in lines)


def cut(text: object, width: int) -> str:
    """One line of at most `width` characters."""
    line = " ".join(plain(text).split())
    return line if len(line) <= width else f"{line[: width - 1]}…"


WIDTH = 80


def wrapped(line: str, indent: str = "") -> str:
    """A line of at most WIDTH characters, and what does not fit into it on further ones that are indented."""
    kept = textwrap.wrap(plain(line), WIDTH, initial_indent=indent, subsequent_indent=f"{indent}  ")
    return "\n".join(kept or [""]) + "\n"


def table(head: Sequence[str], rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> str:
    """A table whose columns are as wide as their widest cell. right: columns to align right."""
    clean = [[plain(cell) for cell in row] for row in (head, *rows)]
    widths = [max(map(len, column)) for column in zip(*clean, strict=True)]

    def line(row: Sequence[str]) -> str:
        cells = enumerate(zip(row, widths, strict=True))
        return "  ".join(c.rjust(w) if i in right else c.ljust(w) for i, (c, w) in cells).rstrip()

    return "\n".join([line(clean[0]), "  ".join("-" * w for w in widths), *map(line, clean[1:])]) + "\n"


def number(value: float | None, digits: int = 3) -> str:
    """A number, or `n.a.` if there is none."""
    return "n.a." if value is None else _decimals(value, digits)


def _decimals(value: float, digits: int, sign: bool = False) -> str:
    """Rounded as in the report. sign: whether positive numbers have one, too."""
    from vouch.report.formatting import decimals

    text = decimals(value, digits)
    return f"+{text}" if sign and not text.startswith("-") else text


def interval(row: Mapping[str, Any] | None, key: str = "value", digits: int = 3) -> str:
    """The number under a key, with its interval if it has one. Differences get a sign."""
    if row is None or row[key] is None:
        return "n.a."
    names = (key,) if row["low"] is None else (key, "low", "high")
    value, *ends = (_decimals(row[name], digits, sign=key == "difference") for name in names)
    return f"{value} [{', '.join(ends)}]" if ends else value


def as_json(value: Any) -> str:
    """JSON for scripts: ASCII, so that it is safe on a terminal too; a missing number is null."""
    return json.dumps(value, indent=1, allow_nan=False) + "\n"


def and_more(names: Sequence[object], kind: str = "") -> str:
    """` and 2 more` for three names, an empty text for one."""
    return f" and {len(names) - 1} more{kind and f' {kind}'}" if len(names) > 1 else ""
