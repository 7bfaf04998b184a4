"""Modes that a self-check has found, kept so that they follow from the model and not from free memory."""

from importlib.metadata import version
from pathlib import Path
from typing import Any

from vouch.models.decoder.jobs import MODES, Mode
from vouch.pipeline.files import sealed, unsealed, write_json

_LIBRARIES = ("torch", "transformers")

Found = tuple[Mode, dict[str, Any]]


def mode_path(folder: Path, model: str, revision: int) -> Path:
    """Where the mode of a model (the digest of its pin) lies, for an engine's revision and libraries."""
    versions = "-".join(f"{name}{version(name)}" for name in _LIBRARIES)
    return folder / f"{model[:16]}-{revision}-{versions}.json"


def known_mode(path: Path) -> Found | None:
    """The mode in a file with its report; None where there is none, or the file is damaged."""
    found = unsealed(path) or {}
    mode, report = found.get("mode"), found.get("report")
    return (mode, report) if mode in MODES and isinstance(report, dict) else None


def keep_mode(path: Path, found: Found) -> None:
    """Writes a mode and its report."""
    write_json(path, sealed({"mode": found[0], "report": found[1]}))
