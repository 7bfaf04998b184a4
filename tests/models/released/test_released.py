"""The released logits of VLM-Uncertainty-Bench, from source to responses."""

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
from vouch.models.released.files import answer_files
from vouch.pipeline.dag import Dag, Stage
from vouch.pipeline.run import Run
from vouch.tables.answered import Source
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
    second = logits.parse_pickle((released / f"logits-mmbench/{name}.parquet").read_bytes(), "x.parquet")
    assert first.ids == second.ids and len(first.ids) == 4377
    assert first.logits.dtype == second.logits.dtype == MODELS[name]
    assert first.logits.tobytes() == second.logits.tobytes()


def test_from_source_to_letters(project, released):
    shutil.copytree(TEMPLATES, "vouch/prompts/templates")
    entry = {"loader": "released", "source": str(released), "template": "kostumov", "settings": {}}
    run(prepare, ["mmbench"], {"datasets.mmbench": entry})
    REWRITES.write(rewrites_path("mmbench"), [])
    run(vary, ["mmbench"], {"datasets.mmbench": entry, "variations": ["original"]})
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
    with refused(r"neither a model .* nor answers of other: .*correct models\.other"):
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
