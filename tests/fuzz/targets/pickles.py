"""Questions and logits that others released as pickles: interpreted, never unpickled."""

import pickle
from pathlib import Path

import numpy as np

from vouch.cli.released import parse_cell

WORDS = (
    b"cos\nsystem\n | R. | \x93 | \x81 | 2 | b | ( | u | e | \x94 | h\x00 | \x8c\x02id | "
    b"cnumpy\ndtype\n | ] | } | )"
).split(b" | ")
ASKED = {"question": "q", "hint": float("nan"), "A": "a", "B": "b", "answer": "B", "question_type_id": 3}


def CORPUS() -> list[bytes]:
    found = []
    for dtype in ("f4", ">f8"):
        rows = [
            {**ASKED, "id": n, "logits": np.arange(4).astype(dtype), "more": ("x", None, True, 1.5)}
            for n in range(3)
        ]
        found += [pickle.dumps(rows, protocol) for protocol in (3, 4)]
    return found


def read(data: bytes, folder: Path) -> None:
    items, rows = parse_cell(data, "logits.pkl")
    assert len(items) == len(rows.ids) and np.isfinite(rows.logits).all()
