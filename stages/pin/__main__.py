"""pin MODEL: an entry of models.lock -> data/models/MODEL.json."""

from pathlib import Path

from stages.contracts.pins import Pin, Source, folder_digests, pin_path, write_pin
from stages.pin.config import HubSource, LockEntry
from stages.pin.hub import fetch
from stages.pin.model_folder import check_digests, check_model_folder, count_parameters
from stages.runtime.stage import Run, run_stage


def main(run: Run) -> None:
    """Resolves the entry, checks the folder and writes the pin."""
    (model,) = run.keys
    entry = LockEntry.model_validate(run.lock("models.lock")["models"][model])
    source = entry.source
    folder = fetch(source.repo, source.revision) if isinstance(source, HubSource) else Path(source.path)
    check_model_folder(folder)
    counted = count_parameters(folder)
    digests = folder_digests(folder)
    check_digests(entry.files, digests, folder)
    pin = Pin(
        model=model,
        engine=entry.engine,
        source=Source.model_validate(source.model_dump()),
        files=digests,
        dtype=entry.dtype,
        parameters=entry.parameters or counted,
        facts=entry.facts,
    )
    write_pin(pin_path(model), pin)
    run.note("bytes", sum((folder / name).stat().st_size for name in digests))


if __name__ == "__main__":
    run_stage("pin", main)
