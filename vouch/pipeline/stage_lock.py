"""One run of a stage at a time, and no leftovers of runs that were killed.

An engine that dies leaves its stage running: the next command starts the same stage a second time.
"""

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vouch.pipeline.dag import Stage
from vouch.pipeline.freshness import receipt_path
from vouch.pipeline.locks import claimed

TURNS = Path(".vouch/turns")
PATIENCE_SECONDS = 12 * 3600.0


@contextmanager
def turn(stage: Stage, patience: float = PATIENCE_SECONDS) -> Iterator[bool]:
    """Holds the turn of a stage; yields whether another run of it had to be waited for.

    The turn of a killed run ends with its process. Raises UserError after `patience` seconds.
    """
    waited = False

    def waiting() -> None:
        nonlocal waited
        waited = True
        print(f"{stage.name}: another run of it is busy; waiting for it", file=sys.stderr, flush=True)

    with claimed(TURNS / stage.slug, patience, stage.name, "at work", waiting):
        _remove_leftovers(stage)
        yield waited


def _remove_leftovers(stage: Stage) -> None:
    """Removes what earlier runs of a stage left under temporary names; whose turn it is has none yet."""
    for path in (*map(Path, stage.outs), receipt_path(stage)):
        for leftover in path.parent.glob(f".{path.name}.*.part"):
            if leftover.is_dir():
                shutil.rmtree(leftover)
            else:
                leftover.unlink(missing_ok=True)
