"""Where the files of a pinned model lie, and whether they are still those that were pinned."""

from pathlib import Path

from vouch.pipeline.errors import UserError
from vouch.tables.pins import Pin, check_covered, folder_digests, hub_snapshot


def pinned_folder(pin: Pin) -> Path:
    """The model's folder, every file compared with its pin. Raises UserError where one differs, or
    where a file beside them would be loaded."""
    folder = _hub_folder(pin) if pin.source.kind == "hub" else Path(pin.source.path or "")
    found = folder_digests(folder)
    for name in sorted({*found, *pin.files}):
        if found.get(name) != pin.files.get(name):
            problem = (
                "missing" if name not in found else "not as pinned" if name in pin.files else "not in the pin"
            )
            raise UserError(
                f"{folder / name}: {problem}; restore the folder, or pin what it holds now with "
                f"`dvc repro --force --single-item pin@{pin.model}`"
            )
    check_covered(folder)
    return folder


def _hub_folder(pin: Pin) -> Path:
    from huggingface_hub.errors import LocalEntryNotFoundError

    repo, revision = pin.source.repo or "", pin.source.revision or ""
    try:
        return hub_snapshot(repo, revision, local=True)
    except LocalEntryNotFoundError:
        raise UserError(
            f"{repo} at {revision[:12]}: not whole in this machine's cache; fetch it with "
            f"`dvc repro --force --single-item pin@{pin.model}` where there is a network"
        ) from None
