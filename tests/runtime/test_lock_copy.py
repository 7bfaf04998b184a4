"""A dvc.lock that DVC was killed in the middle of writing."""

from pathlib import Path

import pytest

from stages.runtime import lock_copy
from stages.runtime.freshness import read_lock

ENTRY = """  {name}:
    cmd: python -m stages.{name}
    outs:
    - path: data/{name}.parquet
      md5: 0123456789abcdef0123456789abcdef
"""
TEXT = "schema: '2.0'\nstages:\n" + "".join(ENTRY.format(name=name) for name in ("one", "two", "three"))


@pytest.fixture
def lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "dvc.lock"
    path.write_text(TEXT)
    return path


def test_wherever_it_was_cut_the_copy_takes_its_place(lock: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lock_copy.keep()
    for cut in range(len(TEXT)):
        if TEXT[:cut].endswith("\n"):
            continue  # whole lines: what is missing looks like stages that were never run
        lock.write_text(TEXT[:cut])
        lock_copy.mend()
        assert lock.read_text() == TEXT, repr(TEXT[:cut])
        assert capsys.readouterr().err.startswith("dvc.lock: was cut short")


def test_a_cut_one_is_not_copied_and_without_a_copy_it_goes(lock: Path) -> None:
    lock.write_text(TEXT[:-9])
    lock_copy.keep()
    assert not lock_copy.COPY.exists()
    lock_copy.mend()
    assert not lock.exists() and read_lock() == {}
    lock_copy.mend()
    assert not lock.exists(), "nothing to mend"


@pytest.mark.parametrize("text", [TEXT, "<<<<<<< HEAD\n" + TEXT])
def test_a_whole_one_stays_and_one_with_a_merge_conflict(lock: Path, text: str) -> None:
    lock_copy.keep()
    lock.write_text(text)
    before = lock.stat().st_mtime_ns
    lock_copy.mend()
    assert lock.read_text() == text and lock.stat().st_mtime_ns == before
