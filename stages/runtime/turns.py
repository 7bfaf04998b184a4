"""One run of a stage at a time, and no leftovers of runs that were killed.

An engine that dies leaves its stage running: the next command starts the same stage a second time.
"""

import fcntl
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from stages.dag import Stage
from stages.runtime.errors import UserError
from stages.runtime.freshness import receipt_path

TURNS = Path(".vouch/turns")
PATIENCE_SECONDS = 12 * 3600.0
_POLL_SECONDS = 0.5


@contextmanager
def turn(stage: Stage, patience: float = PATIENCE_SECONDS) -> Iterator[bool]:
    """Holds the turn of a stage; yields whether another run of it had to be waited for.

    The turn of a killed run ends with its process. Raises UserError after `patience` seconds.
    """
    TURNS.mkdir(parents=True, exist_ok=True)
    with (TURNS / stage.slug).open("a", encoding="utf-8") as handle:
        waited = _wait_for(handle, stage, patience)
        _remove_leftovers(stage)
        yield waited


def _wait_for(handle: TextIO, stage: Stage, patience: float) -> bool:
    deadline = time.monotonic() + patience
    waited = False
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return waited
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise UserError(
                    f"{stage.name}: another run of it has been busy for {patience:.0f} s; wait until it "
                    "ends, or stop it, then run the same command again"
                ) from None
        if not waited:
            print(f"{stage.name}: another run of it is busy; waiting for it", file=sys.stderr, flush=True)
            waited = True
        time.sleep(min(_POLL_SECONDS, patience))


def _remove_leftovers(stage: Stage) -> None:
    """Removes what earlier runs of a stage left under temporary names; whose turn it is has none yet."""
    for path in (*map(Path, stage.outs), receipt_path(stage)):
        for leftover in path.parent.glob(f".{path.name}.*.part"):
            if leftover.is_dir():
                shutil.rmtree(leftover)
            else:
                leftover.unlink(missing_ok=True)
