"""The records of a stage: dvc.lock, its receipt, and the records of its run.

dvc.lock is DVC's. Every stage writes its receipt when it has finished, whichever runner started it.
dvc.lock passes through git, where two branches can merge into an entry that no run has made, so the run
record among the stage's outputs must not contradict it (state.py).

DVC knows only whole files and folders. If a stage reads a part of an input (`meta.reads` of dvc.yaml: its
entry of models.lock, its dataset's file of decisions), the receipt and the run record hold that part.

data/runs/STAGE.json, the run record, is an output, so it holds nothing that differs between two runs of the
same inputs, code and versions: no time, machine, path, and no count of answers that happened to be known
already. It holds the parameters and digests of the inputs. If two branches ran a stage with different ones,
the record's own digest in dvc.lock differs between them, and git reports a conflict: it does not merge two
runs into one that never was. Nothing depends on .vouch/runs/STAGE.json, which has the rest; git ignores it.

DVC, Snakemake and `Digests` judge by sizes and times which files need to be read again. A bit that flips on
the disk changes neither, and DVC does not check its cache. So a stage reads its inputs anew and compares them
with these records before it uses them, and so does a command that shows numbers.
"""

import functools
import hashlib
import json
import os
import platform
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from vouch.pipeline.dag import CODE, DEFINITION, PARAMS, Dag, Stage, is_folder, read_dag
from vouch.pipeline.digests import Digests, Moment
from vouch.pipeline.errors import UserError
from vouch.pipeline.files import sealed, unsealed, write_json
from vouch.pipeline.yaml12 import load, loads

Params = Mapping[str, Mapping[str, Any]]
_OUTPUTS, _LOCAL = "data/runs/", Path(".vouch/runs")
_LIBRARIES = (  # whose versions can change an output
    "numpy",
    "pandas",
    "scipy",
    "pyarrow",
    "pillow",
    "torch",
    "transformers",
    "tokenizers",
    "accelerate",
    "openai",
    "vl-convert-python",
    "jinja2",
)


def run_record(stage: Stage) -> Path | None:
    """The run record among a stage's outputs; None if there is none."""
    return next((Path(out) for out in stage.outs if out.startswith(_OUTPUTS)), None)


def local_record(stage: Stage) -> Path:
    """The file with the time and machine of a stage's last run on this machine."""
    return _LOCAL / f"{stage.slug}.json"


def made_from(params: Params, deps: Mapping[str, str | None]) -> dict[str, Any]:
    """The part of a run record about parameters and inputs. deps: digests; those of code are left out."""
    inputs = {dep: digest for dep, digest in deps.items() if not dep.startswith(CODE)}
    values: dict[str, Any] = json.loads(json.dumps({"params": params, "inputs": inputs}))
    return values


def write_records(
    stage: Stage,
    params: Params,
    deps: Mapping[str, str | None],
    notes: Mapping[str, Any],
    measured: Mapping[str, Any],
    times: Mapping[str, Any],
) -> None:
    """Writes both records of a run.

    params: those that were read. deps: digests of the inputs that were read. notes: from `Run.note`.
    measured: from `Run.measure`.
    """
    made = {"stage": stage.name, "python": platform.python_version(), "versions": versions(), "notes": notes}
    if path := run_record(stage):
        write_json(path, made | made_from(params, deps))
    machine = {"system": f"{platform.system()} {platform.machine()}", "byte_order": sys.byteorder}
    write_json(local_record(stage), {"stage": stage.name, **times, **machine, "measured": measured})


def versions() -> dict[str, str]:
    """Versions of the installed libraries that can change an output."""
    from importlib import metadata  # loads the parser of e-mail headers, which commands do without

    found = {}
    for name in _LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


LOCK = Path("dvc.lock")
CONFLICT = b"<<<<<<< "  # git's mark of a merge conflict
_HEAD = b"schema:"
DIGEST = re.compile(r"[0-9a-f]{32}(\.dir)?")
"""The digest of a file, or of a folder's list of files. DVC's cache and remotes name their objects by it."""
_LAST = re.compile(rb"\n {6}(md5|size|nfiles|isexec): \S+\n\Z")
_NOT_RECORDS = (AttributeError, KeyError, TypeError, ValueError, UserError)
RECEIPTS = Path(".vouch/receipts")


@dataclass(frozen=True)
class StageRecord:
    """A stage's command, inputs and outputs (path -> digest), and parameters as in dvc.yaml."""

    cmd: str
    params: Mapping[str, Mapping[str, Any]]
    deps: Mapping[str, str | None]
    outs: Mapping[str, str | None]


def present(stage: Stage, digests: Digests | Moment) -> StageRecord:
    """The record that the current files would give."""
    return StageRecord(
        cmd=stage.cmd,
        params={file: dict(values) for file, values in stage.params.items()},
        deps={dep: digests.of(dep) for dep in stage.deps},
        outs={out: digests.of(out) for out in stage.outs},
    )


