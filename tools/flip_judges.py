"""Every kind of file that is read here, and who would notice a bit flip in one (tools/flips.py)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import md5
from pathlib import Path

import pyarrow as pa

from tools.simulated import tables
from vouch.models.decoder.self_check import known_mode
from vouch.models.loading import pinned_folder
from vouch.models.work_cache import ROOT, WorkCache
from vouch.pipeline.dag import Dag, read_dag
from vouch.pipeline.digests import MEMORY, Digests
from vouch.pipeline.errors import UserError
from vouch.pipeline.records import RECEIPTS, Recorded, damaged, read_receipt
from vouch.tables.answered import Pin, read_pin

CACHE = Path(".dvc/cache/files/md5")
NOTICED, HARMLESS, HARMFUL = "noticed", "harmless", "harmful"


@dataclass(frozen=True)
class Kind:
    """A kind of file. judge(path): reads it as it is used, before the flip; what it returns does so after
    it, and says whether it noticed."""

    name: str
    paths: list[Path]
    judge: Callable[[Path], Callable[[], str]]


def kinds() -> Iterator[Kind]:
    """All kinds in the present folder."""
    dag = read_dag()
    recorded = Recorded(dag)
    outs = [Path(out) for out in dag.maker if Path(out).exists()]
    for folder in sorted({out.parts[:2] for out in outs}):
        paths = [path for out in outs if out.parts[:2] == folder for path in _files(out)]
        yield Kind("/".join(folder), paths, lambda path: _by_record(path, dag, recorded))
    tables = [path for out in outs for path in _files(out) if path.suffix == ".parquet"]
    yield Kind("tables that no record knows", tables, _by_reader)
    pins = [out for out in outs if out.parent == Path("data/models") and out.suffix == ".json"]
    pinned = [pin for pin in map(read_pin, pins) if pin.source.path]
    models = {path: pin for pin in pinned for path in _files(Path(pin.source.path or ""))}
    yield Kind("model folders, by the pin", list(models), lambda path: _by_pin(models[path]))
    yield Kind("work cache", sorted(ROOT.glob("*-*/*/*/*/*.parquet")), _by_name)
    yield Kind("modes", sorted((ROOT / "modes").glob("*.json")), _by_seal)
    receipts = {path.stem: path for path in RECEIPTS.glob("*.json")}
    own = [receipts[stage.slug] for stage in dag.stages.values() if stage.slug in receipts]
    yield Kind("receipts", own, lambda path: _by_receipt(path, dag))
    yield Kind("memory of digests", [MEMORY] if MEMORY.exists() else [], _by_memory)
    yield Kind("DVC's cache", [path for path in sorted(CACHE.glob("??/*")) if path.is_file()], _by_object)
    yield Kind("decisions", _files(Path("decisions")), _by_edit)


def _files(path: Path) -> list[Path]:
    return [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())


def _by_record(path: Path, dag: Dag, recorded: Recorded) -> Callable[[], str]:
    """As every stage and command reads it: compared with the record of who made it."""
    out = next(str(one) for one in (path, *path.parents) if str(one) in dag.maker)
    return lambda: NOTICED if list(damaged(recorded, [out], Digests())) else HARMFUL


def _by_reader(path: Path) -> Callable[[], str]:
    """The format alone: a checksum for each page, none for the footer."""
    import pyarrow.parquet as pq

    kinds = {f"{table.name}/{table.version}": table for table in tables()}
    table = kinds[pq.read_schema(path).metadata[b"vouch"].decode()]
    before = table.read(path)

    def judge() -> str:
        try:
            after = table.read(path)
        except UserError:
            return NOTICED
        return HARMLESS if _same(before, after) else HARMFUL

    return judge


def _same(before: pa.Table, after: pa.Table) -> bool:
    """Equal columns and rows; how parquet calls the elements of a list is no difference."""
    if before.column_names != after.column_names:
        return False
    return before.equals(after) or bool(before.to_pylist() == after.to_pylist())


def _by_pin(pin: Pin) -> Callable[[], str]:
    def judge() -> str:
        try:
            pinned_folder(pin)
        except UserError:
            return NOTICED
        return HARMFUL

    return judge


def _by_name(path: Path) -> Callable[[], str]:
    """A shard of the work cache that is not what its name says is left out."""
    import pyarrow.parquet as pq

    fields = pq.read_schema(path).remove(0)

    def judge() -> str:
        cache = WorkCache(path.parent, fields)
        cache.look_up(())
        return NOTICED if path.name in cache.damaged else HARMFUL

    return judge


def _by_seal(path: Path) -> Callable[[], str]:
    before = known_mode(path)
    return lambda: NOTICED if known_mode(path) is None else _unchanged(before == known_mode(path))


def _by_receipt(path: Path, dag: Dag) -> Callable[[], str]:
    stage = next(stage for stage in dag.stages.values() if stage.slug == path.stem)
    before = read_receipt(stage)
    return lambda: NOTICED if read_receipt(stage) is None else _unchanged(before == read_receipt(stage))


def _by_memory(path: Path) -> Callable[[], str]:
    before = Digests(path).known()
    return lambda: NOTICED if not Digests(path).known() else _unchanged(before == Digests(path).known())


def _by_object(path: Path) -> Callable[[], str]:
    """As `vouch store verify` reads it; DVC itself does not."""
    name = (path.parent.name + path.name)[:32]
    return lambda: HARMFUL if md5(path.read_bytes()).hexdigest() == name else NOTICED


def _by_edit(path: Path) -> Callable[[], str]:
    """What people write has no other record than version control: a flip is an edit, and both show it."""
    before = Digests().of(str(path.parent), anew=True)
    return lambda: HARMFUL if Digests().of(str(path.parent), anew=True) == before else NOTICED


def _unchanged(same: bool) -> str:
    return HARMLESS if same else HARMFUL
