"""Logits that others released as pickles: interpreted, never unpickled."""

import pickle
from pathlib import Path

import numpy as np

from vouch.models.released.logits import parse_pickle

WORDS = (
    b"cos\nsystem\n | R. | \x93 | \x81 | 2 | b | ( | u | e | \x94 | h\x00 | \x8c\x02id | "
    b"cnumpy\ndtype\n | ] | } | )"
).split(b" | ")


def CORPUS() -> list[bytes]:
    found = []
    for dtype in ("f4", ">f8"):
        rows = [
            {"id": n, "logits": np.arange(4).astype(dtype), "more": ("x", None, True, 1.5)} for n in range(3)
        ]
        found += [pickle.dumps(rows, protocol) for protocol in (3, 4)]
    return found


def read(data: bytes, folder: Path) -> None:
    assert np.isfinite(parse_pickle(data, "logits.pkl").logits).all()
