"""`vouch watch`: the progress of a run, from the records that its stages keep in .vouch."""

import argparse
import math
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import psutil
from pydantic import BaseModel, Field

from vouch.cli import times
from vouch.cli.command import argument, command, one_of
from vouch.cli.printing import cut, plain
from vouch.pipeline.dag import Dag, read_dag
from vouch.pipeline.records import receipt_path
from vouch.pipeline.run import RUNNING
from vouch.pipeline.state import states

ERRORS = 3  # the number of last errors that are shown
SHORTEST, LONGEST = 0.1, 86_400.0  # seconds from one look to the next
KILLED = "was killed; run it again, finished answers are kept"
_MEMORY = ["nvidia-smi", "--query-gpu=index,memory.used,memory.total", "--format=csv,noheader,nounits"]


def _seconds(text: str) -> float:
    """The seconds to wait. Raises ArgumentTypeError below 0.1, which would flood a log, and above a day."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not SHORTEST <= seconds <= LONGEST:
        raise argparse.ArgumentTypeError(f"{text[:40]}: give seconds, {SHORTEST:g} to {LONGEST:g}")
    return seconds


Time = Annotated[float, Field(ge=0, lt=1e11)]
Count = Annotated[int, Field(ge=0, lt=2**53)]


class RunningStage(BaseModel, allow_inf_nan=False):
    """The record that vouch/pipeline/run.py writes of a running stage. Times are seconds since 1970."""

    stage: str
    pid: Annotated[int, Field(gt=0, lt=2**31)]
    host: str
    began: Time
    done: Count | None = None
    total: Count | None = None
    since: Time | None = None
    at: Time | None = None
    error: str | None = None


class Seen(NamedTuple):
    """The state of a run. running, failed: records of stages. gpus: a text for each."""

    stages: int
    done: int
    running: Sequence[RunningStage] = ()
    failed: Sequence[RunningStage] = ()
    gpus: Sequence[str] = ()


@dataclass
class Watch:
    """The observations since the watch began. done: names of stages. receipts: times of writing."""

    dag: Dag
    done: set[str]
    receipts: dict[str, float] = field(default_factory=dict)

    def look(self) -> Seen:
        """Reads the records. A stage is done once its receipt is newer than at the last look."""
        for stage in self.dag.stages.values():
            written = _written(receipt_path(stage))
            if written > self.receipts.setdefault(stage.name, written):
                self.done.add(stage.name)
            self.receipts[stage.name] = written
        read = map(_read, sorted(RUNNING.glob("*.json")))
        records = [one for one in read if one and one.stage in self.dag.stages]
        running = [one for one in records if one.error is None and _runs(one)]
        failed = sorted((one for one in records if one not in running), key=lambda one: one.at or one.began)
        done = len(self.done.difference(one.stage for one in records))
        return Seen(len(self.dag.stages), done, running, failed[-ERRORS:], _gpus())

    def looks(self, every: float, once: bool = False) -> Iterator[Seen]:
        """Yields the result of a look every `every` seconds, until all stages are done and none runs."""
        yield (seen := self.look())
        while not once and (seen.done < seen.stages or seen.running):
            time.sleep(every)
            yield (seen := self.look())


def _written(path: Path) -> float:
    """The time when a file was written; 0 if there is none."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _read(path: Path) -> RunningStage | None:
    try:
        return (
            RunningStage.model_validate_json(path.read_bytes()) if path.is_file() else None
        )  # not a pipe, which would never end
    except (OSError, ValueError):  # removed by now, or damaged
        return None


def _runs(record: RunningStage) -> bool:
    """Whether the stage's process still runs: its number may now belong to another process."""
    try:
        return record.host != socket.gethostname() or (
            psutil.Process(record.pid).create_time() <= record.began + 1
        )
    except psutil.Error:
        return False


