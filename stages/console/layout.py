"""Plain text tables for the terminal."""

import re
from collections.abc import Sequence

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def table(head: Sequence[str], rows: Sequence[Sequence[str]], right: set[int] = frozenset()) -> str:  # type: ignore[assignment]
    """Columns padded to their widest cell, `right` ones aligned right; control characters removed."""
    clean = [[_CONTROL.sub(" ", cell) for cell in row] for row in (head, *rows)]
    widths = [max(len(row[i]) for row in clean) for i in range(len(head))]

    def line(row: Sequence[str]) -> str:
        cells = [
            c.rjust(w) if i in right else c.ljust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))
        ]
        return "  ".join(cells).rstrip()

    return "\n".join([line(clean[0]), "  ".join("-" * w for w in widths), *map(line, clean[1:])]) + "\n"
