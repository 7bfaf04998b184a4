"""images: each distinct picture of a dataset once, as the bytes its source gave.

digest  SHA-256 of `bytes`, in hexadecimal; unique
bytes   the encoded file, untouched
format  Pillow's name of the format: PNG, JPEG, ...
mode    Pillow's mode before any conversion: RGB, RGBA, L, P, ...
width, height   pixels, before EXIF rotation
"""

from collections import OrderedDict
from pathlib import Path

import pyarrow as pa

from vouch.pipeline.errors import UserError
from vouch.tables.table import Table

FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF")  # no format whose decoder calls other programs
MAX_PIXELS = 89_478_485  # Pillow's own limit, so that whoever reads the table can open its images

IMAGES = Table(
    "images",
    1,
    pa.schema(
        [
            ("digest", pa.string()),
            ("bytes", pa.binary()),
            ("format", pa.string()),
            ("mode", pa.string()),
            ("width", pa.int32()),
            ("height", pa.int32()),
        ]
    ),
    rows_per_group=16,
    large=True,
)


def images_path(dataset: str) -> Path:
    """Where the images of a dataset lie."""
    return Path("data/images") / f"{dataset}.parquet"


class ImageStore:
    """Random access to the images of one dataset, holding a few row groups in memory."""

    def __init__(self, path: Path, groups_held: int = 8) -> None:
        self._path, self._held = path, groups_held
        self._file = IMAGES.open(path)
        self._where: dict[str, tuple[int, int]] = {}
        for group in range(self._file.num_row_groups):
            digests = self._file.read_row_group(group, columns=["digest"]).column("digest").to_pylist()
            self._where.update({digest: (group, row) for row, digest in enumerate(digests)})
        self._groups: OrderedDict[int, pa.ChunkedArray] = OrderedDict()

    def __len__(self) -> int:
        return len(self._where)

    def __contains__(self, digest: str) -> bool:
        return digest in self._where

    def read(self, digest: str) -> bytes:
        """The encoded bytes of one image. Raises UserError where the digest is not in the table."""
        if digest not in self._where:
            raise UserError(
                f"{self._path}: no image {digest[:12]}; run `dvc repro` to prepare the dataset anew"
            )
        group, row = self._where[digest]
        if group not in self._groups:
            self._groups[group] = self._file.read_row_group(group, columns=["bytes"]).column("bytes")
            if len(self._groups) > self._held:
                self._groups.popitem(last=False)
        self._groups.move_to_end(group)
        return bytes(self._groups[group][row].as_py())
