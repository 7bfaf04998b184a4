"""The pickle form: real rows come out bit for bit, and nothing in a file ever runs."""

import os
import pickle
import struct
import sys
import time
import tracemalloc

import numpy as np
import pytest

from tests.refusals import refused
from vouch.models.released import logits
from vouch.models.released.logits import parse_pickle

ARRAY = np.arange(4, dtype="f4")


@pytest.mark.parametrize("protocol", [3, 4])
@pytest.mark.parametrize("dtype", ["<f4", "<f8", ">f4", ">f8"])
def test_rows_come_out_bit_for_bit(rows, protocol, dtype):
    wanted = rows(dtype)
    found = parse_pickle(pickle.dumps(wanted, protocol), "x.pkl")
    assert found.ids == ("9", "5", "3")
    assert found.logits.dtype == np.dtype(dtype).newbyteorder("=")
    assert (
        found.logits.tobytes()
        == np.stack([row["logits"] for row in wanted]).astype(found.logits.dtype).tobytes()
    )


def test_names_of_older_and_newer_numpy(rows):
    data = pickle.dumps(rows(), 3)
    for module in (b"numpy.core.multiarray", b"numpy._core.multiarray"):
        named = data.replace(b"numpy._core.multiarray", b"numpy.core.multiarray").replace(
            b"numpy.core.multiarray", module
        )
        assert parse_pickle(named, "x.pkl").ids == ("9", "5", "3")


def test_many_rows_span_frames_and_batches(rows):
    many = [{**rows()[0], "id": number} for number in range(2500)]
    assert parse_pickle(pickle.dumps(many, 4), "x.pkl").ids == tuple(str(number) for number in range(2500))


def test_the_stage_reads_pickles(project, rows):
    path = project.root / "logits.pkl"
    path.write_bytes(pickle.dumps(rows("f8"), 4))
    letters = project.ingest(path)
    by_id = {str(row["id"]): row["logits"].tolist() for row in rows("f8")}
    assert letters.column("logits").to_pylist() == [by_id["5"], by_id["3"], by_id["9"]]


class Runs:
    """Unpickled with pickle.load it would make a folder."""

    def __init__(self, call, *arguments):
        self.parts = (call, arguments)

    def __reduce__(self):
        return self.parts


def binary(text: str) -> bytes:
    return b"\x8c" + bytes([len(text)]) + text.encode()


def stolen(body: bytes) -> bytes:
    """One row whose logits are what `body` leaves on the stack."""
    return b"\x80\x04]}" + b"(" + binary("id") + b"K\x05" + binary("logits") + body + b"ua."


HOSTILE = {
    "global of an absent module": stolen(b"cantigravity\nfly\n"),
    "stack global": stolen(binary("os") + binary("system") + b"\x93"),
    "global that is called": stolen(b"cos\nsystem\n" + binary("mkdir ran") + b"\x85R"),
    "builtins": stolen(b"cbuiltins\neval\n" + binary("1") + b"\x85R"),
    "numpy, but another name": stolen(b"cnumpy\nload\n" + binary("x") + b"\x85R"),
    "numpy, a name inside": stolen(b"cnumpy\nndarray.tofile\n"),
    "ndarray called": stolen(b"cnumpy\nndarray\n" + b"(K\x09t" + b"\x85R"),
    "huge array": stolen(b"cnumpy\nndarray\n" + b"J\xff\xff\xff\x7f\x85\x85R"),
    "object dtype": stolen(b"cnumpy\ndtype\n" + binary("O8") + b"\x89\x88\x87R"),
    "text as function": stolen(binary("os.system") + binary("x") + b"\x85R"),
    "inst": stolen(b"(ios\nsystem\n"),
    "obj": stolen(b"(cos\nsystem\no"),
    "newobj": stolen(b"cnumpy\nndarray\n)\x81"),
    "newobj ex": stolen(b"cnumpy\nndarray\n)}\x92"),
    "extension": stolen(b"\x82\x01"),
    "persistent id": stolen(b"Pabc\n"),
    "binary persistent id": stolen(binary("abc") + b"Q"),
    "out of band buffer": stolen(b"\x97"),
    "build on a dict": stolen(b"}}b"),
    "build on a name": stolen(b"cnumpy\nndarray\n}b"),
    "memo far away": stolen(b"K\x01r\xff\xff\xff\xff" + b"K\x02r\xfe\xff\xff\xff"),
    "memo unknown": stolen(b"h\x09"),
    "binbytes of 4 GB": stolen(b"B\xff\xff\xff\xff" + b"xx"),
    "binbytes8 of 2**63": stolen(b"\x8e" + struct.pack("<Q", 2**63 - 1) + b"xx"),
    "binunicode8 of 2**62": stolen(b"\x8d" + struct.pack("<Q", 2**62) + b"xx"),
    "bytearray8": stolen(b"\x96" + struct.pack("<Q", 2**40) + b"xx"),
    "negative long4": stolen(b"\x8b\xff\xff\xff\xff"),
    "long number": stolen(b"I" + b"9" * 10_000 + b"\n"),
    "unhashable key": b"\x80\x04]}" + b"(]K\x01ua.",
    "stack underflow": b"\x80\x04\x85.",
    "mark as value": b"\x80\x04](a.",
    "stop at once": b".",
    "only a name": b"cnumpy\nndarray\n.",
    "stop on a mark": b"(.",
    "deep lists": b"\x80\x04" + b"]" * 100_000 + b"a" * 99_999 + b".",
    "deep rows": b"\x80\x04" + (b"}" + binary("a")) * 40_000 + b"}" + b"s" * 40_000 + b".",
    "nested doubling": b"\x80\x04]" + b"2\x86" * 5000 + b".",
    "doubling logits": stolen(b")" + b"q\x00h\x00\x86" * 5000),
    "doubling id": b"\x80\x04]}(" + binary("logits") + b"N" + binary("id") + b")" + b"q\x00h\x00\x86" * 5000 + b"ua.",
    "something after the end": pickle.dumps([{"id": 5, "logits": ARRAY}], 4) + b"cos\nsystem\n.",
}  # fmt: skip

