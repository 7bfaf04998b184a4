"""A dvc.lock that DVC was killed in the middle of writing."""

import re
from pathlib import Path

import pytest
from dvc.lock import make_lock
from dvc.schema import COMPILED_LOCKFILE_SCHEMA

from vouch.pipeline import mending
from vouch.pipeline.freshness import read_lock
from vouch.pipeline.yaml12 import load

ENTRY = """  {name}:
    cmd: python -m stages.{name}
    deps:
    - path: params.yaml
      md5: 0123456789abcdef0123456789abcdef
    params:
      params.yaml:
        seed: 1
    outs:
    - path: data/{name}.parquet
      md5: 0123456789abcdef0123456789abcdef
"""
STAGES = ("one", "two@a-b", "three")
TEXT = "schema: '2.0'\nstages:\n" + "".join(ENTRY.format(name=name) for name in STAGES)


@pytest.fixture
def lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "dvc.lock"
    path.write_text(TEXT)
    return path


def test_wherever_it_was_cut_the_copy_takes_its_place(lock: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mending.keep()
    for cut in sorted({*range(0, len(TEXT), 11), *(end.end() for end in re.finditer(r"\n", TEXT[:-1]))}):
        lock.write_text(TEXT[:cut])
        mending.mend()
        said = capsys.readouterr().err
        if re.search(r"[^:]\n$", TEXT[:cut]):  # what is missing looks like stages that were never run
            assert lock.read_text() == TEXT[:cut] and said == ""
            COMPILED_LOCKFILE_SCHEMA(load(lock))  # DVC takes it
        else:
            assert lock.read_text() == TEXT, repr(TEXT[:cut])
            assert said == "dvc.lock: was cut short; its copy of the last run stands in its place\n"


def test_after_an_engine_one_that_lost_stages_was_cut_too(lock: Path) -> None:
    mending.keep()
    first, new = TEXT[: TEXT.index("  three:")], ENTRY.format(name="four")
    for text, expected in (
        (first, TEXT),
        (TEXT + new, TEXT + new),
        (TEXT.replace("seed: 1", "seed: 2"), TEXT.replace("seed: 1", "seed: 2")),
        (first + new, first + new),  # no engine did that
    ):
        lock.write_text(text)
        mending.mend(since_copy=True)
        assert lock.read_text() == expected


def test_a_cut_one_is_not_copied_and_without_a_copy_it_goes(lock: Path) -> None:
    lock.write_text(TEXT[:-9])
    mending.keep()
    assert not mending.COPY.exists()
    mending.mend()
    assert not lock.exists() and read_lock() == {}
    mending.mend()
    assert not lock.exists(), "nothing to mend"
    assert mending.REPLACED.read_text() == TEXT[:-9], "for who had written it so"


def test_what_a_loss_of_power_left_of_it_is_no_other_file(lock: Path) -> None:
    mending.keep()
    for left in ("", "\0" * 900, TEXT[:60] + "\0" * 900, "sch" + "\0" * 9):
        lock.write_text(left)
        mending.keep()
        mending.mend()
        assert lock.read_text() == TEXT


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        "<<<<<<< HEAD\n" + TEXT,
        "=======\n" + TEXT + ">>>>>>> other\n",
        "schema: '2.0'\nstages: {}\n",
        TEXT + "datasets:\n- name: one\n",
        "# by hand\n" + TEXT,
        "---\n" + TEXT[:-1],
        "\ufeff" + TEXT,
        TEXT.replace("schema: '2.0'\n", "") + "schema: '2.0'\n",
        "\x89PNG\n",
    ],
)
def test_a_whole_one_stays_and_one_with_a_merge_conflict(lock: Path, text: str) -> None:
    mending.keep()
    lock.write_text(text)
    before = lock.stat().st_mtime_ns
    mending.mend()
    assert lock.read_text() == text and lock.stat().st_mtime_ns == before


def test_a_book_that_was_cut_short_goes(lock: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mending.BOOK.parent.mkdir(parents=True)
    for text in ("", '{"write": {"', "[" * 100_000):
        mending.BOOK.write_text(text)
        assert mending.at_work() == set()
        mending.mend()
        assert not mending.BOOK.exists() and "rwlock: was cut short" in capsys.readouterr().err
    mending.BOOK.write_text('{"write": {"data": {"pid": 7, "cmd": "dvc repro"}}}')
    mending.mend()
    assert mending.at_work() == {7}


@pytest.mark.parametrize("hardlink_lock", [False, True])
def test_dvc_has_its_locks_back_whichever_kind_it_uses(lock: Path, hardlink_lock: bool) -> None:
    """With hardlinks, a lock file that is there is held."""
    folder = mending.BOOK.parent
    folder.mkdir(parents=True)
    locks = [
        make_lock(str(folder / name), tmp_dir=str(folder), hardlink_lock=hardlink_lock)
        for name in ("lock", "rwlock.lock")
    ]
    for _ in range(2):
        lock.write_text(TEXT[:-1])
        mending.BOOK.write_text("{")
        mending.mend()
        for one in locks:
            with one:
                assert one.is_locked
