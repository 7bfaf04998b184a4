"""What the two runners cost on the full matrix: `python -m benchmarks.runners` from the repository root.

A checkout of 26 models x 14 datasets (489 stages) with simulated, fresh outputs. First `vouch store sync`
records them in dvc.lock; then everything is up to date, and what finds that out is timed in turn:
`dvc repro` against `dvc version`, `snakemake -n` against `snakemake --version`, `vouch plan` and
`vouch store sync` against an interpreter that imports the same. Then the floor: `dvc repro` in projects of as
many stages that do nothing, with few and with as many inputs and outputs. Processor time with all children,
median of rounds.
"""

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks._figure import figure
from benchmarks._floor import floor
from benchmarks._matrix import matrix
from tests.checkouts.checkout import Checkout

MODELS, DATASETS, ROUNDS = 26, 14, 3
VOUCH = (sys.executable, "-m", "vouch.cli.main")
COMMANDS = {
    "dvc version": ("dvc", "version"),
    "dvc repro": ("dvc", "repro"),
    "dvc repro -P": ("dvc", "repro", "--all-pipelines"),
    "snakemake --version": ("snakemake", "--version"),
    "snakemake -n": ("snakemake", "--cores", "2", "--dry-run"),
    "vouch --help": (*VOUCH, "--help"),
    "vouch plan": (*VOUCH, "plan"),
    "vouch store sync": (*VOUCH, "store", "sync"),
}
# what does nothing -> what finds out that there is nothing to do, and how many times as long it may take
AIMS = {
    "dvc repro": ("dvc version", 12.0),
    "dvc repro -P": ("dvc version", 12.0),
    "snakemake -n": ("snakemake --version", 4.0),
    "vouch plan": ("vouch --help", None),
    "vouch store sync": ("vouch --help", None),
}
NOTHING = {
    "dvc repro": "up to date",
    "dvc repro -P": "up to date",
    "snakemake -n": "Nothing to be done",
    "vouch store sync": "(0 newly recorded)",
}


# inputs and outputs of a stage: the least, what a stage here has without code, and with it
FLOORS = ((1, 1), (3, 4), (13, 4))


def seconds(checkout: Checkout, command: Sequence[str], said: str = "") -> float:
    """Processor seconds of a command and its children; ends where it fails or does not say that."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
        running = subprocess.Popen(
            command, cwd=checkout.path, env=checkout.env, stdout=output, stderr=subprocess.STDOUT
        )
        _, status, usage = os.wait4(running.pid, 0)
        output.seek(0)
        text = output.read()
    if status or said not in text:
        sys.exit(f"{' '.join(command)} gave {status} without {said!r}\n{text[-2000:]}")
    return usage.ru_utime + usage.ru_stime


def floors(stages: int, version: float) -> None:
    """Prints the floors; version: seconds of `dvc version`."""
    for inputs, outputs in FLOORS:
        with tempfile.TemporaryDirectory() as folder:
            checkout = floor(Path(folder) / "one", stages, inputs, outputs)
            rounds = [_repro(checkout) for _ in range(ROUNDS + 1)]  # the first hashes the files
        taken = statistics.median(rounds[1:])
        name = f"dvc_repro_of_{inputs}_in_{outputs}_out"
        figure(name, taken, "s", "dvc version", version, version / taken)


def _repro(checkout: Checkout) -> float:
    return seconds(checkout, COMMANDS["dvc repro"], NOTHING["dvc repro"])


def main() -> None:
    """Prints the figures."""
    with tempfile.TemporaryDirectory() as folder:
        checkout = matrix(Path(folder) / "one", MODELS, DATASETS)
        stages = len(checkout.names())
        first = seconds(checkout, COMMANDS["vouch store sync"], "newly recorded")
        figure("vouch_sync_records_489_stages", first, "s")
        figure("dvc_lock_of_489_stages", (checkout.path / "dvc.lock").stat().st_size / 2**10, "KiB")
        taken: dict[str, list[float]] = {name: [] for name in COMMANDS}
        for _ in range(ROUNDS):
            for name, command in COMMANDS.items():
                taken[name].append(seconds(checkout, command, NOTHING.get(name, "")))
    middle = {name: statistics.median(values) for name, values in taken.items()}
    for name, (peer, aim) in AIMS.items():
        short = name.replace(" -", "_").replace(" ", "_")
        figure(short, middle[name], "s", peer, middle[peer], middle[peer] / middle[name], aim and 1 / aim)
    floors(stages, middle["dvc version"])


if __name__ == "__main__":
    main()
