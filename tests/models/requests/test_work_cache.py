"""The store of answers: what it keeps, what it refuses, and who may write."""

import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.refusals import refused
from vouch.models import work_cache
from vouch.models.work_cache import WorkCache

FIELDS = pa.schema([("logits", pa.list_(pa.float32())), ("device", pa.string())])


@pytest.fixture
def tmp_path(tmp_path: Path) -> Path:
    """A dataset's folder among its model's, as extract lays them out."""
    folder = tmp_path / "quiz"
    folder.mkdir()
    return folder


def key(name: str) -> bytes:
    return sha256(name.encode()).digest()


def answer(number: int) -> dict[str, Any]:
    return {"logits": [float(number), 0.1], "device": "cpu"}


def filled(folder: Path, numbers: range) -> WorkCache:
    cache = WorkCache(folder, FIELDS)
    for number in numbers:
        cache.add(key(f"k{number}"), answer(number))
    cache.flush()
    return cache


def opened(folder: Path, *keys: str) -> WorkCache:
    cache = WorkCache(folder, FIELDS)
    cache.look_up({key(name) for name in keys})
    return cache


def test_answers_come_back_in_the_order_asked(tmp_path: Path) -> None:
    filled(tmp_path, range(0, 5))
    filled(tmp_path, range(5, 9))
    cache = opened(tmp_path, "k7", "k0", "k3", "k99")
    assert key("k7") in cache and key("k99") not in cache and key("k1") not in cache
    rows = cache.fetch([key("k7"), key("k0"), key("k3"), key("k7")])
    assert [row["logits"][0] for row in rows] == [7.0, 0.0, 3.0, 7.0]
    assert rows[0]["logits"][1] == pytest.approx(0.1) and rows[0].keys() == {"logits", "device"}


def test_answers_of_a_sibling_folder_are_found_and_its_claim_is_its_own(tmp_path: Path) -> None:
    sibling = tmp_path.parent / "other"
    filled(sibling, range(2))
    cache = opened(tmp_path, "k1")
    assert cache.fetch([key("k1")])[0]["logits"][0] == 1.0
    with WorkCache(sibling, FIELDS).claim(patience=0.2), cache.claim(patience=0.2):
        assert (tmp_path / ".lock").exists() and (sibling / ".lock").exists()


def test_answers_of_a_refused_device_are_unknown(tmp_path: Path) -> None:
    filled(tmp_path, range(2))
    cache = WorkCache(tmp_path, FIELDS, excluded_devices=("cpu",))
    cache.add(key("k1"), answer(5) | {"device": "cuda"})
    cache.flush()
    cache.look_up({key("k0"), key("k1")})
    assert key("k0") not in cache and cache.fetch([key("k1")])[0]["logits"][0] == 5.0


def test_a_killed_run_loses_less_than_one_shard(tmp_path: Path) -> None:
    cache = WorkCache(tmp_path, FIELDS)
    count = 3 * work_cache.FLUSH_ANSWERS - 1
    for number in range(count):
        cache.add(key(f"k{number}"), answer(number))
    found = opened(tmp_path, *(f"k{number}" for number in range(count)))
    assert sum(key(f"k{number}") in found for number in range(count)) == 2 * work_cache.FLUSH_ANSWERS


def test_slow_answers_are_flushed_by_time(tmp_path: Path) -> None:
    now = 100.0
    cache = WorkCache(tmp_path, FIELDS, clock=lambda: now)
    now += 3 * work_cache.FLUSH_SECONDS  # time in which no answer came does not count
    cache.add(key("k1"), answer(1))
    now += 0.9 * work_cache.FLUSH_SECONDS
    cache.add(key("k2"), answer(2))
    assert key("k1") not in opened(tmp_path, "k1")
    now += 0.1 * work_cache.FLUSH_SECONDS
    cache.add(key("k3"), answer(3))
    assert all(key(name) in opened(tmp_path, name) for name in ("k1", "k2", "k3"))


@pytest.mark.parametrize("sibling", ["a-sibling", "z-sibling"])
def test_an_own_answer_is_not_replaced_by_a_later_one_of_a_sibling(tmp_path: Path, sibling: str) -> None:
    for folder, number in [(tmp_path, 1), (tmp_path.parent / sibling, 2)]:
        cache = WorkCache(folder, FIELDS)
        cache.add(key("k"), answer(number))
        cache.flush()
    assert opened(tmp_path, "k").fetch([key("k")])[0]["logits"][0] == 1.0


def test_a_flipped_bit_anywhere_is_seen(tmp_path: Path) -> None:
    filled(tmp_path, range(0, 3))
    (shard,) = tmp_path.glob("*.parquet")
    whole = shard.read_bytes()
    for place in range(0, len(whole), 7):
        shard.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert opened(tmp_path, "k0").damaged, place
    shard.write_bytes(whole)
    assert key("k0") in opened(tmp_path, "k0")


@pytest.mark.parametrize("damage", ["cut", "empty", "other columns"])
def test_damaged_shards_are_left_out(tmp_path: Path, damage: str) -> None:
    filled(tmp_path, range(0, 3))
    (shard,) = tmp_path.glob("*.parquet")
    data = shard.read_bytes()
    shard.write_bytes({"cut": data[:-7], "empty": b""}.get(damage, data))
    if damage == "other columns":
        shard.unlink()
        other = WorkCache(tmp_path, pa.schema([("device", pa.string())]))
        other.add(key("k0"), {"device": "cpu"})
        other.flush()
    filled(tmp_path, range(3, 5))
    cache = opened(tmp_path, "k0", "k3")
    assert key("k0") not in cache and key("k3") in cache and len(cache.damaged) == 1


def test_what_cannot_be_read_is_not_taken_for_damaged(tmp_path: Path) -> None:
    """Nobody asks a model again because a file system was away, or may not be read by this user."""
    filled(tmp_path, range(0, 3))
    (shard,) = tmp_path.glob("*.parquet")
    shard.unlink()
    shard.symlink_to(shard.name)  # root may read everything else
    with pytest.raises(OSError, match=shard.name):
        opened(tmp_path, "k0")


def test_damage_after_looking_up_is_no_answer(tmp_path: Path) -> None:
    cache = filled(tmp_path, range(2))
    (shard,) = tmp_path.glob("*.parquet")
    shard.write_bytes(b"")
    with refused("damaged while in use"):
        cache.fetch([key("k1")])


HOLDER = """
import sys, time
from pathlib import Path
import pyarrow as pa
from vouch.models.work_cache import WorkCache
with WorkCache(Path(sys.argv[1]), pa.schema([])).claim():
    print("held", flush=True)
    time.sleep(60)
"""


def test_second_run_waits_and_a_killed_one_lets_go(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    root = Path(__file__).parents[3]
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)], cwd=root, stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        cache = WorkCache(tmp_path, FIELDS)
        with (
            refused(r"another run \(process \d+ on .*\) has been asking this model"),
            cache.claim(patience=0.2),
        ):
            pytest.fail("two runs hold one folder")
        assert capfd.readouterr().err.count("waiting for it") == 1
    finally:
        holder.kill()
        holder.communicate()
    (tmp_path / ".torn.parquet.1.part").write_bytes(b"half")
    with cache.claim(patience=5):
        assert not list(tmp_path.glob(".*.part"))
