"""The weights that the repository stores are those of its own training code: `make demo` must not train again."""

from pathlib import Path

from dvc.repo import Repo

ROOT = Path(__file__).parents[3]


def test_dvc_lock_knows_the_training_code_as_it_is() -> None:
    """Red after an edit of vouch/demo: train again, or `dvc commit -f train` where the scenes and steps are the same."""
    trained = [stage for stage in Repo(str(ROOT)).index.stages if stage.addressing.startswith("train@")]
    assert len(trained) >= 4
    changed = {
        stage.addressing: status for stage in trained for dep in stage.deps if (status := dep.status())
    }
    assert not changed, changed
