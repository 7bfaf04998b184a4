"""Which stages are up to date, judged by content alone.

Two records can vouch for a stage: dvc.lock, and the receipt that every stage writes when it has
finished, whichever runner started it. A stage is fresh if one of them has exactly the present
command, parameters, inputs and outputs. Modification times never decide.

dvc.lock passes through git, where two branches can merge into an entry that no run has made. The record of
the run among the stage's outputs (run_record.py) must not contradict it.
"""

import functools
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from vouch.pipeline.dag import Dag, Stage
from vouch.pipeline.digests import Digests, Moment
from vouch.pipeline.errors import UserError
from vouch.pipeline.files import sealed, unsealed, write_json
from vouch.pipeline.run_record import made_from, run_record
from vouch.pipeline.yaml12 import load

LOCK = Path("dvc.lock")
CONFLICT = b"<<<<<<< "  # of a merge
_HEAD = b"schema:"
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
    """Keeps the stage's own record."""
    write_json(receipt_path(stage), sealed(asdict(record)))


def whole_lock(data: bytes) -> bool:
    """Whether a dvc.lock begins and ends as DVC begins and ends one."""
    return data.startswith(_HEAD) and data.endswith(b"\n") and not data.endswith(b":\n")


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

    def side(entries: list[Mapping[str, Any]] | None) -> dict[str, str | None]:
        return {entry["path"]: entry.get("md5") for entry in entries or ()}

    try:
        return {
            name: Record(
                entry["cmd"], dict(entry.get("params", {})), side(entry.get("deps")), side(entry.get("outs"))
            )
            for name, entry in load(path).get("stages", {}).items()
        }
    except (AttributeError, KeyError, TypeError, ValueError, UserError):
        raise UserError(
            f"{path}: not the lock file that DVC writes; restore it from version control, or delete it and "
            "run `vouch store sync`"
        ) from None


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
        receipt = read_receipt(stage)
        whole = None not in now.outs.values()
        if whole and (receipt == now or lock().get(stage.name) == now):
            why = "" if receipt == now else _never_ran(stage, now)
            return State(stage, now, fresh=not why, why=why)
        return State(stage, now, fresh=False, why=_difference(now, receipt or lock().get(stage.name)))

    result = list(map(judged, dag.ordered()))
    digests.save()
    return result


def _never_ran(stage: Stage, now: Record) -> str:
    """What the run's record says otherwise than dvc.lock; nothing where they agree, or it is an old one."""
    path = run_record(stage)
    try:
        record = json.loads(path.read_bytes()) if path else {}
        then = {side: record[side] for side in ("params", "inputs")}
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return ""
    old, new = _flat(then), _flat(made_from(stage, now.deps))
    for key in sorted({*old, *new}):
        if old.get(key) != new.get(key):
            what = key.partition(": ")[2]
            was, now_is = old.get(key, "nothing"), new.get(key, "nothing")
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
