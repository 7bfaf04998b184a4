"""How every stage starts and ends: checked parameters, known inputs, one-line errors, a receipt.

While a stage runs, .vouch/running/STAGE.json says how far it is, for `vouch watch`. The file stays after an
error or a kill until the next run of the stage; nothing depends on it.
"""

import gc
import hashlib
import json
import os
import platform
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn, Self, TypeVar

from vouch.pipeline import interruption
from vouch.pipeline.dag import CODE, Dag, Stage, read_dag
from vouch.pipeline.digests import Digests, fingerprint
from vouch.pipeline.errors import NO_THREAD, UserError, out_of_memory, refused_by_system, without_threads
from vouch.pipeline.files import UNUSED, read_otherwise, set_aside
from vouch.pipeline.locks import stage_lock
from vouch.pipeline.records import (
    Recorded,
    StageRecord,
    as_read,
    present,
    read_receipt,
    refuse_damaged,
    versions,
    write_receipt,
    write_records,
)
from vouch.pipeline.runners import mend
from vouch.pipeline.terminal import open_streams, progress, warnings_aside

T = TypeVar("T")
RUNNING = Path(".vouch/running")
_SECONDS = 1.0  # between two records of progress


class Live:
    """The record of one run, kept while a block runs; it stays if the block ends with an error.

    Times are seconds since 1970.
    """

    def __init__(self, stage: Stage) -> None:
        self._path = RUNNING / f"{stage.slug}.json"
        self._facts: dict[str, Any] = {"stage": stage.name, "pid": os.getpid(), "host": socket.gethostname()}
        self._facts["began"] = time.time()

    def __enter__(self) -> Self:
        self.say()
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        if error is None:
            with suppress(OSError):
                self._path.unlink(missing_ok=True)
            return
        text = " ".join(str(error).split())[:300]
        named = text if isinstance(error, UserError) else f"{type(error).__name__}: {text}"
        self.say(error=named, at=time.time())

    def say(self, **facts: Any) -> None:
        """Adds facts. A full disk only costs the display: nothing is raised, nothing waits for the disk."""
        self._facts |= facts
        part = self._path.with_name(f".{self._path.name}.part")
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            part.write_text(json.dumps(self._facts), encoding="utf-8")
            os.replace(part, self._path)

    def follow(self, items: Iterable[T], total: int | None = None, label: str = "") -> Iterator[T]:
        """Passes `items` on, and reports the progress in the record and on stderr."""
        since = last = time.time()
        for done, item in enumerate(progress(items, total, label or self._facts["stage"]), start=1):
            yield item
            now = time.time()
            if now - last >= _SECONDS or done == total:
                last = now
                self.say(done=done, total=total, since=since, at=now)


FILES = ("params.yaml", "models.lock")


class Run:
    """All that a stage may know: its keys, the parameters that dvc.yaml declares for it, its inputs."""

    def __init__(
        self,
        dag: Dag,
        stage: Stage,
        arguments: Sequence[str],
        digests: Digests | None = None,
        live: Live | None = None,
    ) -> None:
        self._live = live or Live(stage)
        self.stage = stage.name
        self.keys = tuple(arguments)
        self.inputs = [Path(path) for path in dag.inputs(stage)]
        self.notes: dict[str, Any] = {}
        self.measured: dict[str, Any] = {}
        self._params = stage.read_params
        self._code = [dep for dep in stage.deps if dep.startswith(CODE)]
        self._digests = digests or Digests()

    @property
    def params(self) -> dict[str, Any]:
        """The declared values of params.yaml, nested as in the file."""
        return self.lock("params.yaml")

    def lock(self, file: str) -> dict[str, Any]:
        """The declared values of another parameter file, nested as in the file.

        Every mapping is sorted: DVC ignores the order of its keys, so no output may depend on it.
        """
        nested: dict[str, Any] = {}
        for key, value in self._params.get(file, {}).items():
            *parents, last = key.split(".")
            level = nested
            for parent in parents:
                level = level.setdefault(parent, {})
            level[last] = value
        return dict(_sorted(nested))

    def rests_on(self, inputs: Iterable[Path], *facts: object) -> str:
        """A digest of everything that a part of the work depends on, as a name for `ResultCache`.

        That is: these inputs by path and content, the facts (which include parameters), and the stage's code
        and versions.
        """
        paths = [*self._code, *map(str, inputs)]
        contents = {path: self._digests.of(path) for path in paths}
        every = [contents, platform.python_version(), versions(), facts]
        return hashlib.sha256(json.dumps(every, sort_keys=True).encode()).hexdigest()

    def note(self, key: str, value: Any) -> None:
        """Adds a fact that depends only on the inputs (a count, a revision) to data/runs/STAGE.json."""
        self.notes[key] = value

    def measure(self, key: str, value: Any) -> None:
        """Adds a fact about this run only (a device, the answers known before) to .vouch/runs/STAGE.json."""
        self.measured[key] = value

    def progress(self, items: Iterable[T], total: int | None = None, label: str = "") -> Iterator[T]:
        """Passes `items` on and shows how far it is."""
        return self._live.follow(items, total, label)


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value, key=str)}
    return [_sorted(one) for one in value] if isinstance(value, list) else value


