"""The stage as dvc.yaml declares it: the model folder and its pin."""

import json
from pathlib import Path

import pytest
import yaml

from stages.train import main
from vouch.pipeline.dag import read_dag
from vouch.pipeline.stage import Run
from vouch.tables.pins import folder_digests, pin_path, read_pin

ROOT = Path(__file__).parents[3]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The first model of the small profile, in a project folder of its own."""
    for name in ("dvc.yaml", "models.lock"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    (tmp_path / "params.yaml").write_bytes((ROOT / "profiles/small.yaml").read_bytes())
    monkeypatch.chdir(tmp_path)
    dag = read_dag()
    return Run(dag, dag.by_command("python -m stages.train tiny_a"), ["tiny_a"])


def test_folder_and_pin(run: Run, tmp_path: Path) -> None:
    main(run)
    pin = read_pin(pin_path("tiny_a"))
    assert (pin.model, pin.engine, pin.dtype) == ("tiny_a", "transformers", "float32")
    assert (pin.source.kind, pin.source.path) == ("zoo", "data/models/tiny_a")
    assert pin.files == folder_digests(Path("data/models/tiny_a"))
    assert {"model.safetensors", "config.json", "tokenizer.json", "processor_config.json"} <= pin.files.keys()
    from transformers import AutoModelForImageTextToText

    model = AutoModelForImageTextToText.from_pretrained("data/models/tiny_a")
    assert pin.parameters == sum(weight.numel() for weight in model.parameters())
    assert run.notes["steps"] == 3 and 0 <= run.notes["dev_accuracy"] <= 1
    assert 0 <= run.notes["dev_pair_accuracy"] <= 1 and pin.facts["family"] == "vouch-zoo"
    assert sorted(path.name for path in Path("data/models").iterdir()) == ["tiny_a", "tiny_a.json"]


def test_a_second_run_writes_the_same_bytes(run: Run) -> None:
    main(run)
    first = pin_path("tiny_a").read_bytes()
    Path("data/models/tiny_a/left_over.txt").write_text("from an earlier run")
    main(run)
    assert pin_path("tiny_a").read_bytes() == first
    assert str(Path.cwd()) not in json.dumps(read_pin(pin_path("tiny_a")).model_dump())


def test_shipped_profiles_have_valid_models() -> None:
    from vouch.demo.training.config import Config

    for profile in sorted((ROOT / "profiles").glob("*.yaml")):
        for settings in yaml.safe_load(profile.read_text("utf-8"))["train"].values():
            Config.model_validate(settings)
