"""Processes as the kernel tells of them, where it does (/proc)."""

import os
from typing import NamedTuple


class Seen(NamedTuple):
    """A process. state: one letter, Z and X have ended. started: its start, in ticks since the machine's."""

    state: str
    parent: int
    started: int


def seen(pid: int) -> Seen | None:
    """What /proc tells of a process; None where it tells nothing."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
            state, *others = stat.read().rpartition(")")[2].split()  # the name before it may hold anything
    except OSError:
        return None
    return Seen(state, int(others[0]), int(others[18]))


def exists(pid: int) -> bool:
    """Whether a process of this machine has this number."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def gone(pid: int, started: int | None) -> bool:
    """Whether a process of this machine has ended. started: tells one that got its number later from it."""
    if not exists(pid):
        return True
    now = seen(pid)
    return now is not None and (now.state in "ZX" or now.started != started)


def ancestors() -> list[int]:
    """The parent of this process, its parent, and so on; the parent alone where the kernel tells no more."""
    found = [os.getppid()]
    while (parent := seen(found[-1])) and parent.parent and parent.parent not in found:
        found.append(parent.parent)
    return found
