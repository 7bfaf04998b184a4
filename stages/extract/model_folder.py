"""Where the files of a pinned model lie, and whether they are still those that were pinned."""

from pathlib import Path

from stages.contracts.pins import LOADED_SUFFIXES, Pin, folder_digests
from stages.runtime.errors import UserError


def pinned_folder(pin: Pin) -> Path:
    """The model's folder, every file compared with its pin. Raises UserError where one differs."""
    folder = _hub_folder(pin) if pin.source.kind == "hub" else Path(pin.source.path or "")
    found = folder_digests(folder)
    for name in sorted({*found, *pin.files}):
        if found.get(name) != pin.files.get(name):
            problem = (
                "missing" if name not in found else "not as pinned" if name in pin.files else "not in the pin"
            )
            stage = "zoo" if pin.source.kind == "zoo" else "pin"
            raise UserError(
                f"{folder / name}: {problem}; restore the folder, or pin what it holds now with "
                f"`dvc repro --force --single-item {stage}@{pin.model}`"
            )
    return folder


def _hub_folder(pin: Pin) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    repo, revision = pin.source.repo or "", pin.source.revision
    try:
        return Path(
            snapshot_download(
                repo,
                revision=revision,
                allow_patterns=[f"*{suffix}" for suffix in LOADED_SUFFIXES],
                ignore_patterns=["*/*"],
                local_files_only=True,
            )
        )
    except LocalEntryNotFoundError:
        raise UserError(
            f"{repo} at {str(revision)[:12]}: not whole in this machine's cache; fetch it with "
            f"`dvc repro --force --single-item pin@{pin.model}` where there is a network"
        ) from None
