"""What a crash may not do to a checkout: pure findings about its files."""

import hashlib
import json
import re
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from vouch.pipeline.files import PART

PLACES = ("data", "reports", ".vouch")
TEMPORARY = re.compile(rf"{PART.pattern}|\..+\.tmp")  # ours and DVC's
_OBJECT = re.compile(r"[0-9a-f]{32}(\.dir)?")


def files(root: Path, *places: str) -> list[Path]:
    """Files below some folders of a checkout; those that vanish meanwhile may be among them."""
    return sorted(path for place in places for path in (root / place).rglob("*") if path.is_file())


def temporary(path: Path, root: Path) -> bool:
    """Whether a path bears a temporary name, or lies in a folder that does."""
    return any(TEMPORARY.fullmatch(part) for part in path.relative_to(root).parts)


def not_whole(root: Path) -> list[str]:
    """Files under their own names that cannot be read to the end."""
    found = []
    for path in files(root, *PLACES):
        if temporary(path, root) or path.suffix not in (".parquet", ".json"):
            continue
        try:
            if path.suffix == ".json":
                json.loads(path.read_text("utf-8"))
            else:
                pq.read_table(path, page_checksum_verification=True)
        except FileNotFoundError:
            continue
        except (OSError, ValueError, pa.ArrowException) as error:
            found.append(f"{path.relative_to(root)}: {str(error).splitlines()[0]:.100}")
    return found


def leftovers(root: Path) -> list[str]:
    """Temporary files and folders."""
    every = (path for place in PLACES for path in (root / place).rglob("*"))
    return sorted(str(path.relative_to(root)) for path in every if TEMPORARY.fullmatch(path.name))


@dataclass
class Kept:
    """What is finished at a moment: digests of files, answers of models by key."""

    digests: dict[str, str] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    answers: list[bytes] = field(default_factory=list)

    def outputs(self) -> set[tuple[str, str]]:
        """Paths and digests of what stages make."""
        return {pair for pair in self.digests.items() if pair[0].startswith(("data/", "reports/"))}


def kept(root: Path) -> Kept:
    """Outputs, answers and DVC's cache; no temporary files."""
    now = Kept()
    for path in files(root, "data", "reports", ".vouch/work", ".dvc/cache/files"):
        parts = path.relative_to(root).parts
        if temporary(path, root) or path.name in (".snakemake_timestamp", ".lock"):
            continue
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            continue
        name = str(path.relative_to(root))
        if parts[0] == ".dvc" and not _named_by_content(path, data):
            continue
        now.digests[name], now.sizes[name] = hashlib.sha256(data).hexdigest(), len(data)
        if parts[:2] == (".vouch", "work") and path.suffix == ".parquet":
            now.answers += _keys(path)
    return now


def _named_by_content(path: Path, data: bytes) -> bool:
    """Whether an object of DVC's cache is what its name says; those being written have other names."""
    digest = hashlib.md5(data, usedforsecurity=False).hexdigest()
    return path.parent.name + path.name.removesuffix(".dir") == digest


def _keys(path: Path) -> list[bytes]:
    try:
        keys: list[bytes] = pq.read_table(path, columns=["key"]).column("key").to_pylist()
        return keys
    except (OSError, pa.ArrowException):
        return []


def damaged_objects(root: Path) -> list[str]:
    """Objects of DVC's cache whose content is not what their name says."""
    found = []
    for path in files(root, ".dvc/cache/files"):
        if _OBJECT.fullmatch(f"{path.parent.name}{path.name}") and not _named_by_content(
            path, path.read_bytes()
        ):
            found.append(str(path.relative_to(root)))
    return found


def lost(before: Kept, after: Kept) -> dict[str, int]:
    """Bytes by file that were finished before and are no longer there, or not the same."""
    return {
        name: before.sizes[name]
        for name, digest in before.digests.items()
        if after.digests.get(name) != digest
    }


def extractions(root: Path) -> dict[str, bytes]:
    """The local records of extractions: one that changes tells of a run."""
    return {path.name: path.read_bytes() for path in (root / ".vouch/runs").glob("extract-*.json")}


def answers(root: Path, told: dict[str, bytes], before: Kept, after: Kept) -> dict[str, int]:
    """Answers on disk at the crash, and what runs since asked and knew.

    told: `extractions` at the crash.
    """
    counted = {"kept": len(before.answers), "asked": 0, "known": 0}
    for name, text in extractions(root).items():
        if text != told.get(name):
            found = json.loads(text)["measured"]["answers"]
            counted["asked"] += found["asked"]
            counted["known"] += found["known"]
    return {**counted, "twice": len(after.answers) - len(set(after.answers))}
