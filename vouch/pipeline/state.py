"""Which stages are up to date, judged by content alone, and how Snakemake is told.

A stage is fresh if a record has exactly its present command, parameters, inputs and outputs. There are two
records: dvc.lock, and the receipt that every stage writes when it has finished, whichever runner started it.
Modification times never decide. dvc.lock passes through git, where two branches can merge into an entry that
no run has made, so the record of the run among the stage's outputs (run_record.py) must not contradict it.

DVC knows files and folders as wholes. Of an input that a stage reads in part (`meta.reads` of dvc.yaml: its
entry of models.lock, its dataset's file of decisions) the receipt and the record of the run hold the part.

Snakemake decides by modification times, and for small inputs by their contents. Every rule has a stamp
among its inputs: of a fresh stage it is older than everything, of any other it is new in content and a
second newer than its outputs. Where a fresh output looks older than its inputs (DVC stopped early, or
pulled), its time is moved, in dependency order. Where a clock was wrong and outputs lie in the future,
they come back to the present: Snakemake fails a job whose outputs are older than what it has read.
"""

import functools
import hashlib
import json
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

from vouch.pipeline.dag import PARAMS, Dag, Stage, is_folder, source_files
from vouch.pipeline.errors import UserError
from vouch.pipeline.files import forget, replacing, sealed, streamed_digest, unsealed, write_json
from vouch.pipeline.run_record import made_from, run_record
from vouch.pipeline.terminal import progress
from vouch.pipeline.yaml12 import load, loads

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor


MEMORY = Path(".vouch/digests.json")
_CHUNK = 1 << 20
_LONG = 1 << 32  # bytes that take seconds, or minutes
_PART = 32  # files of a folder that a thread hashes in one go
_stopped = Event()  # what threads read is not wanted any more


class Digests:
    """MD5 of files, and of folders by DVC's rule: the MD5 of a JSON list of (md5, relpath).

    MD5 because dvc.lock holds it: it names contents here and protects against nothing. The time of the
    last change of status counts as well, because `cp -p` and the like set the modification time.
    """

    def __init__(self, memory: Path = MEMORY) -> None:
        self._path = memory
        self._known: dict[str, tuple[int, int, int, str]] = {}
        self._changed = False
        try:
            # a memory that is missing or damaged only costs hashing again
            entries = (unsealed(memory) or {}).get("files", {})
            self._known = {path: (int(s), int(m), int(c), str(d)) for path, (s, m, c, d) in entries.items()}
        except (ValueError, TypeError, AttributeError):
            pass

    def of(self, path: str, anew: bool = False) -> str | None:
        """The digest of a file or folder, None where there is nothing.

        anew: every byte is read, whatever is remembered: disks turn bytes without a new time.
        """
        if anew:
            for file in source_files(path) if os.path.isdir(path) else [path]:
                self._known.pop(file, None)
                forget(file)
        if os.path.isdir(path):
            return self._folder(path)
        return self._file(path) if os.path.isfile(path) else None

    def known(self) -> dict[str, str]:
        """Path -> digest of what is remembered."""
        return {path: digest for path, (*_, digest) in self._known.items()}

    def _looked_up(self, path: str, seen: tuple[int, int, int]) -> str | None:
        """What needs no reading: of bytes that went through this process, else what is remembered."""
        found = streamed_digest(path)
        if found:
            return self._keep(path, seen, found)
        known = self._known.get(path)
        return known[3] if known and known[:3] == seen else None

    def _keep(self, path: str, seen: tuple[int, int, int], digest: str) -> str:
        entry = (*seen, digest)
        self._changed |= self._known.get(path) != entry
        self._known[path] = entry
        return digest

    def _file(self, path: str) -> str:
        seen = _seen(path)
        return self._looked_up(path, seen) or self._keep(path, seen, _md5(path, seen[0]))

    def _files(self, paths: list[str]) -> list[str]:
        return [self._file(path) for path in paths]

    def _folder(self, path: str) -> str:
        start = len(str(Path(path, "_"))) - 1  # of names below the folder, also below "."
        files = sorted((file[start:], file) for file in source_files(path))
        digests = {file: self._looked_up(file, _seen(file)) for _, file in files}
        unknown = [file for file, digest in digests.items() if digest is None]
        if unknown:  # a thread costs more than looking something up
            from concurrent.futures import ThreadPoolExecutor

            parts = [unknown[start : start + _PART] for start in range(0, len(unknown), _PART)]
            # whoever hashes lets others run meanwhile; more threads only wait for each other
            with ThreadPoolExecutor((os.cpu_count() or 1) + 1) as pool, _stopping(pool):
                for part, found in zip(parts, pool.map(self._files, parts), strict=True):
                    digests.update(zip(part, found, strict=True))
        listing = [{"md5": digests[file], "relpath": relative} for relative, file in files]
        text = json.dumps(listing, sort_keys=True)
        return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest() + ".dir"

    def save(self) -> None:
        """Keeps what was computed for the next process; the last writer wins, nothing depends on it."""
        if not self._changed:
            return
        # a disk that is full, or a machine beside this one that was faster, only costs hashing again
        with suppress(OSError), replacing(self._path) as temporary:
            temporary.write_text(json.dumps(sealed({"files": self._known})), encoding="utf-8")
        self._changed = False