def as_read(stage: Stage, record: StageRecord, digests: Digests | Moment) -> StageRecord:
    """The record with only what the stage reads: of some inputs just a part, or nothing."""
    if idle := _without(stage, record):
        return idle
    deps: dict[str, str | None] = {}
    for dep, digest in record.deps.items():
        parts = stage.reads.get(dep)
        if parts is None:
            deps[dep] = digest
        elif is_folder(dep):
            deps |= {f"{dep}/{name}": digests.of(f"{dep}/{name}") for name in parts}
        else:
            entries = _entries(dep, digest)
            deps |= {f"{dep}: {key}": _value_digest(_value(entries, key)) for key in _named(stage, parts)}
    return replace(record, params=stage.read_params, deps=deps)


def _without(stage: Stage, record: StageRecord) -> StageRecord | None:
    """The rest of the record if a parameter of `meta.without` is empty; None if none is."""
    for key, kept in stage.without.items():
        if not _value(stage.params.get(PARAMS, {}), key):
            return replace(record, params={}, deps={dep: record.deps.get(dep) for dep in kept})
    return None


def _named(stage: Stage, keys: Sequence[str]) -> Iterator[str]:
    """Keys of a YAML file; `*` is replaced by each of the names in params.yaml."""
    for key in keys:
        parent, last = key.rpartition(".")[::2]
        names = sorted(stage.params[PARAMS][parent]) if last == "*" else [last]
        yield from (f"{parent}.{name}" for name in names)


@functools.lru_cache(maxsize=4)
def _entries(path: str, _digest: str | None) -> Any:
    """The content of a YAML file as it was when it had this digest."""
    return load(Path(path)) if _digest else {}


def _value(values: Any, key: str) -> Any:
    """The value at a dotted key, or None."""
    for name in key.split("."):
        values = values.get(name) if isinstance(values, Mapping) else None
    return values


def _value_digest(value: Any) -> str | None:
    text = json.dumps(value, sort_keys=True)
    return None if value is None else hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def read_whole(stage: Stage, record: StageRecord) -> StageRecord:
    """A record of DVC without the inputs that the stage reads only in part."""
    if idle := _without(stage, record):
        return idle
    params = {
        file: {key: value for key, value in values.items() if key not in stage.reads}
        for file, values in record.params.items()
    }
    deps = {dep: digest for dep, digest in record.deps.items() if dep not in stage.reads}
    return replace(record, params=params, deps=deps)


def receipt_path(stage: Stage) -> Path:
    """The path of a stage's receipt."""
    return RECEIPTS / f"{stage.slug}.json"


def read_receipt(stage: Stage) -> StageRecord | None:
    """The stage's own record, or None if it is missing or damaged."""
    values = unsealed(receipt_path(stage)) or {}
    try:
        return StageRecord(values["cmd"], *(dict(values[side]) for side in ("params", "deps", "outs")))
    except (ValueError, KeyError, TypeError):
        return None


def write_receipt(stage: Stage, record: StageRecord) -> None:
    """Writes the stage's own record, in the form that `as_read` gives."""
    write_json(receipt_path(stage), sealed(asdict(record)))


def whole_lock(data: bytes) -> bool:
    """Whether a dvc.lock begins and ends as DVC begins and ends one.

    If its last line is not that of an output, it may have been cut inside a longer value: then it is parsed.
    """
    framed = data.startswith(_HEAD) and data.endswith(b"\n") and not data.endswith(b":\n")
    return framed and (bool(_LAST.search(data)) or _readable(data))


def _readable(data: bytes) -> bool:
    try:
        _records(loads(data.decode(), str(LOCK)))
    except _NOT_RECORDS:
        return False
    return True


def cut_short(data: bytes) -> bool:
    """Whether DVC began this dvc.lock and would refuse it: its last line is cut, or lacks the lines below it.

    One with a merge conflict or another beginning is not DVC's work: DVC or `read_lock` says what is wrong.
    """
    started = _HEAD.startswith(data.rstrip(b"\0")[: len(_HEAD)])
    return CONFLICT not in data and started and not whole_lock(data)


def check_lock(path: Path = LOCK) -> None:
    """Raises UserError for a dvc.lock that was cut short or holds a merge conflict: DVC would refuse it."""
    if not path.is_file():
        return
    data = path.read_bytes()
    if CONFLICT in data:
        raise UserError(
            f"{path}: holds a merge conflict; take one side whole (`git checkout --ours {path}` or "
            "--theirs), then `vouch store sync` records what is here"
        )
    if cut_short(data):
        raise UserError(
            f"{path}: was cut short, as by a DVC that was killed; run `vouch store sync`, which mends it, "
            "then this again"
        )


