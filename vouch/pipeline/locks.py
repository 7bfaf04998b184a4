"""Locks, so that a stage runs only once at a time: `filelock`, and a line that says who holds a lock.

A lock ends with its process, so a killed run never blocks the next one. If a file system refuses flock (NFS
without its lock service, Lustre mounted without `flock`, some FUSE), a marker file replaces it: one left by a
dead process on this machine is taken over; one from another machine is named, for a person to delete.

Every process of this machine that loads a model gets a GPU of its own: a lease that ends with the process.

If two models shared a GPU and its memory ran out, they would ask fewer rows at once: that changes last bits.
"""

import errno
import os
import re
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from vouch.pipeline.dag import Stage
from vouch.pipeline.errors import UserError
from vouch.pipeline.records import receipt_path

if TYPE_CHECKING:
    from filelock import BaseFileLock


STAGES = Path(".vouch/locks")
PATIENCE_SECONDS = 12 * 3600.0
_POLL_SECONDS = 0.5
_TRIES = 100
_WRITTEN_SECONDS = 2.0  # by then, the process that made a marker has written into it
_NO_FLOCK = frozenset({errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS})


def acquired(path: Path, patience: float = 0) -> "BaseFileLock":
    """The lock that a path names, held until its `release` or the end of the process.

    Raises filelock.Timeout after `patience` seconds; if that is 0, at once.
    """
    from filelock import FileLock, SoftFileLock  # imported late: a cluster job that only plans needs no lock

    path.parent.mkdir(parents=True, exist_ok=True)
    lock: BaseFileLock = FileLock(path, fallback_to_soft=False)
    try:
        lock.acquire(timeout=patience, poll_interval=_POLL_SECONDS)
    except OSError as error:  # Timeout is one too, without a number
        if error.errno not in _NO_FLOCK:
            raise
        lock = SoftFileLock(_marker(path))
        _acquire_marker(lock, patience)
    else:
        with suppress(OSError):  # a full disk only costs the name of the holder
            path.write_text(f"{os.getpid()}\n{socket.gethostname()}\n", encoding="utf-8")
    return lock


def _acquire_marker(lock: "BaseFileLock", patience: float) -> None:
    """Like `lock.acquire`, but again if the holder removes the marker while filelock looks at it."""
    for _ in range(_TRIES):
        with suppress(FileNotFoundError):
            lock.acquire(timeout=patience, poll_interval=_POLL_SECONDS)
            return
    lock.acquire(timeout=patience, poll_interval=_POLL_SECONDS)


def _marker(path: Path) -> Path:
    """A name other than the lock file's: lock files stay, but a marker that exists is a held lock."""
    return path.with_name(f"{path.name}.held")


def _holder(path: Path) -> str:
    """` (process 7 on node; ...)`, empty if the holder has not said who it is."""
    soft = _marker(path).exists()
    with suppress(OSError, ValueError):
        pid, host, *_ = (_marker(path) if soft else path).read_text(encoding="utf-8").splitlines()
        return f" (process {pid} on {host}{f'; if it is gone, delete {_marker(path)}' if soft else ''})"
    return ""


def _refuse_nameless(marker: Path, what: str) -> None:
    """Raises UserError if a marker stays empty: the disk was full, or its process was killed before writing.

    Nobody can tell whether its owner is alive, so others would wait for it until their patience ends.
    """
    begun = time.monotonic()
    while marker.is_file() and not marker.stat().st_size:
        if time.monotonic() - begun > _WRITTEN_SECONDS:
            raise UserError(f"{what}: {marker} names no process; if no other run is at work, delete it")
        time.sleep(_POLL_SECONDS)


@contextmanager
def locked(
    path: Path, patience: float, what: str, doing: str, waiting: Callable[[], None] = lambda: None
) -> Iterator[None]:
    """Holds the lock that a path names. waiting: called once if another process has it.

    Raises UserError after `patience` seconds, "WHAT: another run (process 7 on node) has been DOING for 5 s".
    """
    from filelock import Timeout

    try:
        try:
            lock = acquired(path)
        except Timeout:
            _refuse_nameless(_marker(path), what)
            waiting()
            lock = acquired(path, patience)
    except Timeout:
        raise UserError(
            f"{what}: another run{_holder(path)} has been {doing} for {patience:.0f} s; wait until it ends, "
            "or stop it, then run the same command again"
        ) from None
    try:
        yield
    finally:
        lock.release()


