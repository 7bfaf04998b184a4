"""Tables of a dataset, row by row: parquet and TSV, or the forms that a loader names.

Memory stays flat: a few rows and parquet pages at a time (the hub's images: a row group, about 100 rows).
In some TSV files rows share images: a cell holds the index of the row that has the image, not the image.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from vouch.datasets.raw import LoaderSettings, Unusable
from vouch.datasets.read import forms
from vouch.datasets.read.files import Source
from vouch.datasets.read.forms import PARQUET, TSV
from vouch.datasets.read.row import Row

_TABLES = (PARQUET, TSV)
_LONGEST_INDEX = 12  # characters; an image in base64 has more


def rows(
    source: Source, needed: Sequence[str], optional: Sequence[str] = (), endings: Sequence[str] = _TABLES
) -> Iterator[Row]:
    """The rows of all tables in order, numbered through from 0.

    needed: columns that must be there. optional: read where they are there. Raises UserError.
    """
    number = 0
    for file in source.ending(*endings):
        for values, where in forms.read(file, needed, optional):
            yield Row(values, where, number, file)
            number += 1


def count_rows(source: Source, endings: Sequence[str] = _TABLES) -> int:
    """Rows of all tables."""
    return sum(map(forms.count, source.ending(*endings)))


def count_each(source: Source, name: str, settings: LoaderSettings) -> int:
    """`count` of a loader with an item for each row at most, before its filters."""
    return count_rows(source)


def columns(source: Source) -> set[str]:
    """Names of the columns of the first table."""
    return set(forms.columns(source.ending(*_TABLES)[0]))


def shared_images(source: Source, needed: Sequence[str]) -> dict[str, bytes]:
    """Index -> image of the rows that others refer to; empty where every row has its own.

    needed: the columns that the loader needs, `index` and `image` among them.
    """
    if source.has(PARQUET):
        return {}
    cells = (row.text("image").strip() for row in rows(source, needed))
    wanted = {cell for cell in cells if len(cell) <= _LONGEST_INDEX}
    found = {}
    for row in rows(source, needed) if wanted else ():
        if row.text("index") in wanted and len(row.text("image").strip()) > _LONGEST_INDEX:
            with suppress(Unusable):  # that row itself says why
                found[row.text("index")] = row.images("image")[0]
    return found


def images_of(row: Row, shared: Mapping[str, bytes]) -> list[bytes]:
    """The row's images, its own or shared ones. Raises Unusable."""
    value = row.values.get("image")
    if isinstance(value, str) and 0 < len(value.strip()) <= _LONGEST_INDEX:
        if value.strip() not in shared:
            raise Unusable(f"its image is that of row {value.strip()!r}, which has none")
        return [shared[value.strip()]]
    return row.images("image")
