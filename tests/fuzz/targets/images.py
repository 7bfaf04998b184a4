"""Pictures of every format, decoded."""

from pathlib import Path

from tests.fuzz.pictures import ALL
from vouch.datasets.raw import Unusable
from vouch.datasets.read.images import examine
from vouch.pipeline.errors import UserError

WORDS = (
    b"IHDR | IDAT | acTL | \xff\xd8 | \xff\xc0 | GIF89a | RIFF | VP8X | II*\x00 | MM\x00* | BM | "
    b"Exif\x00\x00 | zTXt"
).split(b" | ")


def CORPUS() -> list[bytes]:
    return ALL


def read(data: bytes, folder: Path) -> None:
    try:
        examine(data)
    except Unusable as error:  # a line of rejects, or the end of the stage with this text
        raise UserError(str(error)) from None
