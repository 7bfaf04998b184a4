"""A copy of dvc.lock, because DVC writes it in place: killed meanwhile, it leaves a part of it.

Every stage keeps a copy before it starts; what stages have finished since is in their receipts.
"""

import sys
from pathlib import Path

from stages.contracts.files import replacing
from stages.runtime.errors import UserError
from stages.runtime.freshness import LOCK, read_lock

COPY = Path(".vouch/dvc.lock")
_CONFLICT = b"<<<<<<< "


def keep() -> None:
    """Copies dvc.lock where it is whole and the copy is another."""
    data = LOCK.read_bytes() if LOCK.is_file() else b""
    if _ends_well(data) and not (COPY.is_file() and COPY.read_bytes() == data):
        _write(COPY, data)


def mend() -> None:
    """Puts the copy in the place of a dvc.lock that was cut short; one with a merge conflict stays."""
    if not LOCK.is_file() or _CONFLICT in (data := LOCK.read_bytes()) or (_ends_well(data) and _whole(LOCK)):
        return
    if COPY.is_file() and _whole(COPY):
        _write(LOCK, COPY.read_bytes())
        print(f"{LOCK}: was cut short; its copy of the last run stands in its place", file=sys.stderr)
    else:
        LOCK.unlink()
        print(f"{LOCK}: was cut short; the receipts of the stages count alone", file=sys.stderr)


def _ends_well(data: bytes) -> bool:
    return data.startswith(b"schema:") and data.endswith(b"\n")


def _whole(path: Path) -> bool:
    try:
        read_lock(path)
    except UserError:
        return False
    return True


def _write(path: Path, data: bytes) -> None:
    with replacing(path) as temporary:
        temporary.write_bytes(data)