@contextmanager
def stage_lock(stage: Stage, patience: float = PATIENCE_SECONDS) -> Iterator[bool]:
    """Allows one run of a stage at a time; yields whether it had to wait for another run.

    A killed runner leaves its stage running, and the next command starts the same stage again: without the
    lock, both would write the same files. Removes temporary files of killed runs. Raises UserError after
    `patience` seconds.
    """
    waited = False

    def waiting() -> None:
        nonlocal waited
        waited = True
        print(f"{stage.name}: another run of it is busy; waiting for it", file=sys.stderr, flush=True)

    with locked(STAGES / stage.slug, patience, stage.name, "at work", waiting):
        for path in (*map(Path, stage.outs), receipt_path(stage)):
            for leftover in path.parent.glob(f".{path.name}.*.part"):
                if leftover.is_dir():
                    shutil.rmtree(leftover)
                else:
                    leftover.unlink(missing_ok=True)
        yield waited


VISIBLE = "CUDA_VISIBLE_DEVICES"
GPU_PATIENCE_SECONDS = 12 * 3600.0
_GPU_POLL_SECONDS = 0.5
_UUID = re.compile(r"\(UUID: ((?:GPU|MIG)-[^)\s]+)\)")

_held: "list[BaseFileLock]" = []  # until the process ends
_leased: list[str] = []


def lease(everything: bool = False) -> list[str]:
    """Makes one free GPU (or all of them) the only one that this process sees; waits until there is one.

    Must be called before anything else uses CUDA. Returns the names now in CUDA_VISIBLE_DEVICES, an empty
    list if there is no GPU. Raises UserError after a long wait. Later calls return the same.
    """
    if not _leased and (gpus := visible()):
        _leased.extend(_take(gpus, everything))
        os.environ[VISIBLE] = ",".join(_leased)
    return list(_leased)


def visible() -> dict[str, str]:
    """The GPUs that this process may use: name in CUDA_VISIBLE_DEVICES -> UUID."""
    known = _installed()
    chosen = os.environ.get(VISIBLE)
    if chosen is None or not known:
        return {uuid: uuid for uuid in known}
    names: dict[str, str] = {}
    for name in chosen.replace(" ", "").split(","):
        if name.isdecimal() and int(name) < len(known):
            names[name] = known[int(name)]
        elif name.startswith(("GPU-", "MIG-")):  # a UUID, which may be abbreviated
            names[name] = next((uuid for uuid in known if uuid.startswith(name)), name)
        else:
            break  # as CUDA does: an absent GPU hides all that follow
    return names


def _installed() -> list[str]:
    """UUIDs of the GPUs, or of the parts that they are divided into, as the driver lists them."""
    try:
        said = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return []
    found: list[str] = []
    for uuid in _UUID.findall(said.stdout):
        if uuid.startswith("MIG-") and found and found[-1].startswith("GPU-"):
            found.pop()  # the GPU that is divided
        found.append(uuid)
    return found


def _take(gpus: dict[str, str], everything: bool) -> list[str]:
    from filelock import Timeout

    folder = _folder()
    deadline = time.monotonic() + GPU_PATIENCE_SECONDS
    taken: list[str] = []
    told = False
    while True:
        # Always in the same order, so that two processes that want all GPUs cannot wait for each other.
        for name, uuid in sorted(gpus.items(), key=lambda gpu: gpu[1]) if everything else gpus.items():
            if name in taken:
                continue
            try:
                _held.append(acquired(folder / f"{uuid}.lock"))
            except Timeout:
                if everything:
                    break
                continue
            taken.append(name)
            if not everything or len(taken) == len(gpus):
                return [name for name in gpus if name in taken]
        if time.monotonic() >= deadline:
            raise UserError(
                f"{folder}: all {len(gpus)} GPUs have been in use by other runs for "
                f"{GPU_PATIENCE_SECONDS:.0f} s; wait until one ends, or stop it, then run the stage again"
            )
        if not told:
            print(f"all {len(gpus)} GPUs are in use by other runs; waiting for one", file=sys.stderr)
            told = True
        time.sleep(_GPU_POLL_SECONDS)


def _folder() -> Path:
    """The folder of this user's leases, on this machine and for all checkouts. Raises UserError."""
    folder = Path(tempfile.gettempdir()) / f"vouch-gpus-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise UserError(f"{folder}: belongs to somebody else; set TMPDIR to a folder of your own")
    return folder
