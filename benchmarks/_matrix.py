"""A checkout of the full matrix, every stage of it fresh: its outputs are simulated, in their real contracts.

Tables hold a few rows of made-up values, different in every file; folders and pins one small file. Nothing
was run: the receipts say what stages that made these files would say.
"""

from contextlib import chdir
from pathlib import Path

from tests.checkouts.checkout import Checkout
from tests.checkouts.small import small
from tools.scale import VARIATIONS
from tools.simulated import write
from vouch.pipeline.dag import read_dag
from vouch.pipeline.digests import Digests
from vouch.pipeline.records import as_read, present, write_receipt
from vouch.pipeline.yaml12 import load

ROWS = 48


def matrix(path: Path, models: int, datasets: int) -> Checkout:
    """A checkout with so many models of the hub and datasets; nothing is recorded in dvc.lock yet."""
    checkout = Checkout(path)
    locked = load(path / "models.lock")["models"]
    names = [name for name, entry in locked.items() if entry["source"]["kind"] == "hub"][:models]
    settings = {"seed": 0, "items": 100}
    one = {"loader": "shapes", "source": "vouch/demo/scenes", "template": "kostumov", "settings": settings}
    entries = {f"set_{number:02d}": one for number in range(datasets)}
    sources = dict.fromkeys(names, "models.lock")
    text = small(train=(), models=sources, datasets=entries, variations=VARIATIONS, profile="matrix")
    (path / "params.yaml").write_text(text, "utf-8")
    checkout.commit("the full matrix")
    with chdir(path):
        _simulate()
    return checkout


def _simulate() -> None:
    """Writes every output of the checkout in the working directory, and the receipts."""
    dag, digests = read_dag(), Digests()
    for stage in dag.ordered():
        for out in stage.outs:
            write(Path(out), ROWS)
        write_receipt(stage, as_read(stage, present(stage, digests), digests))
    digests.save()
