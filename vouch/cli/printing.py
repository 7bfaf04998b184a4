"""The output of commands: tables, numbers and JSON, as plain text that cannot control a terminal."""

import json
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import accumulate
from typing import Any, NamedTuple
from unicodedata import combining, east_asian_width


def plain(text: object) -> str:
    """One line that neither moves the cursor nor sets a colour: unprintable characters become spaces.

    These are control characters, the first character of escape sequences, line ends, and characters that
    change the direction of writing.
    """
    return "".join(char if char.isprintable() else " " for char in str(text))


def plain_lines(lines: Iterable[str]) -> str:
    """The lines as plain text, each with a line end."""
    return "".join(f"{plain(line)}\n" for line in lines)


def columns_of(text: str) -> int:
    """How many columns of a terminal a text takes: two for each full-width character, as of Chinese."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(char: str) -> int:
    return 0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1


def _head(text: str, room: int) -> str:
    """The longest beginning that fits into this many columns."""
    if text.isascii():
        return text[: max(room, 0)]
    ends = accumulate(map(_columns, text))
    return text[: sum(end <= room for end in ends)]


def _tail(text: str, room: int) -> str:
    return _head(text[::-1], room)[::-1]


def _padded(text: str, width: int, right: bool) -> str:
    blank = " " * (width - columns_of(text))
    return blank + text if right else text + blank


def cut(text: object, width: int) -> str:
    """One line of at most `width` columns."""
    line = " ".join(plain(text).split())
    return line if columns_of(line) <= width else f"{_head(line, width - 1)}…"


WIDTH = 80
"""Columns of the output if it is not a terminal."""
_wide = ContextVar("wide", default=False)


@contextmanager
def unlimited(wide: bool = True) -> Iterator[None]:
    """Within the block, tables may be as wide as they are: `--wide`."""
    token = _wide.set(wide)
    try:
        yield
    finally:
        _wide.reset(token)


def terminal() -> int:
    """Columns of the terminal; WIDTH if the output goes elsewhere, unless the variable COLUMNS says more."""
    return shutil.get_terminal_size((WIDTH, 24)).columns


def wrapped(line: str, indent: str = "") -> str:
    """A line that fits the terminal, and what does not fit into it on further ones that are indented."""
    room = max(terminal(), 20)
    further = f"{indent}  "
    kept = broken(
        plain(line),
        room,
        initial_indent=indent,
        subsequent_indent=further,
        break_on_hyphens=False,
        break_long_words=False,
    )
    return "\n".join(kept or [""]) + "\n"


_SECOND = "\0"
"""Stands for the second column of a full-width character; `plain` leaves no such character in a text."""


def broken(line: str, room: int, **how: Any) -> list[str]:
    """A plain text as lines of at most `room` columns. how: arguments of textwrap.wrap; a text with
    full-width characters may have no spaces, so it is broken anywhere."""
    if columns_of(line) <= len(line):
        return textwrap.wrap(line, room, **how)
    doubled = "".join(char + _SECOND if _columns(char) == 2 else char for char in line)
    lines = textwrap.wrap(doubled, room - 1, **{**how, "break_long_words": True})  # a break may part the two
    return [each.replace(_SECOND, "") for each in lines]


def paragraphs(lines: Iterable[str]) -> str:
    """Sentences for a person, each on lines that fit the terminal."""
    return "".join(map(wrapped, lines))


class Column(NamedTuple):
    """A column of a table, and what it gives up if the table is wider than the terminal.

    rank: the columns of the highest rank lose their intervals and are then left out, the last one first; then
    those of the next rank; those of rank 0 stay. cut: at last, long texts lose their middle. right: aligned.
    """

    head: str
    right: bool = False
    rank: int = 0
    cut: bool = False


def table(
    columns: Sequence[Column],
    rows: Sequence[Sequence[str]],
    titles: Sequence[str] = (),
    empty: str = "nothing to show",
) -> str:
    """A table that fits the terminal; its last line says what was left out.

    titles: one for each row; a title stands above the first of the rows that share it. empty: what is said if
    there are no rows.
    """
    if not rows:
        return wrapped(empty)
    texts = [list(map(plain, column)) for column in zip(*rows, strict=True)]
    room = sys.maxsize if _wide.get() else terminal()
    kept, note = _fitted(columns, texts, room)

    def line(cells: Sequence[str]) -> str:
        padded = (
            _padded(cell, width, columns[i].right)
            for cell, (i, width) in zip(cells, kept.items(), strict=True)
        )
        return "  ".join(padded).rstrip()

    heads = [cut(columns[i].head, width) for i, width in kept.items()]
    lines = [line(heads), "  ".join("-" * width for width in kept.values())]
    title = None
    for number, cells in enumerate(zip(*(texts[i] for i in kept), strict=True)):
        if titles and titles[number] != title:
            title = titles[number]
            lines.append(cut(title, room))
        lines.append(line(cells))
    return "\n".join(lines) + "\n" + (wrapped(note) if note else "")


_INTERVAL = re.compile(r" \[[^\]]*\]$")
_NARROWEST = 8  # characters that a cut text keeps


def _fitted(columns: Sequence[Column], texts: list[list[str]], room: int) -> tuple[dict[int, int], str]:
    """The columns that stay, with their widths, and what was left out. Changes the texts."""

    def widths() -> dict[int, int]:
        return {i: max(len(columns[i].head), *map(columns_of, texts[i])) for i in kept}

    def too_wide(widths: Mapping[int, int]) -> bool:
        return sum(widths.values()) + 2 * (len(widths) - 1) > room

    kept = list(range(len(columns)))
    bare: list[int] = []
    for rank in sorted({column.rank for column in columns} - {0}, reverse=True):
        own = [i for i in reversed(kept) if columns[i].rank == rank]
        for i in own:
            if too_wide(widths()) and any(map(_INTERVAL.search, texts[i])):
                texts[i] = [_INTERVAL.sub("", text) for text in texts[i]]
                bare.append(i)
        for i in own:
            if too_wide(widths()):
                kept.remove(i)
    width_of, whole = widths(), True
    while too_wide(width_of):
        widest = max((i for i in kept if columns[i].cut), key=lambda i: width_of[i], default=None)
        if widest is None or width_of[widest] <= _NARROWEST:
            break
        width_of[widest] -= 1
        whole = False
    for i in kept:
        texts[i] = _shortened(texts[i], width_of[i])
    gone = [column.head for i, column in enumerate(columns) if i not in kept and column.head]
    gone += [f"interval of {columns[i].head}" for i in sorted(bare) if i in kept]
    gone += [] if whole else ["the middle of long texts"]
    return width_of, f"left out: {', '.join(gone)} (--wide shows all)" if gone else ""


def _shortened(texts: Sequence[str], width: int) -> list[str]:
    """Each text in at most `width` columns, without its middle; different ones stay different."""
    distinct = dict.fromkeys(texts)
    if all(columns_of(text) <= width for text in distinct):
        return list(texts)
    short: dict[str, str] = {}
    for end in sorted(range(width), key=lambda end: abs(2 * end - width)):  # in half if that tells them apart
        short = {text: _without_middle(text, width, end) for text in distinct}
        if len(set(short.values())) == len(distinct):
            return [short[text] for text in texts]
    for number, text in enumerate(distinct, start=1):
        if columns_of(text) > width:
            short[text] = f"{_head(text, width - 1 - len(str(number)))}…{number}"
    return [short[text] for text in texts]


def _without_middle(text: str, width: int, end: int) -> str:
    """At most `width` columns of a text, `end` of them from its end."""
    return text if columns_of(text) <= width else f"{_head(text, width - 1 - end)}…{_tail(text, end)}"


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
