"""images: each distinct picture of a dataset once, as the bytes its source gave."""

from functools import lru_cache
from pathlib import Path

import pyarrow as pa

from vouch.pipeline.errors import UserError
from vouch.tables.table import Table, columns

FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF")  # no format whose decoder calls other programs
MAX_PIXELS = 89_478_485  # Pillow's own limit, so that whoever reads the table can open its images
_HELD = 8  # row groups

IMAGES = Table(
    "images",
    1,
    columns("""
digest         string  SHA-256 of `bytes`, in hexadecimal; unique
bytes          binary  the encoded file, untouched
format         string  Pillow's name of the format: PNG, JPEG, ...
mode           string  Pillow's mode before any conversion: RGB, RGBA, L, P, ...
width, height  int32   pixels, before EXIF rotation
"""),
    rows_per_group=16,
    large=True,
)


def images_path(dataset: str) -> Path:
    """Where the images of a dataset lie."""
    return Path("data/images") / f"{dataset}.parquet"


class ImageStore:
    """Random access to the images of one dataset, holding a few row groups in memory."""

    def __init__(self, path: Path) -> None:
        self._path, self._file = path, IMAGES.open(path)
        self._where: dict[str, tuple[int, int]] = {}
        for group in range(self._file.num_row_groups):
            digests = self._column(group, "digest").to_pylist()
            self._where.update({digest: (group, row) for row, digest in enumerate(digests)})
        self._group = lru_cache(maxsize=_HELD)(lambda group: self._column(group, "bytes"))

    def _column(self, group: int, name: str) -> pa.ChunkedArray:
        return self._file.read_row_group(group, columns=[name]).column(name)

    def read(self, digest: str) -> bytes:
        """The encoded bytes of one image. Raises UserError where the digest is not in the table."""
        if digest not in self._where:
            raise UserError(
                f"{self._path}: no image {digest[:12]}; run `dvc repro` to prepare the dataset anew"
            )
        group, row = self._where[digest]
        return bytes(self._group(group)[row].as_py())
