"""Which stages are up to date, judged only by content, and how Snakemake is told.

A stage is fresh if a record has exactly its present command, parameters, inputs and outputs (records.py).
Modification times never decide.

Snakemake decides by modification times, and for small inputs by their contents. Every rule has a stamp
among its inputs. The stamp of a fresh stage is older than everything; any other has new content and is a
second newer than the stage's outputs. If a fresh output looks older than its inputs (DVC stopped early, or
pulled), its time is moved, in dependency order. If a clock was wrong and outputs have a time in the future,
they get the present one: Snakemake fails a job whose outputs are older than the files it has read.
"""

import functools
import json
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vouch.pipeline.dag import Dag, Stage
from vouch.pipeline.digests import Digests, Moment
from vouch.pipeline.errors import UserError
from vouch.pipeline.records import (
    LOCK,
    StageRecord,
    as_read,
    made_from,
    present,
    read_lock,
    read_receipt,
    read_whole,
    run_record,
)

_ABSENT: Any = object()
"""Stands for a value that a side does not have; unlike any value of params.yaml."""
_LINE = 100  # characters of causes; the first is shown whole


@dataclass(frozen=True)
class State:
    """now: the present record. fresh: whether some record fits. causes: all that does not fit, in words."""

    stage: Stage
    now: StageRecord
    fresh: bool
    causes: tuple[str, ...] = ()

    @property
    def why(self) -> str:
        """The causes in a line; those that do not fit into it are counted."""
        shown = [self.causes[0]] if self.causes else []
        for cause in self.causes[1:]:
            if len("; ".join([*shown, cause])) > _LINE:
                break
            shown.append(cause)
        more = len(self.causes) - len(shown)
        return "; ".join(shown) + (f" and {more} more" if more else "")


def states(dag: Dag, digests: Digests | None = None) -> list[State]:
    """The state of every stage, in dependency order.

    Reading dvc.lock costs far more than reading all receipts: it is read only if a receipt does not fit.
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
        if whole and then and read_whole(stage, then) == read_whole(stage, now):
            causes = _never_ran(stage, read, certain=then == now)
            return State(stage, now, fresh=not causes, causes=tuple(causes))
        causes = _differences(read, receipt) if receipt else _differences(now, then)
        return State(stage, now, fresh=False, causes=tuple(causes))

    result = list(map(judged, dag.ordered()))
    digests.save()
    return result


def _never_ran(stage: Stage, read: StageRecord, certain: bool) -> list[str]:
    """How the run record contradicts dvc.lock; empty if they agree.

    read: what the stage reads now. certain: whether dvc.lock has all of that, so a missing record is no harm.
    """
    path = run_record(stage)
    try:
        record = json.loads(path.read_bytes()) if path else {}
        then = {side: record[side] for side in ("params", "inputs")}
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return [] if certain else ["no record of how its outputs were made"]
    changed = [
        (key.partition(": ")[2], *values)
        for key, *values in _changed(then, made_from(read.params, read.deps))
    ]
    if changed and certain:
        return [
            f"{LOCK} has a state that no run has made, as a merge gives (since {path}: "
            f"{_in_words(*changed[0])}); `dvc repro --force --single-item {stage.name}` makes it"
        ]
    return [f"{what} changed" for what, *_ in changed]


def _differences(now: StageRecord, then: StageRecord | None) -> list[str]:
    """All that differs, a few words each. Of a stage that has no outputs, an input that is not there either
    is no difference: another stage makes it."""
    missing = [out for out, digest in now.outs.items() if digest is None]
    causes = [f"{out} is missing" for out in missing]
    if then is None:
        return causes or ["no record of how its outputs were made"]
    if now.cmd != then.cmd:
        causes.append("its command changed")
    for key, old, new in _changed(then.params, now.params):
        causes.append(_in_words(key, old, new))
    for what, current, recorded in (("input", now.deps, then.deps), ("output", now.outs, then.outs)):
        for path in sorted({*current, *recorded}):
            gone = missing and current.get(path) is None
            if current.get(path) != recorded.get(path) and not gone:
                causes.append(f"{what} {path} changed")
    return causes or ["its record differs"]


def _in_words(key: str, old: Any, new: Any) -> str:
    if old is _ABSENT:
        return f"{key} is new" + ("" if isinstance(new, Mapping) else f": {new}")
    if new is _ABSENT:
        return f"{key} was taken out" + ("" if isinstance(old, Mapping) else f" (it was {old})")
    return f"{key} changed from {old} to {new}"


def _changed(
    then: Mapping[str, Any], now: Mapping[str, Any], prefix: str = ""
) -> Iterator[tuple[str, Any, Any]]:
    """Dotted keys whose value changed, with the old and the new one; the file's name comes before its keys.

    A key that only one side has is given as a whole, with _ABSENT for the other side.
    """
    for key in sorted({*then, *now}):
        name, old, new = f"{prefix}{key}", then.get(key, _ABSENT), now.get(key, _ABSENT)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            yield from _changed(old, new, name + ("." if prefix else ": "))
        elif old != new:
            yield name, old, new


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
MARKER = ".snakemake_timestamp"  # Snakemake puts this file into folders that a rule has made
_LONG_AGO = 1
_SECOND = 1_000_000_000


def stamp_path(stage: Stage) -> str:
    """The stamp of a stage."""
    return str(STAMPS / stage.slug)


def _clock(path: str) -> str:
    """The file whose time Snakemake reads for a path: in a folder, its own marker if it wrote one."""
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
    """Sets the present time: no other may be given to another user's file, even a writable one."""
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
    except PermissionError:  # another user's file, in a folder that both users may change
        Path(path).unlink(missing_ok=True)
        Path(path).write_text(text, encoding="utf-8")
        os.utime(path, ns=(when, when))


def settle(dag: Dag) -> list[State]:
    """Writes all stamps and moves times so that Snakemake plans exactly the stages that are not fresh."""
    STAMPS.mkdir(parents=True, exist_ok=True)
    result = states(dag)
    now = time.time_ns()
    settled = functools.cache(_time_of)  # a stage's inputs were settled before it and stay as they are
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
