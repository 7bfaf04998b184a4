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
    begun = sum(os.times()[:4])
    yield
    assert sum(os.times()[:4]) - begun < SECONDS
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text("utf-8").splitlines())
    assert int(status["VmHWM"].split()[0]) < MEMORY
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < MEMORY
