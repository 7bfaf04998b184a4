"""Somebody's own items: the lines of items.jsonl, as `prepare` takes them."""

from collections.abc import Iterator
from pathlib import Path

from tests.fuzz.pictures import PNG
from vouch.datasets.first_pass import check
from vouch.datasets.loaders.jsonl import Settings, count
from vouch.datasets.loaders.jsonl import read as read_lines
from vouch.datasets.raw import Rejected, Unusable
from vouch.datasets.read.files import SourceFiles
from vouch.datasets.read.images import with_images
from vouch.pipeline.errors import UserError

LINES = """\
{"id": "q1", "question": "What is this?", "options": ["a kite", "a hat"], "answer": 1, "image": "1.png"}
{"id": "q2", "question": "What does the sign say?", "references": ["stop", "STOP"], "images": ["1.png"]}
{"id": 3, "question": "Which <box 1>?", "options": ["x", "y", null], "answer": "A", "image": "1.png", "boxes": [[0, 0, 2, 2]]}
{"id": "q4", "question": "And?", "options": ["b", "c"], "answer": [0, "c"], "turns": ["3"], "images": [], "hint": "h", "category": "c"}
{"id": "q5", "question": "Two?", "options": ["b", "c"], "answer": "b", "images": ["1.png", "1.png"], "exchange": ["1.png", null]}
"""
WORDS = b'"id"|"question"|"options"|"answer"|"image"|../1.png|/dev/zero|{"id":|NaN|\xef\xbb\xbf'.split(b"|")
_LONGEST = 100_000  # bytes: with pictures, each of a hundred bytes takes work


def CORPUS() -> list[bytes]:
    lines = LINES.encode().splitlines(keepends=True)
    return [b"".join(lines), *lines[:3], lines[4]]


def read(data: bytes, folder: Path) -> None:
    (folder / "1.png").write_bytes(PNG)
    (folder / "items.jsonl").write_bytes(data[:_LONGEST])
    reasons = [
        reason
        for boxes in ("drawn", "text")
        for reason in _reasons(Settings(boxes=boxes), SourceFiles(folder))
    ]
    if reasons:
        raise UserError(reasons[0])


def _reasons(settings: Settings, source: SourceFiles) -> Iterator[str]:
    """Why lines are rejected."""
    count(source, "mine", settings)
    for looked in with_images(read_lines(source, "mine", settings), {}):
        try:
            if isinstance(looked.entry, Rejected):
                raise Unusable(looked.entry.reason)
            check(looked.entry)
            if looked.broken:
                raise looked.broken
        except Unusable as error:
            yield str(error)
