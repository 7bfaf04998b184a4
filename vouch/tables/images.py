"""images: each distinct picture of a dataset once, as the bytes its source gave."""

from collections import OrderedDict
from pathlib import Path

import pyarrow as pa

from vouch.pipeline.errors import UserError
from vouch.tables.table import Table, columns, per_dataset

FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF")  # no format whose decoder calls other programs
MAX_PIXELS = 89_478_485  # Pillow's own limit, so that whoever reads the table can open its images
_HELD = 8  # row groups
_ROOM = 1 << 28  # bytes of several row groups
_PIXEL = 4  # bytes of a decoded pixel

IMAGES = Table(
    "images",
    1,
    columns("""
digest         string  SHA-256 of `bytes`, in hexadecimal; unique
bytes          binary  the encoded file, untouched
format         string  Pillow's name of the format: PNG, JPEG, ...
mode           string  Pillow's mode before any conversion: RGB, RGBA, L, P, ...; `RGB;16` where the file has
                       16 bits a sample, of which Pillow keeps 8
width, height  int32   pixels, before EXIF rotation
"""),
    rows_per_group=16,
    large=True,
)
images_path = per_dataset("data/images/{}.parquet")


class ImageStore:
    """Random access to the images of one dataset, holding a few row groups in memory."""

    def __init__(self, path: Path) -> None:
        self._path, self._file = path, IMAGES.open(path)
        self._where: dict[str, tuple[int, int]] = {}
        self._sides: dict[str, tuple[int, int]] = {}
        for group in range(self._file.num_row_groups):
            facts = self._file.read_row_group(group, columns=["digest", "width", "height"])
            digests, *sides = (facts[name].to_pylist() for name in facts.schema.names)
            self._where.update({digest: (group, row) for row, digest in enumerate(digests)})
            self._sides.update(zip(digests, zip(*sides, strict=True), strict=True))
        self._groups: OrderedDict[int, pa.ChunkedArray] = OrderedDict()

    def read(self, digest: str) -> bytes:
        """The encoded bytes of one image. Raises UserError where the digest is not in the table."""
        group, row = self._where[self._known(digest)]
        if group in self._groups:
            self._groups.move_to_end(group)
        else:
            self._groups[group] = self._file.read_row_group(group, columns=["bytes"]).column("bytes")
        while len(self._groups) > 1 and (
            len(self._groups) > _HELD or sum(one.nbytes for one in self._groups.values()) > _ROOM
        ):
            self._groups.popitem(last=False)
        return bytes(self._groups[group][row].as_py())

    def decoded_bytes(self, digest: str) -> int:
        """Bytes that its pixels take in memory. Raises UserError."""
        width, height = self._sides[self._known(digest)]
        return _PIXEL * (width or 0) * (height or 0)

    def _known(self, digest: str) -> str:
        if digest not in self._where:
            raise UserError(
                f"{self._path}: no image {digest[:12]}; run `dvc repro` to prepare the dataset anew"
            )
        return digest
