"""Makes Snakemake see what the contents say.

Snakemake decides by modification times, and for small inputs by their contents. Every rule has a stamp
among its inputs: of a fresh stage it is older than everything, of any other it is new in content and a
second newer than its outputs. Where a fresh output looks older than its inputs (DVC stopped early, or
pulled), its time is moved, in dependency order. Where a clock was wrong and outputs lie in the future,
they come back to the present: Snakemake fails a job whose outputs are older than what it has read.
"""

import functools
import os
import time
from pathlib import Path

from vouch.pipeline.dag import Dag, Stage
from vouch.pipeline.errors import UserError
from vouch.pipeline.freshness import State, states

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
