"""Digests of files while they are written or read."""

import hashlib
import json
import os
import threading
from pathlib import Path

import pytest

from vouch.pipeline.digests import Digests
from vouch.pipeline.files import followed, read_file, read_otherwise, sealed, streamed_digest
from vouch.tables.asked import IMAGES


def md5(path: Path) -> str:
    return hashlib.md5(path.read_bytes()).hexdigest()


def test_the_digest_of_a_table_is_known_when_it_is_there(tmp_path: Path):
    path = tmp_path / "images.parquet"
    with IMAGES.writer(path) as writer:
        for number in range(40):
            writer.row({"digest": str(number), "bytes": os.urandom(100_000)})
    assert streamed_digest(str(path)) == md5(path) == Digests(tmp_path / "memory.json").of(str(path))
    assert not [thread for thread in threading.enumerate() if thread.name == "vouch-written"]


def test_a_file_that_changed_since_is_read(tmp_path: Path):
    path, temporary = tmp_path / "file", tmp_path / "part"
    with followed(temporary, path):
        temporary.write_bytes(b"as written")
    os.rename(temporary, path)
    first = streamed_digest(str(path))
    assert first == md5(path)
    path.write_bytes(b"as edited!")
    os.utime(path, ns=(1, 1))
    assert streamed_digest(str(path)) is None
    assert Digests(tmp_path / "memory.json").of(str(path)) == md5(path) != first


def test_a_turned_bit_is_seen_by_who_reads_anew(tmp_path: Path):
    """Its size and its time are as before."""
    path = tmp_path / "file"
    with followed(path, path):
        path.write_bytes(bytes(1000))
    status = path.stat()
    path.write_bytes(bytes(999) + b"\1")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert Digests(tmp_path / "memory.json").of(str(path), anew=True) == md5(path)


def test_nothing_is_known_of_a_file_that_failed(tmp_path: Path):
    path, temporary = tmp_path / "file", tmp_path / "part"
    with pytest.raises(ValueError), followed(temporary, path):
        temporary.write_bytes(b"half")
        raise ValueError
    temporary.unlink()
    path.write_bytes(b"half")
    assert streamed_digest(str(path)) is None


def test_what_was_read_counts_more_than_what_is_remembered(tmp_path: Path):
    """A byte that turned on the disk since: size and times are as they were."""
    path, memory = tmp_path / "file", tmp_path / "memory.json"
    path.write_bytes(b"as read")
    status = path.stat()
    seen = [status.st_size, status.st_mtime_ns, status.st_ctime_ns]
    memory.write_text(json.dumps(sealed({"files": {str(path): [*seen, "0" * 32]}})))
    assert Digests(memory).of(str(path)) == "0" * 32
    assert read_file(str(path), status.st_size) == b"as read"
    digests = Digests(memory)
    assert digests.of(str(path)) == md5(path)
    digests.save()
    assert Digests(memory).known() == {str(path): md5(path)}


@pytest.mark.parametrize("size", [0, 3, 7, 99])
def test_all_bytes_are_read_whatever_the_size_was_taken_for(tmp_path: Path, size: int):
    path = tmp_path / "file"
    path.write_bytes(b"7 bytes")
    assert read_file(str(path), size) == b"7 bytes"
    assert streamed_digest(str(path)) == md5(path)


def test_a_file_that_was_read_and_then_edited_with_its_time_put_back(tmp_path: Path):
    path = tmp_path / "file"
    path.write_bytes(b"as read")
    status = path.stat()
    read_file(str(path), 7)
    while path.stat().st_ctime_ns == status.st_ctime_ns:  # a tick of the file system's clock
        path.write_bytes(b"as then")
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert streamed_digest(str(path)) is None


def test_other_bytes_are_found_also_where_the_last_reading_had_the_right_ones(tmp_path: Path):
    path, other = str(tmp_path / "file"), str(tmp_path / "other")
    for name, data in ((path, b"first"), (path, b"then"), (other, b"same")):
        Path(name).write_bytes(data)
        read_file(name, len(data))
    digests = {name: md5(Path(name)) for name in (path, other)}
    assert read_otherwise(digests) == [path]
