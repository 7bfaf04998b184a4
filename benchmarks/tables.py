"""Reading tables with images in their cells: `python -m benchmarks.tables` from the repository root.

10,000 rows in two Parquet files, each with an image of 60 kB that nobody decodes. The peer is
`datasets.load_dataset`, streaming, which writes no copy, with the settings that cost it least: only the
columns asked for, batches of the same size, small buffers, no torch. Both sides are processes of their own,
in turn, and count from start to end, imports and all. Two forms of the same table: row groups of 100 rows,
as the hub writes them, and one row group a file, as pandas and pyarrow do.
"""

import argparse
import hashlib
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks._figure import figure
from benchmarks._stage import ROOT, Cost, process

FILES = 2
IMAGE_BYTES = 60_000
COLUMNS = ("question", "label", "photo")
BATCH, BUFFER = 16, 1 << 20  # rows, bytes: those of vouch/datasets/read/forms.py
FORMS = {"hub": 100, "pandas": 1 << 20}  # rows of a row group
READERS = ("vouch", "datasets")
Read = Iterator[tuple[str, int, bytes]]


def make(folder: Path, count: int, group: int) -> None:
    """The files of one split."""
    folder.mkdir()
    drawn = np.random.default_rng(0)
    image = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    for file in range(FILES):
        rows = range(file * count // FILES, (file + 1) * count // FILES)
        photos = [{"bytes": drawn.bytes(IMAGE_BYTES), "path": f"{row}.jpg"} for row in rows]
        cells = [pa.array([f"What is {row}?" for row in rows]), pa.array(rows), pa.array(photos, image)]
        path = folder / f"test-{file:05}-of-{FILES:05}.parquet"
        pq.write_table(pa.table(cells, names=list(COLUMNS)), path, row_group_size=group)


def by_vouch(folder: Path) -> Read:
    """As the loader `table` reads."""
    from vouch.datasets.read.files import SourceFiles
    from vouch.datasets.read.forms import rows

    for row in rows(SourceFiles(folder), COLUMNS):
        yield row.text("question"), row.integer("label"), row.images("photo")[0]


def by_datasets(folder: Path) -> Read:
    """As `datasets` reads, images undecoded."""
    import datasets
    import pyarrow.dataset

    datasets.config.TORCH_AVAILABLE = False  # importing it takes three seconds and 200 MiB
    datasets.config.HF_UPDATE_DOWNLOAD_COUNTS = False  # a request to a server for every table
    buffered = pyarrow.dataset.ParquetFragmentScanOptions(
        use_buffered_stream=True, buffer_size=BUFFER, pre_buffer=False
    )
    table = datasets.load_dataset(
        "parquet", data_files=sorted(map(str, folder.glob("*.parquet"))), split="train", streaming=True,
        cache_dir=str(folder / "cache"), columns=list(COLUMNS), batch_size=BATCH,
        fragment_scan_options=buffered,
    ).cast_column("photo", datasets.Image(decode=False))  # fmt: skip
    for batch in table.with_format("arrow").iter(BATCH):
        for row in batch.to_pylist():
            yield row["question"], row["label"], row["photo"]["bytes"]


def read(reader: str, folder: Path) -> None:
    """Reads all rows in one way, and writes their digest beside the folder."""
    rows, number = hashlib.sha256(), 0
    for question, label, photo in (by_vouch if reader == READERS[0] else by_datasets)(folder):
        rows.update(f"{question} {label} ".encode() + photo)
        number += 1
    Path(f"{folder}.{reader}").write_text(f"{number} {rows.hexdigest()}", encoding="utf-8")


def measure(folder: Path, form: str, rounds: int) -> list[tuple[Cost, Cost]]:
    """Costs of both readers, in turn; fails where they read different rows."""
    costs = []
    for _ in range(rounds):
        ours, theirs = (process(folder, ROOT, "benchmarks.tables", "--read", one, form) for one in READERS)
        costs.append((ours, theirs))
        if len({(folder / f"{form}.{reader}").read_text(encoding="utf-8") for reader in READERS}) > 1:
            sys.exit("the two readers read different rows")
    return costs


def main() -> None:
    """Measures and prints every figure; fails where `datasets` is the cheaper reader of a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--make", help=argparse.SUPPRESS)
    parser.add_argument("--read", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.read:
        read(given.read[0], Path(given.read[1]))
        return
    if given.make:
        make(Path(given.make), given.rows, FORMS[given.make])
        return
    for form in FORMS:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            # by a process of its own: those measured begin with the memory of the one that starts them
            process(folder, ROOT, "benchmarks.tables", "--make", form, "--rows", str(given.rows))
            costs = measure(folder, form, given.rounds)
        for kind, unit in (("seconds", "s of one core"), ("mebibytes", "MiB")):
            ours, theirs = (statistics.median(getattr(cost[side], kind) for cost in costs) for side in (0, 1))
            figure(f"tables_{form}_{kind}", ours, unit, "datasets.load_dataset", theirs, theirs / ours)
            if theirs < ours:
                sys.exit(f"datasets reads the table with less {unit}: read tables with it")


if __name__ == "__main__":
    main()
