"""A project in which every stage has left its outputs and its receipt: a few random rows in every table."""

import random
from pathlib import Path

import pyarrow as pa

from tools.simulated import write
from vouch.models.decoder.self_check import keep_mode
from vouch.models.work_cache import ROOT, WorkCache
from vouch.pipeline.dag import Dag, is_folder, read_dag
from vouch.pipeline.digests import Digests
from vouch.pipeline.records import as_read, present, write_receipt

CHECKOUT = Path(__file__).parents[2]
ROWS = 5


def make(folder: Path) -> Dag:
    """Writes it; the present folder is `folder`."""
    for name in ("stages", "vouch", "docs", "dvc.yaml", "models.lock"):
        (folder / name).symlink_to(CHECKOUT / name)
    (folder / "params.yaml").write_bytes((CHECKOUT / "profiles/small.yaml").read_bytes())
    (folder / "decisions/rewrites").mkdir(parents=True)
    (folder / "decisions/exchange").mkdir()
    (folder / "decisions/rewrites/left.csv").write_text("question,kind,decision,text\nWhat?,ls_n,accept,\n")
    dag, dice = read_dag(), random.Random(3)
    for out in sorted(dag.maker, key=lambda out: not is_folder(out)):  # a pin names its folder's files
        write(Path(out), ROWS)
    cache = WorkCache(ROOT / "letters-2/engine-1/asked/left", pa.schema([("logits", pa.list_(pa.float32()))]))
    cache.add(dice.randbytes(32), {"logits": [0.5, 1.5]})
    cache.flush()
    keep_mode(ROOT / "modes/model-1.json", ("trie", {"in": "float32"}))
    digests = Digests()
    for stage in dag.stages.values():
        write_receipt(stage, as_read(stage, present(stage, digests), digests))
    digests.save()
    return dag
