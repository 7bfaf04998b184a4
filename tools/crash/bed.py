"""Checkouts in which a stage still has to run."""

import shutil
from pathlib import Path

from ruamel.yaml import YAML

from tests.checkouts.checkout import Checkout
from tests.checkouts.small import small
from vouch.pipeline.dag import Stage, read_dag
from vouch.pipeline.freshness import receipt_path

COMMANDS = {"dvc": ["dvc", "repro"], "snakemake": ["snakemake", "--cores", "2"]}


def reference(folder: Path) -> Checkout:
    """The undisturbed run: made by DVC where it is not there yet."""
    done = folder / "done"
    if done.exists():
        return Checkout.at(folder / "one")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    checkout = Checkout(folder / "one")
    # one dataset, of more answers than a shard of the work cache has, and one model
    (checkout.path / "params.yaml").write_text(small(train=["tiny_a"], datasets={"left": None}), "utf-8")
    checkout.set("datasets.left.settings.items", 300)
    checkout.commit("start")
    checkout.dvc("repro")
    checkout.store("sync")
    done.touch()
    return checkout


def stages(checkout: Checkout) -> list[str]:
    """Names of its stages, in the order in which they run."""
    return [stage.name for stage in read_dag(checkout.path).ordered()]


def undone(made: Checkout, place: Path, name: str) -> tuple[Checkout, Stage]:
    """A copy in which a stage has never run: no outputs, no records, no answers of a model."""
    checkout = made.copy(place)
    stage = read_dag(place)[name]
    for out in stage.outs:
        path = place / out
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    (place / receipt_path(stage)).unlink()
    _forget(place / "dvc.lock", name)
    shutil.rmtree(place / ".dvc/cache/runs", ignore_errors=True)
    if name.startswith("extract"):
        shutil.rmtree(place / ".vouch/work")
    return checkout, stage


def _forget(lock: Path, name: str) -> None:
    yaml = YAML()
    content = yaml.load(lock.read_text("utf-8"))
    del content["stages"][name]
    with lock.open("w", encoding="utf-8") as handle:
        yaml.dump(content, handle)
