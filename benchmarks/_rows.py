"""Writing a table's rows with pyarrow, as anyone would: `python -m benchmarks._rows FILE ROWS`.

ROWS is how many make a row group. Leaves peer.json: the number of rows, the processor seconds of having them
in memory, and the processor seconds and the time on the wall from there to a file.
"""

import json
import sys
import time

import pyarrow as pa
import pyarrow.parquet as pq


def main() -> None:
    """Reads the rows of a file and writes them to peer.parquet."""
    path, size = sys.argv[1], int(sys.argv[2])
    start = time.process_time()
    schema = pq.read_schema(path).remove_metadata()
    rows = pq.read_table(path).to_pylist()
    making = time.process_time() - start
    pa.Table.from_pylist([{}], schema=schema)  # what pyarrow loads the first time: pandas, where installed
    start, wall = time.process_time(), time.perf_counter()
    with pq.ParquetWriter(
        "peer.parquet", schema, compression="zstd", write_page_checksum=True, store_schema=False
    ) as sink:
        for first in range(0, len(rows), size):
            sink.write_table(pa.Table.from_pylist(rows[first : first + size], schema=schema))
    times = [time.process_time() - start, time.perf_counter() - wall]
    with open("peer.json", "w", encoding="utf-8") as file:
        json.dump([len(rows), making, *times], file)


if __name__ == "__main__":
    main()
