"""Modes that a self-check has found, kept so that they follow from the model and not from free memory."""

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

from stages.contracts.files import write_json
from stages.extract.jobs import MODES, Mode

_LIBRARIES = ("torch", "transformers")

Found = tuple[Mode, dict[str, Any]]


def mode_path(folder: Path, model: str, revision: int) -> Path:
    """Where the mode of a model (the digest of its pin) lies, for an engine's revision and libraries."""
    versions = "-".join(f"{name}{version(name)}" for name in _LIBRARIES)
    return folder / f"{model[:16]}-{revision}-{versions}.json"


def known_mode(path: Path) -> Found | None:
    """The mode in a file with its report; None where there is none, or the file is damaged."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        mode, report = found["mode"], found["report"]
    except (OSError, ValueError, LookupError, TypeError):
        return None
    return (mode, report) if mode in MODES and isinstance(report, dict) else None


def keep_mode(path: Path, found: Found) -> None:
    """Writes a mode and its report."""
    write_json(path, {"mode": found[0], "report": found[1]})
