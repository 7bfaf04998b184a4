"""pin MODEL: an entry of models.lock -> data/models/MODEL.json."""

from pathlib import Path
from typing import Any

from vouch.models.pins.config import HubSource, LockEntry, ServerSource
from vouch.models.pins.hub import fetch
from vouch.models.pins.model_folder import check_digests, check_model_folder, count_parameters, weight_files
from vouch.models.pins.templates import read_template
from vouch.params.start import run_stage
from vouch.pipeline.errors import UserError
from vouch.pipeline.stage import Run
from vouch.tables.pins import Pin, Source, folder_digests, pin_path, write_pin


def main(run: Run) -> None:
    """Resolves the entry, checks the folder and writes the pin."""
    (model,) = run.keys
    entry = LockEntry.model_validate(run.lock("models.lock")["models"][model])
    allowed = model in run.params["unpinned"]
    if not entry.pinned and not allowed:
        raise _unpinned(model, "its commit or the digests of its weights are missing")
    known: dict[str, Any] = {
        "model": model,
        "engine": entry.engine,
        "template": read_template(entry.template) if entry.template else None,
        "dtype": entry.dtype,
        "facts": entry.facts.model_dump(exclude_defaults=True),
    }
    source = Source.model_validate(entry.source.model_dump())
    if isinstance(entry.source, ServerSource):
        write_pin(pin_path(model), Pin(source=source, files={}, parameters=entry.parameters, **known))
        return
    if isinstance(entry.source, HubSource):
        folder = fetch(entry.source.repo, entry.source.revision)
        source.revision = folder.name  # the commit, which a branch that is not resolved yet stands for now
    else:
        folder = Path(entry.source.path)
    check_model_folder(folder)
    counted = count_parameters(folder)
    digests = folder_digests(folder)
    check_digests(entry.files, digests, folder)
    bare = [path.name for path in weight_files(folder) if path.name not in entry.files]
    if bare and not allowed:
        raise _unpinned(model, f"{bare[0]} has no digest")
    pin = Pin(source=source, files=digests, parameters=entry.parameters or counted, **known)
    write_pin(pin_path(model), pin)
    run.note("bytes", sum((folder / name).stat().st_size for name in digests))


def _unpinned(model: str, what: str) -> UserError:
    return UserError(
        f"models.lock: {model} is not pinned, {what}; run `vouch lock {model}`, or name it under "
        "`unpinned` in params.yaml"
    )


if __name__ == "__main__":
    run_stage("pin", main)