@contextmanager
def _stopping(pool: "ThreadPoolExecutor") -> Iterator[None]:
    """Ends the threads of a pool where the block is left early: they would read terabytes to their end."""
    try:
        yield
    except BaseException:
        _stopped.set()
        pool.shutdown(cancel_futures=True)
        _stopped.clear()
        raise


def fingerprint(path: str) -> str:
    """What an edit of a file or folder changes, found without reading it: names, sizes and times.

    Raises UserError where a file may not be read: better now than after hours.
    """
    digest = hashlib.md5(usedforsecurity=False)
    files = source_files(path) if os.path.isdir(path) else [path]
    for file in filter(os.path.exists, files):
        if not os.access(file, os.R_OK):
            raise UserError(f"{file}: you may not read it; change its permissions, or take it away")
        digest.update(f"{file!a}{_seen(file)}".encode())
    return digest.hexdigest()


def _md5(path: str, size: int) -> str:
    digest = hashlib.md5(usedforsecurity=False)
    with open(path, "rb", buffering=0) as handle:
        chunks = iter(lambda: handle.read(min(_CHUNK, size + 1)), b"")  # a small file at once, and its end
        for chunk in progress(chunks, size // _CHUNK, f"reading {path}, MB") if size > _LONG else chunks:
            if _stopped.is_set():
                raise UserError(f"{path}: not read to its end; run the same command again")
            digest.update(chunk)
    return digest.hexdigest()


def _seen(path: str) -> tuple[int, int, int]:
    """What tells a file that was written anew: size and times."""
    stat = os.stat(path)
    return stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns


class Moment:
    """Digests of one moment: what many stages read is looked at once."""

    def __init__(self, digests: Digests) -> None:
        self.of = functools.cache(digests.of)


LOCK = Path("dvc.lock")
CONFLICT = b"<<<<<<< "  # of a merge
_HEAD = b"schema:"
_LAST = re.compile(rb"\n {6}(md5|size|nfiles|isexec): \S+\n\Z")
_NOT_RECORDS = (AttributeError, KeyError, TypeError, ValueError, UserError)
RECEIPTS = Path(".vouch/receipts")


@dataclass(frozen=True)
class Record:
    """What a stage was made from and what it made: paths -> digests, params as in dvc.yaml."""

    cmd: str
    params: Mapping[str, Mapping[str, Any]]
    deps: Mapping[str, str | None]
    outs: Mapping[str, str | None]


def present(stage: Stage, digests: Digests | Moment) -> Record:
    """The record that the present files would give."""
    return Record(
        cmd=stage.cmd,
        params={file: dict(values) for file, values in stage.params.items()},
        deps={dep: digests.of(dep) for dep in stage.deps},
        outs={out: digests.of(out) for out in stage.outs},
    )


def as_read(stage: Stage, record: Record, digests: Digests | Moment) -> Record:
    """The record with what the stage reads in place of what it depends on: of some inputs a part, or none."""
    for key, kept in stage.without.items():
        if not _value(stage.params.get(PARAMS, {}), key):
            return replace(record, params={}, deps={dep: record.deps[dep] for dep in kept})
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


def _named(stage: Stage, keys: Sequence[str]) -> Iterator[str]:
    """Keys of a YAML file, with the names that params.yaml has in place of `*`."""
    for key in keys:
        parent, last = key.rpartition(".")[::2]
        names = sorted(stage.params[PARAMS][parent]) if last == "*" else [last]
        yield from (f"{parent}.{name}" for name in names)


@functools.lru_cache(maxsize=4)
def _entries(path: str, _digest: str | None) -> Any:
    """The content of a YAML file as it was when it had this digest."""
    return load(Path(path)) if _digest else {}


def _value(values: Any, key: str) -> Any:
    """What lies at a dotted key, or None."""
    for name in key.split("."):
        values = values.get(name) if isinstance(values, Mapping) else None
    return values


def _value_digest(value: Any) -> str | None:
    text = json.dumps(value, sort_keys=True)
    return None if value is None else hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def _whole(stage: Stage, record: Record) -> Record:
    """What is left of a record of DVC without the inputs that the stage reads in part."""
    for key, kept in stage.without.items():
        if not _value(stage.params.get(PARAMS, {}), key):
            return replace(record, params={}, deps={dep: record.deps.get(dep) for dep in kept})
    params = {
        file: {key: value for key, value in values.items() if key not in stage.reads}
        for file, values in record.params.items()
    }
    return replace(
        record, params=params, deps={dep: d for dep, d in record.deps.items() if dep not in stage.reads}
    )


def receipt_path(stage: Stage) -> Path:
    """Where the receipt of a stage lies."""
    return RECEIPTS / f"{stage.slug}.json"


def read_receipt(stage: Stage) -> Record | None:
    """The stage's own record, None where there is none or it is damaged."""
    values = unsealed(receipt_path(stage)) or {}
    try:
        return Record(values["cmd"], *(dict(values[side]) for side in ("params", "deps", "outs")))
    except (ValueError, KeyError, TypeError):
        return None


def write_receipt(stage: Stage, record: Record) -> None:
    """Keeps the stage's own record, as `as_read` gives it."""
    write_json(receipt_path(stage), sealed(asdict(record)))


def whole_lock(data: bytes) -> bool:
    """Whether a dvc.lock begins and ends as DVC begins and ends one.

    One that ends with other than an output may end inside a value of several lines: then it is read.
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
    """Whether DVC began a dvc.lock that it would refuse: the last line is cut, or lacks what is under it.

    One with a merge conflict or another beginning is somebody's own: DVC or `read_lock` says what is wrong.
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


def read_lock(path: Path = LOCK) -> dict[str, Record]:
    """DVC's records by stage name, empty where there is no dvc.lock. Raises UserError where it is damaged."""
    if not path.exists():
        return {}
    check_lock(path)

    try:
        return _records(load(path))
    except _NOT_RECORDS:
        raise UserError(
            f"{path}: not the lock file that DVC writes; restore it from version control, or delete it and "
            "run `vouch store sync`"
        ) from None


def _records(values: Any) -> dict[str, Record]:
    def side(entries: list[Mapping[str, Any]] | None) -> dict[str, str | None]:
        return {entry["path"]: entry.get("md5") for entry in entries or ()}

    return {
        name: Record(
            entry["cmd"], dict(entry.get("params", {})), side(entry.get("deps")), side(entry.get("outs"))
        )
        for name, entry in values.get("stages", {}).items()
    }


@dataclass(frozen=True)
class State:
    """now: the present record. fresh: some record fits. why: what does not fit, for a person."""

    stage: Stage
    now: Record
    fresh: bool
    why: str = ""


def states(dag: Dag, digests: Digests | None = None) -> list[State]:
    """The state of every stage, in dependency order.

    dvc.lock, which costs far more to read than all receipts, is read once a receipt does not fit.
    """
    digests = digests or Digests()
    moment = Moment(digests)
    lock = functools.cache(read_lock)

    def judged(stage: Stage) -> State:
        now = present(stage, moment)
        read, receipt = as_read(stage, now, moment), read_receipt(stage)
        whole = None not in now.outs.values()
        if whole and receipt == read:
            return State(stage, now, fresh=True)
        then = lock().get(stage.name)
        if whole and then and _whole(stage, then) == _whole(stage, now):
            why = _never_ran(stage, read, certain=then == now)
            return State(stage, now, fresh=not why, why=why)
        why = _difference(read, receipt) if receipt else _difference(now, then)
        return State(stage, now, fresh=False, why=why)

    result = list(map(judged, dag.ordered()))
    digests.save()
    return result


def _never_ran(stage: Stage, read: Record, certain: bool) -> str:
    """What the run's record says otherwise than dvc.lock; nothing where they agree.

    read: what the stage reads now. certain: dvc.lock has the whole of it, so an old record need not say so.
    """
    path = run_record(stage)
    try:
        record = json.loads(path.read_bytes()) if path else {}
        then = {side: record[side] for side in ("params", "inputs")}
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return "" if certain else "no record of how its outputs were made"
    old, new = _flat(then), _flat(made_from(read.params, read.deps))
    for key in sorted({*old, *new}):
        if old.get(key) != new.get(key):
            what = key.partition(": ")[2]
            was, now_is = old.get(key, "nothing"), new.get(key, "nothing")
            if not certain:
                return f"{what} changed"
            return (
                f"{LOCK} has a state that no run has made, as a merge gives ({path}: {what} was {was}, not "
                f"{now_is}); `dvc repro --force --single-item {stage.name}` makes it"
            )
    return ""


def _difference(now: Record, then: Record | None) -> str:
    """The first thing that differs, in a few words."""
    missing = [out for out, digest in now.outs.items() if digest is None]
    if missing:
        return f"{missing[0]} is missing"
    if then is None:
        return "no record of how its outputs were made"
    if now.cmd != then.cmd:
        return "its command changed"
    for what, new, old in (("input", now.deps, then.deps), ("output", now.outs, then.outs)):
        for path in sorted({*new, *old}):
            if new.get(path) != old.get(path):
                return f"{what} {path} changed"
    old_values, new_values = _flat(then.params), _flat(now.params)
    for key in sorted({*old_values, *new_values}):
        old, new = old_values.get(key, "nothing"), new_values.get(key, "nothing")
        if old != new:
            return f"{key} changed from {old} to {new}"
    return "its record differs"


def _flat(params: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested values by dotted key; the file name stands before its keys."""
    flat: dict[str, Any] = {}
    for key, value in params.items():
        name = f"{prefix}{key}"
        separator = ": " if not prefix else "."
        flat.update(_flat(value, name + separator) if isinstance(value, Mapping) else {name: value})
    return flat


def by_reason(states: list["State"]) -> list[tuple[str, str]]:
    """(stages, reason) for a person: stages that share a reason on one line, long lists cut."""
    reasons: dict[str, list[str]] = {}
    for state in states:
        reasons.setdefault(state.why, []).append(state.stage.name)
    return [
        (", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else ""), why)
        for why, names in reasons.items()
    ]


STAMPS = Path(".vouch/stamps")
MARKER = ".snakemake_timestamp"  # which Snakemake puts into folders that a rule has made
_LONG_AGO = 1
_SECOND = 1_000_000_000


def stamp_path(stage: Stage) -> str:
    """The stamp of a stage."""
    return str(STAMPS / stage.slug)


def _clock(path: str) -> str:
    """The file whose time Snakemake takes for a path: in a folder, its own marker if it wrote one."""
    marker = os.path.join(path, MARKER)
    return marker if os.path.isfile(marker) else path


def _time_of(path: str) -> int:
    """When Snakemake thinks a path changed, nanoseconds."""
    try:
        return os.stat(_clock(path)).st_mtime_ns
    except FileNotFoundError:
        return 0


def _touch(path: str, when: int) -> None:
    clock = _clock(path)
    try:
        os.utime(clock, ns=(when, when), follow_symlinks=False)
    except PermissionError:
        _touch_now(clock)


def _touch_now(path: str) -> None:
    """The only time that may be given to a file of somebody else, where this user may write it."""
    try:
        os.utime(path, follow_symlinks=False)
    except PermissionError:
        raise UserError(
            f"{path}: is another user's, and Snakemake needs it with a newer time; make it writable for you "
            "(`chmod g+w`), or have that user run `vouch store sync`"
        ) from None


def _write_stamp(path: str, text: str, when: int) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8")
        os.utime(path, ns=(when, when))
    except PermissionError:  # another user's: of its folder both may write
        Path(path).unlink(missing_ok=True)
        Path(path).write_text(text, encoding="utf-8")
        os.utime(path, ns=(when, when))


def settle(dag: Dag) -> list[State]:
    """Writes all stamps and moves times so that Snakemake plans exactly what is not fresh."""
    STAMPS.mkdir(parents=True, exist_ok=True)
    result = states(dag)
    now = time.time_ns()
    settled = functools.cache(_time_of)  # what a stage reads was settled before it, and stays
    for state in result:
        stage, stamp = state.stage, stamp_path(state.stage)
        earliest = max(map(settled, dag.watched(stage)), default=0) if state.fresh else 0
        latest = now if state.fresh else now - _SECOND
        for out in stage.outs:
            when = _time_of(out)
            if when < earliest or when > now:
                _touch(out, max(earliest, min(when, latest)))
        newest = max(map(_time_of, stage.outs), default=0)
        text = "fresh\n" if state.fresh else f"stale, seen at {now}\n"
        _write_stamp(stamp, text, _LONG_AGO if state.fresh else newest + _SECOND)
    return result
