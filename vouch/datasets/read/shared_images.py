"""TSV files whose rows share images: a cell holds the index of the row that has the image, not the image."""

from collections.abc import Mapping, Sequence
from contextlib import suppress

from vouch.datasets.raw import Unusable
from vouch.datasets.read.files import Source
from vouch.datasets.read.row import Row
from vouch.datasets.read.rows import PARQUET, TSV, rows

_LONGEST_INDEX = 12  # characters; an image in base64 has more


def shared_images(source: Source, needed: Sequence[str]) -> dict[str, bytes]:
    """Index -> image of the rows that others refer to; empty where every row has its own.

    needed: the columns that the loader needs, `index` and `image` among them.
    """
    wanted = set()
    for row in rows(source, needed) if _may_share(source) else ():
        cell = row.text("image").strip()
        if len(cell) <= _LONGEST_INDEX:
            wanted.add(cell)
    found = {}
    for row in rows(source, needed) if wanted else ():
        if row.text("index") in wanted and len(row.text("image").strip()) > _LONGEST_INDEX:
            with suppress(Unusable):  # that row itself says why
                found[row.text("index")] = row.images("image")[0]
    return found


def _may_share(source: Source) -> bool:
    return all(file.name.lower().endswith(TSV) for file in source.ending(TSV, PARQUET))


def images_of(row: Row, shared: Mapping[str, bytes]) -> list[bytes]:
    """The row's images, its own or shared ones. Raises Unusable."""
    value = row.values.get("image")
    if isinstance(value, str) and 0 < len(value.strip()) <= _LONGEST_INDEX:
        if value.strip() not in shared:
            raise Unusable(f"its image is that of row {value.strip()!r}, which has none")
        return [shared[value.strip()]]
    return row.images("image")
