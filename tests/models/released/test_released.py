"""The released logits of VLM-Uncertainty-Bench, from source to responses."""

import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stages.ingest import main as ingest
from stages.prepare import main as prepare
from stages.vary import main as vary
from vouch.models.released.forms import parquet, pickle
from vouch.pipeline.dag import Dag, Stage
from vouch.pipeline.stage import Run
from vouch.tables.prompts import PROMPTS, prompts_path
from vouch.tables.rewrites import REWRITES, rewrites_path

TEMPLATES = Path(__file__).resolve().parents[3] / "vouch" / "prompts" / "templates"
MODELS = {"llava-v1.5-7b": np.float32, "Monkey-Chat": np.float64}


def run(body, keys, params):
    stage = Stage("toy", "python -m toy", (), (), {"params.yaml": params})
    body(Run(Dag([stage]), stage, keys))


@pytest.mark.parametrize("name", MODELS)
def test_pickle_and_parquet_are_the_same_bits(released, name):
    first = pickle.parse((released / f"pickles/{name}.mmbench.pkl").read_bytes(), "x.pkl")
    second = parquet.parse((released / f"logits-mmbench/{name}.parquet").read_bytes(), "x.parquet")
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
        file = str(released / f"pickles/{name}.mmbench.pkl")
        params = {"ingest.m-mmbench": {"model": "m", "dataset": "mmbench", "file": file}}
        run(ingest, ["m", "mmbench"], params)
        letters = pq.read_table("data/responses/m/mmbench.letters.parquet")
        source = pq.read_table(released / f"logits-mmbench/{name}.parquet")
        assert letters.column("prompt").to_pylist() == [
            f"{i}/original" for i in source.column("id").to_pylist()
        ]
        assert letters.schema.field("logits").type.value_type == pa.from_numpy_dtype(dtype)
        ours, theirs = (t.column("logits").combine_chunks().flatten().to_numpy() for t in (letters, source))
        assert ours.tobytes() == theirs.tobytes()