def _set_strays_aside(dag: Dag, stage: Stage) -> None:
    """Moves files that no stage of this profile makes out of folders that are read as a whole; says so."""
    if moved := set_aside(dag.strays()) if dag.fan_ins(stage) else []:
        more = f" and {len(moved) - 1} more" if len(moved) > 1 else ""
        print(
            f"{stage.name}: {moved[0]}{more}: no stage of this profile makes it, so it is now in {UNUSED}; "
            "`vouch store restore` brings it back",
            file=sys.stderr,
        )


def _settings() -> list[str]:
    return [fingerprint(file) for file in FILES]


def _refuse_new_values(stage: Stage, settings: list[str]) -> None:
    """Raises UserError if a stage's parameters changed while it ran: DVC records those at its end."""
    if _settings() == settings:
        return
    now = read_dag().stages.get(stage.name)
    for file, values in stage.params.items():
        for key, value in values.items():
            if now is None or now.params.get(file, {}).get(key) != value:
                raise UserError(f"{file}: {key}: changed while {stage.name} was at work; run the stage again")


def _run(name: str, arguments: list[str], body: Callable[[Run], None], check: Callable[[], None]) -> None:
    settings = _settings()
    check()
    mend()
    dag = read_dag()
    stage = dag.by_command(" ".join(["python -m", f"stages.{name}", *arguments]))
    _set_strays_aside(dag, stage)
    with stage_lock(stage) as waited:
        digests = Digests()
        if waited and read_receipt(stage) == as_read(stage, present(stage, digests), digests):
            _refuse_new_values(stage, settings)
            print(f"{name}: the other run has made everything", file=sys.stderr)
            return
        with Live(stage) as live:
            record = _make(dag, stage, arguments, body, live)
        _refuse_new_values(stage, settings)
        write_receipt(stage, record)


def _processor_seconds() -> float:
    """The processor time of this process, and of those of its children that have ended."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def _make(
    dag: Dag, stage: Stage, arguments: list[str], body: Callable[[Run], None], live: Live
) -> StageRecord:
    digests = Digests()
    refuse_damaged(Recorded(dag), dag.inputs(stage), digests)
    # files that no stage has made are hashed while they are read, or at the end
    unread = {dep: fingerprint(dep) for dep in dag.sources(stage)}
    before = {dep: digests.of(dep) for dep in stage.deps if dep not in unread}
    run = Run(dag, stage, arguments, digests, live)
    gc.freeze()  # imported objects stay; searching them for cycles takes as long as searching all new ones
    began, start = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), time.monotonic()
    before_body = _processor_seconds()
    with warnings_aside() as warnings:
        body(run)
    if warnings:
        run.measure("warnings", warnings)
    times: dict[str, Any] = {"began": began, "seconds": round(time.monotonic() - start, 1)}
    times["processor_seconds"] = round(_processor_seconds() - before_body, 1)
    known = as_read(
        stage, StageRecord(stage.cmd, stage.params, {dep: digests.of(dep) for dep in stage.deps}, {}), digests
    )
    write_records(stage, known.params, known.deps, run.notes, run.measured, times)
    after = present(stage, digests)
    digests.save()
    changed = [dep for dep, digest in before.items() if digest != after.deps[dep]]
    changed += [dep for dep, seen in unread.items() if seen != fingerprint(dep)]
    changed += read_otherwise(digests.known())
    if changed:
        raise UserError(f"{changed[0]}: changed while {stage.name} was reading it; run the stage again")
    return as_read(stage, after, digests)


def _stop(_number: int, _frame: object) -> NoReturn:
    raise SystemExit("vouch: told to stop (SIGTERM); run it again, finished answers are kept")


def _told(error: BaseException) -> UserError | None:
    """The message to a person about an error that is not a bug; None for a bug."""
    if without_threads(error):
        what = NO_THREAD
    elif isinstance(error, UserError):
        return error
    elif isinstance(error, OSError):
        what = refused_by_system(error)
    elif out_of_memory(error):
        what = "memory ran out; give the stage more, or run fewer at once"
    else:
        return None
    return UserError(f"{what}; nothing that looks whole was written")


def run_stage(name: str, body: Callable[[Run], None], check: Callable[[], None]) -> NoReturn:
    """Runs `body` as the stage whose command this process is, and exits; UserError is one line on stderr.

    check: checks the parameters, before anything is read (vouch/params/start.py).

    The environment variable VOUCH_TRACEBACK=1 shows where an error came from.
    """
    open_streams()
    arguments = sys.argv[1:]
    signal.signal(signal.SIGTERM, _stop)  # sent at a cluster's time limit: finished work is kept first
    try:
        interruption.begin()
        _run(name, arguments, body, check)
    except KeyboardInterrupt:
        print(interruption.STAGE, file=sys.stderr)
        sys.exit(interruption.STATUS)
    except SystemExit:
        raise
    except BaseException as error:  # libraries in Rust raise errors that are no Exception
        told = _told(error)
        if told is None:
            raise
        if os.environ.get("VOUCH_TRACEBACK"):
            traceback.print_exc()
        sys.exit(f"vouch: {told}")
    gc.freeze()  # otherwise Python ends by searching all objects for cycles: a sixth of the time to start
    sys.exit(0)
