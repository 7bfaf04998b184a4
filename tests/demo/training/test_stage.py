"""The stage as dvc.yaml declares it: the model folder."""

from pathlib import Path

import pytest
import yaml

from stages.train import main
from vouch.pipeline.dag import read_dag
from vouch.pipeline.run import Run
from vouch.tables.answered import folder_digests

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


def test_what_is_trained_and_trained_again(run: Run) -> None:
    main(run)
    folder = Path("data/trained/tiny_a")
    assert {"model.safetensors", "config.json", "tokenizer.json", "processor_config.json"} <= set(
        folder_digests(folder)
    )
    from transformers import AutoModelForImageTextToText

    assert AutoModelForImageTextToText.from_pretrained(folder).num_parameters() > 0
    assert run.notes["steps"] == 3 and 0 <= run.notes["dev_accuracy"] <= 1
    assert 0 <= run.notes["dev_pair_accuracy"] <= 1
    first = folder_digests(folder)
    (folder / "left_over.txt").write_text("from an earlier run")
    main(run)
    assert folder_digests(folder) == first


def test_shipped_profiles_have_valid_models() -> None:
    from vouch.demo.config import Config

    for profile in sorted((ROOT / "profiles").glob("*.yaml")):
        for settings in yaml.safe_load(profile.read_text("utf-8"))["train"].values():
            Config.model_validate(settings)
