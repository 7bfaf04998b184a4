"""What stages made, compared byte by byte with what they recorded, before anything is made of it.

DVC, Snakemake and `Digests` judge by sizes and times which files need to be read again. A byte that turns on
the disk moves neither, and DVC does not look at what its cache holds. So a stage reads its inputs anew, and
so does a command that shows numbers; reading them is less work than what follows.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from pathlib import Path

from vouch.pipeline.dag import DEFINITION, PARAMS, Dag, read_dag
from vouch.pipeline.errors import UserError
from vouch.pipeline.state import LOCK, RECEIPTS, Digests, Record, read_lock, read_receipt


class Recorded:
    """The digests that records have for what stages made. dvc.lock is read where receipts do not suffice."""

    def __init__(self, dag: Dag) -> None:
        self.dag = dag
        self._receipts: dict[str, Record | None] = {}

    @cached_property
    def _lock(self) -> Mapping[str, Record]:
        return read_lock()

    def fits(self, out: str, digest: str | None) -> bool:
        """Whether a record says so of an output, or none knows it. Raises UserError: dvc.lock is damaged."""
        receipt = self._receipt(out)
        if receipt is not None and receipt.outs.get(out) == digest:
            return True
        known = {record.outs.get(out) for record in (receipt, self._lock.get(self.dag.maker[out])) if record}
        return digest in known or not known - {None}

    def knows(self, out: str) -> bool:
        """Whether any record has an output. Raises UserError: dvc.lock is damaged."""
        receipt = self._receipt(out)
        if receipt is not None and receipt.outs.get(out):
            return True
        record = self._lock.get(self.dag.maker[out])
        return record is not None and bool(record.outs.get(out))

    def _receipt(self, out: str) -> Record | None:
        name = self.dag.maker[out]
        if name not in self._receipts:
            self._receipts[name] = read_receipt(self.dag[name])
        return self._receipts[name]


def damaged(recorded: Recorded, paths: Iterable[str], digests: Digests) -> Iterator[str]:
    """Outputs of stages that are there and not as any record has them. Every byte is read."""
    for path in paths:
        if path in recorded.dag.maker:
            digest = digests.of(path, anew=True)
            if digest is not None and not recorded.fits(path, digest):
                yield path


def refuse_damaged(recorded: Recorded, paths: Iterable[str], digests: Digests) -> None:
    """Raises UserError that names the first of them that is not as it was made."""
    for path in damaged(recorded, paths, digests):
        raise UserError(
            f"{path}: damaged, or edited by hand: not the bytes that {recorded.dag.maker[path]} wrote; "
            "`vouch store verify --mend` removes what is damaged, `dvc repro` or `dvc pull` brings it back"
        )


def intact(path: Path) -> Path:
    """The path of a stage's output, once it is sure that it is as it was made. Raises UserError."""
    if path.exists():
        moments = map(_moment, (DEFINITION, Path(PARAMS), LOCK, RECEIPTS))
        refuse_damaged(_recorded(os.getcwd(), *moments), [str(path)], Digests())
    return path


@lru_cache(maxsize=1)
def _recorded(_folder: str, *_moments: int) -> Recorded:
    """The records, read once by a command that reads many tables."""
    return Recorded(read_dag())


def _moment(path: Path) -> int:
    return path.stat().st_mtime_ns if path.exists() else 0
