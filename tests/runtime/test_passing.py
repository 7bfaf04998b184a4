"""Digests of files while they are written."""

import hashlib
import os
import threading
from pathlib import Path

import pytest

from stages.contracts.images import IMAGES
from stages.runtime.digests import Digests
from stages.runtime.passing import digest_in_passing, followed


def md5(path: Path) -> str:
    return hashlib.md5(path.read_bytes()).hexdigest()


def test_the_digest_of_a_table_is_known_when_it_is_there(tmp_path: Path):
    path = tmp_path / "images.parquet"
    with IMAGES.writer(path) as writer:
        for number in range(40):
            writer.row({"digest": str(number), "bytes": os.urandom(100_000)})
    assert digest_in_passing(str(path)) == md5(path) == Digests(tmp_path / "memory.json").of(str(path))
    assert not [thread for thread in threading.enumerate() if thread.name == "vouch-written"]


def test_a_file_that_changed_since_is_read(tmp_path: Path):
    path, temporary = tmp_path / "file", tmp_path / "part"
    with followed(temporary, path):
        temporary.write_bytes(b"as written")
    os.rename(temporary, path)
    first = digest_in_passing(str(path))
    assert first == md5(path)
    path.write_bytes(b"as edited!")
    os.utime(path, ns=(1, 1))
    assert digest_in_passing(str(path)) is None
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
    assert digest_in_passing(str(path)) is None
