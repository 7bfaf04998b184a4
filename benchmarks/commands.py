"""The cost of the commands that people wait for: `python -m benchmarks.commands` in a checkout with results.

Commands such as `vouch show` are compared with importing the libraries that read tables; runs that find
nothing to do, with the least that their runner can do. Processor time with all children, the best of
alternating rounds; the first round fills the caches of Python and the runners and does not count.
"""

import os
import subprocess
import sys
from collections.abc import Sequence

from benchmarks._figure import figure

ROUNDS = 5
PYTHON = [sys.executable, "-P"]
IMPORTS = [*PYTHON, "-c", "import pandas, pyarrow, pyarrow.parquet"]
VOUCH = [*PYTHON, "-m", "vouch.cli.main"]
# reference -> the commands that are compared with it, and how many times as long each may take
AIMS: dict[tuple[str, ...], dict[tuple[str, ...], float | None]] = {
    tuple(IMPORTS): {
        (*VOUCH, "--help"): None,
        (*VOUCH, "show"): 1.5,
        (*VOUCH, "plan"): None,
        (*VOUCH, "item", "shapes-000000"): None,
        (*VOUCH, "compare", "vouch_l", "vouch_m"): None,
    },
    ("dvc", "status"): {("dvc", "repro"): 1.5},
    ("snakemake", "--version"): {("snakemake", "--cores", "1", "--dry-run", "--quiet"): None},
}


def seconds(command: Sequence[str]) -> float:
    """Processor seconds of a command and its children; ends this program if the command fails."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as running:
        error = running.stderr.read() if running.stderr else ""
        _, status, usage = os.wait4(running.pid, 0)
        running.returncode = os.waitstatus_to_exitcode(status)
    if running.returncode:
        sys.exit(f"{' '.join(command)}: {error[-2000:]}")
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    """Prints the figures; those of runners only if nothing is stale: `dvc repro` would begin to work."""
    status = subprocess.run(["dvc", "status", "--quiet"], check=False)
    for peer, commands in AIMS.items():
        if peer != tuple(IMPORTS) and status.returncode:
            print(f"{' '.join(peer)}: left out, stages are stale; run `dvc repro` first", file=sys.stderr)
            continue
        every = [peer, *commands]
        rounds = [[seconds(command) for command in every] for _ in range(ROUNDS + 1)][1:]
        usual, *others = (min(column) for column in zip(*rounds, strict=True))
        for (command, aim), taken in zip(commands.items(), others, strict=True):
            words = [word for word in command if word not in VOUCH] if command[0] in PYTHON else command
            name = "_".join([*(["vouch"] if command[0] in PYTHON else []), *words]).replace("-", "")
            figure(name, taken, "s", " ".join(peer[-2:]), usual, usual / taken, aim and 1 / aim)


if __name__ == "__main__":
    main()
