"""Ways to disturb a run, each as it really happens: signals, a full disk, limits of memory, a wrong clock."""

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.checkouts.checkout import Checkout
from tools.crash.points import Point
from tools.crash.running import Runner, Watch, wait_for
from vouch.pipeline.dag import Stage

COMMANDS = {"dvc": ["dvc", "repro"], "snakemake": ["snakemake", "--cores", "2"]}
MB = 1 << 20
CGROUPS = Path("/sys/fs/cgroup/memory")
ADDRESS_SPACE_MB = 900  # what a runner alone needs, where there are no control groups


class Unable(Exception):
    """This machine cannot do it: not root, or a tool is missing."""


def kill(checkout: Checkout, stage: Stage, point: Point, log: Path) -> tuple[Runner, bool]:
    """Starts the runner and kills when the event of the point comes; whether something was killed."""
    watch = Watch(checkout, stage)
    runner = Runner(checkout, COMMANDS[point.runner], log)
    if not wait_for(runner, watch, stage, point.event, point.nth):
        return runner, False
    time.sleep(point.delay)
    return runner, runner.kill(point.victim, stage)


def two(checkout: Checkout, point: Point, log: Path) -> tuple[Runner, Runner]:
    """Two runners at once, one a little later; both have ended."""
    first = Runner(checkout, COMMANDS[point.runner], log)
    time.sleep(point.delay)
    second = Runner(checkout, COMMANDS[point.finisher], log.with_suffix(".second.log"))
    for runner in (first, second):
        runner.wait()
    return first, second


def limited(checkout: Checkout, point: Point, log: Path) -> Runner:
    """A run in a control group that has so many MB; without control groups, with so little address space."""
    command = COMMANDS[point.runner]
    group = CGROUPS / f"vouch-crash-{os.getpid()}-{point.number}"
    try:
        group.mkdir()
    except OSError:
        size = str(int((ADDRESS_SPACE_MB + point.amount) * MB))
        runner = Runner(checkout, ["prlimit", f"--as={size}", *command], log)
        runner.wait()
        return runner
    try:
        (group / "memory.limit_in_bytes").write_text(str(int(point.amount * MB)))
        enter = f"echo $$ > {group}/cgroup.procs && exec {' '.join(command)}"
        runner = Runner(checkout, ["sh", "-c", enter], log)
        runner.wait()
        return runner
    finally:
        _retry(group.rmdir)


def shifted(days: float, command: list[str]) -> list[str]:
    """A command that thinks it is another day."""
    if shutil.which("faketime") is None:
        raise Unable("faketime is missing (Debian: faketime)")
    stable = ["env", "FAKETIME_DONT_FAKE_MONOTONIC=1", "faketime", "-f"]
    return [*stable, f"{days:+f}d", *command]


@contextmanager
def small_disk(place: Path) -> Iterator[Callable[[float | None], None]]:
    """A file system in memory at `place`. Yields what sets its free MB; None takes the limit away."""
    place.mkdir(parents=True)
    _mount("-t", "tmpfs", "-o", "size=90%", "vouch-crash", str(place))

    def free(megabytes: float | None) -> None:
        used = shutil.disk_usage(place).used
        size = "90%" if megabytes is None else str(int(used + megabytes * MB))
        _mount("-o", f"remount,size={size}", str(place))

    try:
        yield free
    finally:
        _unmount(place)


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """A folder that nobody can write to, root included."""
    _mount("--bind", str(folder), str(folder))
    try:
        _mount("-o", "remount,ro,bind", str(folder))
        yield
    finally:
        _unmount(folder)


def unmount_within(place: Path) -> None:
    """Takes away what is mounted at a folder or below it, the deepest first."""
    table = Path("/proc/self/mounts").read_text("utf-8", "surrogateescape").splitlines()
    found = [Path(re.sub(r"\\([0-7]{3})", _character, line.split(" ")[1])) for line in table]
    for mount in sorted((path for path in found if path.is_relative_to(place)), reverse=True):
        _unmount(mount)


def _character(octal: re.Match[str]) -> str:
    return chr(int(octal[1], 8))


def _unmount(place: Path) -> None:
    _retry(lambda: subprocess.run(["umount", str(place)], check=True, capture_output=True))


def _mount(*arguments: str) -> None:
    done = subprocess.run(["mount", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Unable(f"mount: {done.stderr.strip()}")


def _retry(action: Callable[[], object]) -> None:
    """Does what may be refused for a moment, while processes that were killed are being cleared away."""
    for _ in range(50):
        try:
            action()
            return
        except (OSError, subprocess.CalledProcessError):
            time.sleep(0.1)
    action()
