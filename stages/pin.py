"""pin: `python -m stages.pin MODEL` records exactly which model a name of params.yaml means.

Inputs   its source: a folder of weights, a folder of released answers, or its entry of models.lock
Output   data/models/MODEL.json
"""

from pathlib import Path

from vouch.models.lock_entry import LOCK
from vouch.models.pins import pinned
from vouch.params.start import run_stage
from vouch.pipeline.run import Run
from vouch.pipeline.yaml12 import load
from vouch.tables.answered import pin_path, write_pin


def main(run: Run) -> None:
    """Resolves the source, checks its files and writes the pin."""
    (name,) = run.keys
    (sources,) = run.params.values()  # of the section `models` or `helpers`
    write_pin(pin_path(name), pinned(name, sources[name], load(Path(LOCK))["models"]))


if __name__ == "__main__":
    run_stage("pin", main)
