"""What a hostile input may cost: no test of one takes longer or more."""

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SECONDS, MEMORY = 60, 2 << 20  # of processor time; kB


@contextmanager
def bounded() -> Iterator[None]:
    """Fails where the block, with the processes that it starts, exceeds either."""
    Path("/proc/self/clear_refs").write_text("5", "ascii")  # forgets the peak so far
    # what the tests before left in memory, or their processes took, is not this block's
    begun, held, largest = sum(os.times()[:4]), _peak(), _largest_child()
    yield
    assert sum(os.times()[:4]) - begun < SECONDS
    assert _peak() - held < MEMORY
    assert _largest_child() < max(held + MEMORY, largest + 1)  # a child begins with what this process holds


def _largest_child() -> int:
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss


def _peak() -> int:
    """KiB."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text("utf-8").splitlines())
    return int(status["VmHWM"].split()[0])
