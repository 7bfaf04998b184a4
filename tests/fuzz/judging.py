"""Examples of one target run in a process of its own, with bounds on time and memory.

A crash is anything but a clean result or a UserError of one line: another exception, more than SECONDS of
processor time or MEMORY bytes, or the end of the process. Processor time, so that a busy machine is none.
"""

import importlib
import multiprocessing
import os
import random
import re
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from tests.fuzz.mutate import mutated
from vouch.pipeline.errors import UserError

SECONDS = 2.0  # of processor time for one example
MEMORY = 1 << 30  # bytes beyond what the process has when it begins
LONGEST_LINE = 2000  # characters of an error
KEPT = 200  # examples with an outcome of their own that later ones are made of
ALL = 1 << 62  # examples
_STUCK = 5 * SECONDS  # of processor time without a sign of life, for code that no signal reaches
_LOOK = 5.0  # seconds after which a silent process is looked at
_LOST = 180  # looks, for a process that waits for ever; not a time, which passes while a run is suspended
_NAMES = re.compile(r"[0-9]+|'[^']*'|\"[^\"]*\"|[^\x00-\x7f]+")


@dataclass
class Report:
    """What a run of one target came to.

    seconds: of processor time. crashes: what happened, and the example in hexadecimal.
    """

    target: str
    seed: int
    examples: int = 0
    refused: int = 0
    outcomes: int = 0
    seconds: float = 0.0
    crashes: list[dict[str, str]] = field(default_factory=list)


class _TooSlow(BaseException):
    """Raised in an example by the timer."""


def targets() -> list[str]:
    """Names of the files in tests/fuzz/targets."""
    return sorted(path.stem for path in (Path(__file__).parent / "targets").glob("[a-z]*.py"))


def load(name: str) -> ModuleType:
    """A target: CORPUS() -> valid files, read(data, folder), and perhaps WORDS."""
    return importlib.import_module(f"tests.fuzz.targets.{name}")


def fuzz(name: str, seed: int, seconds: float, examples: int = ALL) -> Report:
    """Examples of a target until one of both limits is reached, all crashes collected.

    seconds: of processor time. A process that dies is replaced, and its example is a crash.
    """
    report = Report(name, seed)
    while report.examples < examples and report.seconds < seconds:
        _process(report, examples - report.examples, seconds - report.seconds)
    report.seconds = round(report.seconds, 1)
    return report


def _process(report: Report, examples: int, seconds: float) -> None:
    """One process, from the next example on."""
    here, there = multiprocessing.get_context("fork").Pipe(duplex=False)
    first = report.examples
    with tempfile.NamedTemporaryFile() as current:
        child = os.fork()
        if child == 0:
            here.close()
            _work(report.target, report.seed, first, examples, seconds, there, Path(current.name))
        there.close()
        alive = True
        while alive:
            if not _speaks(here, child):
                os.kill(child, signal.SIGKILL)
            try:
                told: Any = here.recv()
            except EOFError:
                break
            if told is None:
                alive = False
            else:
                report.examples = told["count"]
                report.refused += told["refused"]
                report.outcomes += told["outcomes"]
                report.crashes += told["crashes"]
        here.close()
        _, status, usage = os.wait4(child, 0)
        report.seconds += usage.ru_utime + usage.ru_stime
        if alive:
            report.examples += 1
            data = Path(current.name).read_bytes().hex()
            report.crashes.append({"what": f"the process ended with status {status}", "data": data})


def _speaks(pipe: Any, child: int) -> bool:
    """Waits for a sign of a process. On a busy machine that takes long; processor time tells."""
    before = _used(child)
    for _ in range(_LOST):
        if pipe.poll(_LOOK):
            return True
        if _used(child) - before > _STUCK:
            break
    return False


def _used(child: int) -> float:
    """Seconds of processor time of a process so far."""
    fields = Path(f"/proc/{child}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _work(
    name: str, seed: int, first: int, examples: int, seconds: float, pipe: Any, current: Path
) -> NoReturn:
    """The child: never returns into the parent's program."""
    try:
        target = load(name)
        valid = [bytes(one) for one in target.CORPUS()]
        words = [bytes(word) for word in getattr(target, "WORDS", ())]
        with tempfile.TemporaryDirectory() as folder:
            _bound_memory()
            _hush()
            signal.signal(signal.SIGPROF, _too_slow)
            corpus, seen = list(valid), set[str]()
            for count in range(first, first + examples):
                dice = random.Random(f"{name}/{seed}/{count}")
                data = valid[count] if count < len(valid) else mutated(dice, corpus, words)
                current.write_bytes(data)
                what, crashed = judged(target, data, Path(folder))
                kind = _NAMES.sub("#", what)[:120]
                new = kind not in seen
                seen.add(kind)
                if new and len(corpus) < len(valid) + KEPT and len(data) < 100_000:
                    corpus.append(data)
                crash = [{"what": what, "data": data.hex()}] if crashed and new else []
                pipe.send({"count": count + 1, "refused": what != "", "outcomes": new, "crashes": crash})
                if sum(os.times()[:4]) > seconds:  # with those that it started
                    break
        pipe.send(None)
    except BaseException:
        traceback.print_exc()
        os._exit(3)
    os._exit(0)


def judged(target: ModuleType, data: bytes, folder: Path) -> tuple[str, bool]:
    """(what came of an example, empty for a clean result; whether that is a crash)."""
    before = time.process_time()
    try:
        with _timer():
            target.read(data, folder)
        what, crashed = "", False
    except UserError as error:
        what = str(error)
        first, *problems = what.split("\n")  # one in its line, several as a list
        listed = not problems or first.endswith(" problems")
        longest = max(map(len, (first, *problems)))
        crashed = longest > LONGEST_LINE or not listed or not what.replace("\n", "").isprintable() or not what
        what = f"no line for a person: {what[:300]!a}" if crashed else what
    except _TooSlow:
        what, crashed = "too slow: " + _place(2), True
    except MemoryError:
        what, crashed = "too much memory: " + _place(2), True
    except BaseException as error:
        what, crashed = f"{type(error).__name__}: {error!s:.200} ({_place(2)})", True
    used = time.process_time() - before
    if not crashed and used > SECONDS:
        return f"too slow: {used:.1f} s ({what[:80]})", True
    return what, crashed


def _place(count: int) -> str:
    frames = traceback.extract_tb(sys.exc_info()[2])
    ours = [frame for frame in frames if "/vouch/" in frame.filename] or list(frames)
    return " < ".join(f"{Path(f.filename).name}:{f.name}" for f in reversed(ours[-count:]))


@contextmanager
def _timer() -> Iterator[None]:
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _too_slow(_number: int, _frame: object) -> NoReturn:
    raise _TooSlow


def _hush() -> None:
    """Libraries warn of damage in their own words; what counts is what is raised."""
    warnings.simplefilter("ignore")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def _bound_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY,) * 2)


def record(report: Report) -> dict[str, Any]:
    """What the log keeps; the examples of crashes lie in files."""
    return {**vars(report), "crashes": [crash["what"] for crash in report.crashes]}
