"""The stage as a whole, with the parquet form."""

import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.refusals import refused
from vouch.models.released.files import form_of
from vouch.tables.answered import LIKELIHOOD, TEXT, letters_path, likelihood_path, text_path

IDS = [9, 5, 3]
LOGITS = [[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [0.1, 0.2, 0.3, 0.4]]


@pytest.mark.parametrize("value", [pa.float32(), pa.float64()])
@pytest.mark.parametrize("shape", [pa.list_, pa.large_list, lambda kind: pa.list_(kind, 4)])
def test_rows_join_by_id_and_keep_their_dtype(project, value, shape):
    letters = project.ingest(project.parquet(IDS, LOGITS, shape(value), answer=["A", "B", "C"]))
    assert letters.column("prompt").to_pylist() == ["5/original", "3/original", "9/original"]
    assert letters.schema.field("logits").type.value_type == value
    expected = pa.array([LOGITS[1], LOGITS[2], LOGITS[0]], pa.list_(value)).to_pylist()
    assert letters.column("logits").to_pylist() == expected
    rest = {
        "letter_mass": None,
        "entropy": None,
        "pixels": "",
        "engine": "released/1",
        "device": "released",
        "flags": [],
    }
    assert all({name: row[name] for name in rest} == rest for row in letters.to_pylist())
    assert LIKELIHOOD.read(likelihood_path("m", "toy")).num_rows == 0
    assert TEXT.read(text_path("m", "toy")).num_rows == 0
    assert project.rows == 3


def test_ids_may_be_texts_and_same_inputs_same_bytes(project):
    first = project.ingest(project.parquet(["9", "5", "3"], LOGITS))
    data = letters_path("m", "toy").read_bytes()
    assert first.equals(project.ingest(project.parquet(IDS, LOGITS)))
    assert letters_path("m", "toy").read_bytes() == data


def test_more_letters_than_options_are_kept(project):
    """The six of VLM-Uncertainty-Bench, which are A to F, where prompts show four at most."""
    letters = project.ingest(project.parquet(IDS, [[float(n) for n in range(6)]] * 3))
    assert letters.column("logits").to_pylist()[0] == [float(n) for n in range(6)]


def changed(row, letter, value):
    logits = [list(values) for values in LOGITS]
    logits[row][letter] = value
    return logits


BAD = {
    "NaN": (IDS, changed(1, 2, math.nan), "row 2: id 5: logit 3 is nan"),
    "infinity": (IDS, changed(2, 0, math.inf), "row 3: id 3: logit 1 is inf"),
    "null logit": (IDS, changed(1, 2, None), "row 2: id 5: a logit is null"),
    "null row": (IDS, [LOGITS[0], None, LOGITS[2]], "row 2: id 5: no logits where row 1 has 4"),
    "empty row": (IDS, [[], [], []], "row 1: id 9: no logits"),
    "short row": (IDS, [LOGITS[0], LOGITS[1], [1.0]], "row 3: id 3: 1 logits where row 1 has 4"),
    "too few letters": (
        IDS,
        [row[:3] for row in LOGITS],
        "row 2: id 5: 3 logits, its prompt shows 4 options",
    ),
    "argmax id behind": (
        IDS,
        [[*row, 319.0] for row in LOGITS],
        "appends the id of the most likely token: keep the first 4",
    ),
    "8 letters": (
        IDS,
        [[1.0] * 8] * 3,
        "8 logits per row, .* show 4 options at most; give 4, or 6 for A to F",
    ),
    "26 letters": (IDS, [[1.0] * 26] * 3, "26 logits per row, the prompts of toy show 4 options at most"),
    "27 letters": (IDS, [[1.0] * 27] * 3, "27 logits per row, more than the 26"),
    "id missing": ([9, 5], LOGITS[:2], "no logits for item 3 of toy, like 1 of its 3 items"),
    "id extra": ([9, 5, 4], LOGITS, "row 3: id 4 is no item of toy, like 1 of the file's 3 ids"),
    "id twice": ([9, 5, 9], LOGITS, "row 3: id 9 stands already in row 1"),
    "id null": ([9, None, 3], LOGITS, "row 2: id is a NoneType"),
    "id float": ([9.0, 5.0, 3.0], LOGITS, "row 1: id is a float, neither"),
    "no rows": (pa.array([], pa.int64()), [], "holds no rows"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_rows(project, case):
    ids, logits, reason = BAD[case]
    with refused(reason) as caught:
        project.ingest(project.parquet(ids, logits))
    assert "logits.parquet" in str(caught.value)
    assert project.written() == []


@pytest.mark.parametrize("kind", [pa.list_(pa.float16()), pa.list_(pa.int32()), pa.float32(), pa.string()])
def test_bad_logits_column(project, kind):
    values = {pa.float32(): [1.0] * 3, pa.string(): ["x"] * 3}.get(kind)
    if values is None:
        values = [np.array([1, 2, 3, 4], kind.value_type.to_pandas_dtype())] * 3
    with refused(r"column logits holds .*, not lists of float32 or float64"):
        project.ingest(project.parquet(IDS, values, kind))


def test_bad_files(project):
    path = project.parquet(IDS, LOGITS)
    whole = path.read_bytes()
    for data in (b"", b"PAR1", whole[: len(whole) // 2], whole[:40] + b"\xff" * 60 + whole[100:]):
        path.write_bytes(data)
        with refused(r"logits\.parquet: not readable as parquet"):
            project.ingest(path)
    pq.write_table(pa.table({"index": IDS, "logits": LOGITS}), path)
    with refused("needs one column id, it has index, logits"):
        project.ingest(path)
    with refused(r"nowhere\.parquet: no such file; restore it, or correct answers\.yaml"):
        project.ingest("nowhere.parquet")
    (project.root / "folder.parquet").mkdir()
    with refused("no such file"):
        project.ingest("folder.parquet")
    with refused(r"ending in \.xls are not read; valid: .*\.parquet.*\.pkl|\.pkl.*\.parquet"):
        project.ingest("logits.xls")
    assert project.written() == []


def test_a_small_file_cannot_unpack_to_a_large_one(project, monkeypatch):
    count = 300_000
    monkeypatch.setattr("vouch.models.released.logits.MAX_ROWS", count - 1)
    path = project.parquet(np.zeros(count, np.int64), [[0.0]] * count)
    assert path.stat().st_size < 20_000
    with refused("300,000 rows"):
        project.ingest(path)


def test_prompts_without_the_original(project):
    project.prompts({"5": 4, "3": 3, "9": 4}, "rotated")
    with refused("toy has no prompts of variation original"):
        project.ingest(project.parquet(IDS, LOGITS))


def test_a_form_for_each_suffix(tmp_path):
    for suffix in (".parquet", ".pkl", ".pickle"):
        assert form_of(tmp_path / f"x{suffix}")[1].holds == "logits"
    for name in ("lm_eval", "lmms_eval"):
        assert form_of(tmp_path / "x.jsonl", name)[0] == name
    for name in ("x.jsonl", "x.jsonl.gz"):
        with refused(r"lm_eval and lmms_eval write such files; .* form: lm_eval"):
            form_of(tmp_path / name)
    with refused(r"unknown form lmeval; did you mean lm_eval\?"):
        form_of(tmp_path / "x.jsonl", "lmeval")


def test_keys_of_other_forms_are_refused(project):
    for name, what in (
        ("key", "logs of samples and tables"),
        ("filter", "logs of samples"),
        ("text", "tables"),
    ):
        with refused(f"{name} is for {what} only; leave it out of answers"):
            project.ingest(project.parquet(IDS, LOGITS), **{name: "x"})
