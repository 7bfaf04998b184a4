"""Released logits, from source to responses: those of VLM-Uncertainty-Bench, and hand-made ones."""

import math
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stages.prepare import main as prepare
from stages.vary import main as vary
from tests.refusals import refused
from vouch.models.pins import pinned
from vouch.models.released import logits
from vouch.models.released.answers import write_released
from vouch.models.released.files import answer_files, form_of
from vouch.pipeline.dag import Dag, Stage
from vouch.pipeline.run import Run
from vouch.tables.answered import LIKELIHOOD, TEXT, Source, letters_path, likelihood_path, text_path
from vouch.tables.asked import PROMPTS, REWRITES, prompts_path, rewrites_path
from vouch.tables.results import model_slug

TEMPLATES = Path(__file__).resolve().parents[3] / "vouch" / "prompts" / "templates"
MODELS = {"llava-v1.5-7b": np.float32, "Monkey-Chat": np.float64}


def run(body, keys, params):
    stage = Stage("toy", "python -m toy", (), (), {"params.yaml": params})
    body(Run(Dag([stage]), stage, keys))


@pytest.mark.parametrize("name", MODELS)
def test_pickle_and_parquet_are_the_same_bits(released, name):
    first = logits.parse_pickle((released / f"pickles/{name}.mmbench.pkl").read_bytes(), "x.pkl")
    second = logits.parse_parquet((released / f"logits-mmbench/{name}.parquet").read_bytes(), "x.parquet")
    assert first.ids == second.ids and len(first.ids) == 4377
    assert first.logits.dtype == second.logits.dtype == MODELS[name]
    assert first.logits.tobytes() == second.logits.tobytes()


def test_from_source_to_letters(project, released):
    shutil.copytree(TEMPLATES, "vouch/prompts/templates")
    entry = {"loader": "released", "source": str(released), "template": "kostumov", "settings": {}}
    run(prepare, ["mmbench"], {"datasets.mmbench": entry})
    REWRITES.write(rewrites_path("mmbench"), [])
    run(vary, ["mmbench"], {"datasets.mmbench": entry, "variations": ["original"], "outputs": None})
    prompts = PROMPTS.read(prompts_path("mmbench")).to_pylist()
    assert [len(prompt["options"]) for prompt in prompts].count(6) == 4360
    assert all(prompt["outputs"] == [] for prompt in prompts)
    assert prompts[0]["text"].endswith(
        "\nE. I don\u2019t know\nF. None of the above\n"
        "Answer with the option's letter from the given choices directly."
    )
    for name, dtype in MODELS.items():
        model = model_slug(name)
        write_released(pinned(model, str(released), {}), "mmbench")
        letters = pq.read_table(f"data/responses/mmbench/{model}.letters.parquet")
        source = pq.read_table(released / f"logits-mmbench/{name}.parquet")
        assert letters.column("prompt").to_pylist() == [
            f"{i}/original" for i in source.column("id").to_pylist()
        ]
        assert letters.schema.field("logits").type.value_type == pa.from_numpy_dtype(dtype)
        ours, theirs = (t.column("logits").combine_chunks().flatten().to_numpy() for t in (letters, source))
        assert ours.tobytes() == theirs.tobytes()


def layout(folder, *names):
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")


def test_where_answers_lie(tmp_path):
    """Three layouts, the first that is there; names count by their slug."""
    own, theirs, listed = (tmp_path / name for name in ("own", "theirs", "listed"))
    layout(own, "MMBench.parquet", "scienceqa.parquet", "README.md")
    assert {name: one.path for name, one in answer_files(own, "m").items()} == {
        "mmbench": own / "MMBench.parquet",
        "scienceqa": own / "scienceqa.parquet",
    }
    assert list(answer_files(own / "MMBench.parquet", "m")) == ["mmbench"]
    layout(
        theirs,
        "logits-mmbench/Yi-VL-6B.parquet",
        "pickles/Yi-VL-6B.oodcv.pkl",
        "pickles/Yi-VL-6B.mmbench.pkl",
    )
    found = answer_files(theirs, "yi_vl_6b")
    assert [one.path.name for one in found.values()] == ["Yi-VL-6B.parquet", "Yi-VL-6B.oodcv.pkl"]
    with refused(r"neither a model .* nor answers of other: .*name another folder as models\.other"):
        answer_files(theirs, "other")
    layout(listed, "a/log.jsonl", "../outside.jsonl")
    for text, said in (
        ("toy: {file: a/log.jsonl, form: lm_eval}", None),
        ("toy: {file: ../outside.jsonl, form: lm_eval}", "leads out of the folder"),
        ("toy: {file: a/none.jsonl, form: lm_eval}", "no such file"),
        ("toy: {file: a/log.jsonl, forms: lm_eval}", "unknown key toy.forms"),
        ("toy: {file: a/log.jsonl}", "lm_eval and lmms_eval write such files"),
    ):
        (listed / "answers.yaml").write_text(text, "utf-8")
        if said is None:
            assert answer_files(listed, "m")["toy"].form == "lm_eval"
        else:
            with refused(said):
                answer_files(listed, "m")


def test_a_file_that_changes_after_it_was_pinned_is_refused(project):
    path = project.parquet([5, 3, 9], [[0.0, 1.0, 2.0, 3.0]] * 3)
    path.rename("toy.parquet")
    pin = pinned("m", ".", {})
    assert write_released(pin, "toy") == 3 and write_released(pin, "toy") == 3
    Path("toy.parquet").write_bytes(Path("toy.parquet").read_bytes() + b" ")
    with refused(r"toy\.parquet: not as pinned; .*pin@m"):
        write_released(pin, "toy")
    with refused("none: no such folder"):
        write_released(pin.model_copy(update={"source": Source(kind="released", path="none")}), "toy")


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
    "too few letters": (IDS, [row[:3] for row in LOGITS], "row 2: id 5: 3 logits, its prompt shows 4 options"),
    "argmax id behind": (IDS, [[*row, 319.0] for row in LOGITS], "appends the id of the most likely token: keep the first 4"),
    "8 letters": (IDS, [[1.0] * 8] * 3, "8 logits per row, .* show 4 options at most; give 4, or 6 for A to F"),
    "26 letters": (IDS, [[1.0] * 26] * 3, "26 logits per row, the prompts of toy show 4 options at most"),
    "27 letters": (IDS, [[1.0] * 27] * 3, "27 logits per row, more than the 26"),
    "id missing": ([9, 5], LOGITS[:2], "no logits for item 3 of toy, like 1 of its 3 items"),
    "id extra": ([9, 5, 4], LOGITS, "row 3: id 4 is no item of toy, like 1 of the file's 3 ids"),
    "id twice": ([9, 5, 9], LOGITS, "row 3: id 9 stands already in row 1"),
    "id null": ([9, None, 3], LOGITS, "row 2: id is a NoneType"),
    "id float": ([9.0, 5.0, 3.0], LOGITS, "row 1: id is a float, neither"),
    "no rows": (pa.array([], pa.int64()), [], "holds no rows"),
}  # fmt: skip


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
