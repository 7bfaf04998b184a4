"""Pictures of every format, decoded."""

from pathlib import Path

from tests.fuzz.pictures import ALL
from vouch.datasets.cleaning.cleaning import examine
from vouch.datasets.raw import Unusable
from vouch.pipeline.errors import UserError

WORDS = [
    b"IHDR",
    b"IDAT",
    b"acTL",
    b"\xff\xd8",
    b"\xff\xc0",
    b"GIF89a",
    b"RIFF",
    b"VP8X",
    b"II*\0",
    b"MM\0*",
    b"BM",
    b"Exif\0\0",
    b"zTXt",
]


def CORPUS() -> list[bytes]:
    return ALL


def read(data: bytes, folder: Path) -> None:
    try:
        examine(data)
    except Unusable as error:  # a line of rejects, or the end of the stage with this text
        raise UserError(str(error)) from None