DATA_ONLY = {
    "only a name": "does not hold a list",
    "deep lists": "row 1: needs the keys",
    "deep rows": "does not hold a list",
    "doubling logits": "id 5: logits is not a numpy array",
    "doubling id": "id is a tuple",
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile(project, case):
    modules = set(sys.modules)
    path = project.root / "logits.pkl"
    path.write_bytes(HOSTILE[case])
    start = time.process_time()
    with refused(r"logits\.pkl") as caught:
        project.ingest(path)
    assert time.process_time() - start < 10
    reason = DATA_ONLY.get(case, "nothing of it was run")
    assert reason in str(caught.value)
    assert len(str(caught.value)) < 600
    assert project.written() == []
    assert "antigravity" not in set(sys.modules) - modules


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("call", [os.system, os.mkdir, eval, exec, __import__])
def test_calls_of_every_protocol(tmp_path, monkeypatch, protocol, call):
    monkeypatch.chdir(tmp_path)
    argument = {os.system: "mkdir ran", os.mkdir: "ran"}.get(call, "__import__('os').mkdir('ran')")
    for value in (Runs(call, argument), [Runs(call, argument)], [{"id": 5, "logits": Runs(call, argument)}]):
        with refused("nothing of it was run"):
            parse_pickle(pickle.dumps(value, protocol), "x.pkl")
    assert list(tmp_path.iterdir()) == []
    pickle.loads(pickle.dumps(Runs(os.mkdir, "ran")))
    assert [path.name for path in tmp_path.iterdir()] == ["ran"], "the same file would have run"


@pytest.mark.parametrize("protocol", [0, 1, 2, 5])
def test_a_protocol_that_is_not_read_is_named(rows, protocol):
    with refused(f"protocol {protocol if protocol > 1 else '0 or 1'}; 3 and 4 are read"):
        parse_pickle(pickle.dumps(rows(), protocol), "x.pkl")


@pytest.mark.parametrize("large", [2**31, -(2**31) - 1, 2**63, 2**4000])
def test_an_id_that_is_too_large_is_said_to_be(large):
    with refused("an integer, an id perhaps, beyond 2,147,483,647"):
        parse_pickle(pickle.dumps([{"id": large, "logits": ARRAY}], 4), "x.pkl")


def test_a_step_for_every_byte_is_too_many(monkeypatch):
    assert logits.MAX_STEPS * 64 < 2**29, "bytes of that many empty lists"
    monkeypatch.setattr(logits, "MAX_STEPS", 100_000)
    tracemalloc.start()
    with refused("byte 100000: more than 100,000 steps"):
        parse_pickle(b"\x80\x04]" + b"}a" * 300_000 + b".", "x.pkl")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20_000_000


def test_truncated_anywhere(rows):
    data = pickle.dumps(rows(), 4)
    parse_pickle(data, "x.pkl")
    for end in range(len(data)):
        with refused(r"x\.pkl"):
            parse_pickle(data[:end], "x.pkl")


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ([], "does not hold a list of rows"),
        ({"id": 5}, "does not hold a list of rows"),
        (ARRAY, "does not hold a list of rows"),
        ("rows", "does not hold a list of rows"),
        ([1, 2], "row 1: needs the keys id and logits, it has no keys"),
        ([{"index": 5, "logits": ARRAY}], "row 1: needs the keys id and logits, it has index, logits"),
        ([{"id": 5, "logits": ARRAY}, {"id": 6}], "row 2: needs the keys"),
        ([{"id": 5, "logits": [1.0, 2.0]}], "row 1: id 5: logits is not a numpy array"),
        ([{"id": "x" * 1001, "logits": ARRAY}], "row 1: id has 1001 characters"),
        ([{"id": 5.0, "logits": ARRAY}], "row 1: id is a float, neither"),
        ([{"id": True, "logits": ARRAY}], "row 1: id is a bool"),
        ([{"id": 5, "logits": ARRAY.reshape(2, 2)}], "row 1: id 5: logits: shape"),
        ([{"id": 5, "logits": ARRAY[:0]}], "row 1: id 5: logits: shape"),
        ([{"id": 5, "logits": np.float32(1)}], "multiarray.scalar"),
        ([{"id": 5, "logits": ARRAY.astype("f2")}], r"holds f2, not float32 \(f4\)"),
        ([{"id": 5, "logits": ARRAY.astype("i8")}], "holds i8"),
        ([{"id": 5, "logits": np.array([None])}], "holds O8"),
        ([{"id": 5, "logits": ARRAY}, {"id": 6, "logits": ARRAY[:3]}], "row 2: id 6: 3 logits of float32 where row 1 has 4"),
        ([{"id": 5, "logits": ARRAY}, {"id": 6, "logits": ARRAY.astype("f8")}], "row 2: id 6: 4 logits of float64"),
        ([{"id": 5, "logits": ARRAY}, {"id": "5", "logits": ARRAY}], "row 2: id 5 stands already in row 1"),
        ([{"id": 5, "logits": ARRAY * np.float32("nan")}], "row 1: id 5: logit 1 is nan"),
        ([{"id": 5, "logits": ARRAY, 3: 4}], "keys that are not texts"),
    ],
)  # fmt: skip
def test_not_rows_of_logits(value, reason):
    with refused(reason) as caught:
        parse_pickle(pickle.dumps(value, 4), "x.pkl")
    assert str(caught.value).startswith("x.pkl")