def _gpus() -> list[str]:
    try:
        output = subprocess.run(_MEMORY, capture_output=True, text=True, check=False, timeout=10).stdout
    except (OSError, subprocess.TimeoutExpired):
        return []
    rows = [line.split(", ") for line in output.splitlines() if line.count(", ") == 2]
    return [
        f"GPU {index}: {int(used) / 1024:.1f} of {int(total) / 1024:.1f} GiB"
        for index, used, total in rows
        if used.isdecimal() and total.isdecimal()  # some devices print [N/A]
    ]


def speed(record: RunningStage) -> tuple[str, str, str]:
    """The finished part of a stage (prompts, steps or items), the number per second, and the time left."""
    done, total = record.done, record.total
    if not done or record.at is None or record.since is None:
        return "", "", ""
    amount = f"{done}/{total}" if total else str(done)
    if record.at <= record.since:  # a clock was set back
        return amount, "", ""
    rate = done / (record.at - record.since)
    return amount, f"{rate:.1f}/s", duration((total - done) / rate) if total else ""


def duration(seconds: float) -> str:
    """A time as people write it: `45 s`, `3 min 5 s`, `2 h 10 min`."""
    whole = max(round(seconds), 0)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def line(seen: Seen) -> str:
    """The state in one line, for a log."""
    texts = [f"{seen.done} of {seen.stages} stages done"]
    for record in seen.running:
        amount, rate, left = speed(record)
        text = f"{record.stage} for {duration(time.time() - record.began)}"
        texts.append(", ".join(filter(None, [text, amount, rate, left and f"{left} left"])))
    return plain("; ".join([*texts, *seen.gpus, *_failures(seen)]))


def _failures(seen: Seen) -> list[str]:
    return [f"failed: {record.stage}: {cut(record.error or KILLED, 200)}" for record in seen.failed]


def screen(seen: Seen) -> Any:
    """The state for a terminal, as rich draws it."""
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    table = Table("running", "since", "", "done", "a second", "left", box=None)
    for record in seen.running:
        bar = ProgressBar(record.total, record.done or 0, width=20) if record.total else ""
        since = duration(time.time() - record.began)
        table.add_row(Text(plain(record.stage)), since, bar, *speed(record))
    head = Text(f"{seen.done} of {seen.stages} stages done", style="bold")
    tail = [Text(each) for each in seen.gpus] + [Text(plain(text), style="red") for text in _failures(seen)]
    return Group(head, *([table] if seen.running else []), *tail)


@command(
    "watch",
    "how far a run is, how long it will take, and the last errors",
    argument("--every", type=_seconds, metavar="SECONDS", help="default: 1 on a terminal, otherwise 15"),
    one_of(
        argument("--once", action="store_true", help="print the state once, and end"),
        argument("--times", action="store_true", help="print how long the last runs here took, and end"),
    ),
)
def run(options: argparse.Namespace) -> int:
    """Watch a run: which stages are done or running, their speed, the time left, GPU memory and the last
    errors.

    Stages may run here or on other machines that share this folder, under any runner: the numbers come
    from records that the stages keep in .vouch. On a terminal one table is kept up to date; otherwise a line
    is printed now and then, for a log. The command ends when every stage is up to date.

    --times prints what the last run of each stage took on this machine: time, processor time, answers asked
    and known before, and the tokens and price of servers.

    Examples:
      vouch watch
      vouch watch --once
      vouch watch --every 60 >> run.log &
      vouch watch --times
    """
    dag = read_dag()
    if options.times:
        print(times.screen(list(times.read(dag.ordered())), duration), end="")
        return 0
    watch = Watch(dag, {state.stage.name for state in states(dag) if state.fresh})
    on_terminal = sys.stdout.isatty() and not options.once
    every = options.every or (1.0 if on_terminal else 15.0)
    if not on_terminal:
        for seen in watch.looks(every, options.once):
            print(f"watch: {line(seen)}", flush=True)
        return 0
    from rich.live import Live

    with Live(auto_refresh=False) as shown:
        for seen in watch.looks(every):
            shown.update(screen(seen), refresh=True)
    return 0