def read_lock(path: Path = LOCK) -> Mapping[str, StageRecord]:
    """DVC's records by stage name, empty if there is no dvc.lock. Raises UserError if it is damaged."""
    if not path.exists():
        return {}
    check_lock(path)
    return parse_lock(path.read_text("utf-8", "replace"), str(path))


@lru_cache(maxsize=1)
def parse_lock(text: str, name: str) -> Mapping[str, StageRecord]:
    """DVC's records in the text of a dvc.lock, none in an empty one. Raises UserError; `name` is in it.

    The text may be that of any commit, and outputs are read from the cache by their digests, so a value that
    is not a digest is refused: it could be part of a path.
    """
    try:
        return _records(loads(text, name) if text else {})
    except _NOT_RECORDS:
        raise UserError(
            f"{name}: not the lock file that DVC writes; restore it from version control, or delete it and "
            "run `vouch store sync`"
        ) from None


def _records(values: Any) -> dict[str, StageRecord]:
    def side(entries: list[Mapping[str, Any]] | None) -> dict[str, str | None]:
        return {entry["path"]: entry.get("md5") for entry in entries or ()}

    def outputs(entries: list[Mapping[str, Any]] | None) -> dict[str, str | None]:
        outs = side(entries)
        if any(digest is not None and not DIGEST.fullmatch(digest) for digest in outs.values()):
            raise ValueError("not a digest")
        return outs

    return {
        name: StageRecord(
            entry["cmd"], dict(entry.get("params", {})), side(entry.get("deps")), outputs(entry.get("outs"))
        )
        for name, entry in values.get("stages", {}).items()
    }


class Recorded:
    """The recorded digests of stages' outputs. dvc.lock is read only if the receipts do not suffice."""

    def __init__(self, dag: Dag) -> None:
        self.dag = dag
        self._receipts: dict[str, StageRecord | None] = {}

    @cached_property
    def _lock(self) -> Mapping[str, StageRecord]:
        return read_lock()

    def fits(self, out: str, digest: str) -> bool:
        """Whether some record agrees, or none has the output. Raises UserError if dvc.lock is damaged."""
        known = False
        for recorded in self._digests(out):
            if recorded == digest:
                return True
            known = True
        return not known

    def knows(self, out: str) -> bool:
        """Whether any record has an output. Raises UserError if dvc.lock is damaged."""
        return any(self._digests(out))

    def _digests(self, out: str) -> Iterator[str]:
        """The recorded digests of an output, the one in the receipt first."""
        name = self.dag.maker[out]
        if name not in self._receipts:
            self._receipts[name] = read_receipt(self.dag[name])
        if (receipt := self._receipts[name]) and (digest := receipt.outs.get(out)):
            yield digest
        if (record := self._lock.get(name)) and (digest := record.outs.get(out)):
            yield digest


def damaged(recorded: Recorded, paths: Iterable[str], digests: Digests) -> Iterator[str]:
    """Outputs of stages that exist but agree with no record. Every byte is read."""
    for path in paths:
        if path in recorded.dag.maker:
            digest = digests.of(path, anew=True)
            if digest is not None and not recorded.fits(path, digest):
                yield path


def refuse_damaged(recorded: Recorded, paths: Iterable[str], digests: Digests) -> None:
    """Raises UserError for the first of the outputs that is not as its stage made it."""
    for path in damaged(recorded, paths, digests):
        raise UserError(
            f"{path}: damaged, or edited by hand: not the bytes that {recorded.dag.maker[path]} wrote; "
            "`vouch store verify --mend` removes what is damaged, `dvc repro` or `dvc pull` brings it back"
        )


def intact(path: Path) -> Path:
    """The path of a stage's output, after checking that it is as it was made. Raises UserError."""
    check_run(path)
    if path.exists():
        moments = map(_moment, (DEFINITION, Path(PARAMS), LOCK, RECEIPTS))
        refuse_damaged(_recorded(os.getcwd(), *moments), [str(path)], Digests())
    return path


def check_run(path: Path) -> None:
    """Raises UserError if an output is missing because no stage was run here, and nothing was fetched."""
    if not path.exists() and not any(folder.exists() for folder in (Path(_OUTPUTS), RECEIPTS)):
        raise UserError(
            f"{path}: nothing was run here yet; run `dvc repro` (`vouch plan` says what that does), or "
            "`dvc pull` to fetch stored results"
        )


@lru_cache(maxsize=1)
def _recorded(_folder: str, *_moments: int) -> Recorded:
    """The records, read once by a command that reads many tables."""
    return Recorded(read_dag())


def _moment(path: Path) -> int:
    return path.stat().st_mtime_ns if path.exists() else 0
