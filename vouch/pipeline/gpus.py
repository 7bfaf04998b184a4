"""A GPU of its own for every process of this machine that loads a model: a lease that ends with the process.

Two models on one GPU would halve each other's rows when memory runs out, and that moves last bits.
"""

import os
import re
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from vouch.pipeline.errors import UserError
from vouch.pipeline.locks import acquired

if TYPE_CHECKING:
    from filelock import BaseFileLock

VISIBLE = "CUDA_VISIBLE_DEVICES"
PATIENCE_SECONDS = 12 * 3600.0
_POLL_SECONDS = 0.5
_UUID = re.compile(r"\(UUID: ((?:GPU|MIG)-[^)\s]+)\)")

_held: "list[BaseFileLock]" = []  # until the process ends
_leased: list[str] = []


def lease(everything: bool = False) -> list[str]:
    """Makes one free GPU (or all of them) the only one that this process sees; waits until there is one.

    To be called before CUDA is first asked anything. Returns what CUDA_VISIBLE_DEVICES holds now, an empty
    list where there is no GPU. Raises UserError after a long wait. Later calls return the same.
    """
    if not _leased and (gpus := visible()):
        _leased.extend(_take(gpus, everything))
        os.environ[VISIBLE] = ",".join(_leased)
    return list(_leased)


def visible() -> dict[str, str]:
    """The GPUs that this process may use: how CUDA_VISIBLE_DEVICES calls it -> its UUID."""
    known = _installed()
    chosen = os.environ.get(VISIBLE)
    if chosen is None or not known:
        return {uuid: uuid for uuid in known}
    names: dict[str, str] = {}
    for name in chosen.replace(" ", "").split(","):
        if name.isdecimal() and int(name) < len(known):
            names[name] = known[int(name)]
        elif name.startswith(("GPU-", "MIG-")):  # may be cut short
            names[name] = next((uuid for uuid in known if uuid.startswith(name)), name)
        else:
            break  # as CUDA does: what is not there hides all that follow
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
    deadline = time.monotonic() + PATIENCE_SECONDS
    taken: list[str] = []
    told = False
    while True:
        # All of them in one order: two processes that want all cannot wait for each other.
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
                f"{PATIENCE_SECONDS:.0f} s; wait until one ends, or stop it, then run the stage again"
            )
        if not told:
            print(f"all {len(gpus)} GPUs are in use by other runs; waiting for one", file=sys.stderr)
            told = True
        time.sleep(_POLL_SECONDS)


def _folder() -> Path:
    """Where this user's leases lie: on this machine, for all checkouts. Raises UserError."""
    folder = Path(tempfile.gettempdir()) / f"vouch-gpus-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise UserError(f"{folder}: belongs to somebody else; set TMPDIR to a folder of your own")
    return folder
