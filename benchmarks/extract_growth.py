"""Memory and speed of `extract` as a dataset grows: `python -m benchmarks.extract_growth` from the root.

The demo's questions, 10,000 and ten times as many, asked by the real stages of a project in a temporary
folder, of the smallest model that `train` makes: it computes next to nothing, so what counts is everything
around it. Memory is the peak of the stage's process. Speed is in processor time without that of a run over
ten questions, so that neighbours on a shared machine, imports and loading do not count. `known`: the same
stage again, with all answers in the work cache.
"""

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from benchmarks._figure import figure
from benchmarks._stage import Cost, project, small_profile, stage

MODEL = "tiny_a"
FEW = 10


def parameters(sizes: list[int]) -> dict[str, Any]:
    """The small profile with one model, and one dataset of each size."""
    params = small_profile()
    dataset = params["datasets"]["left"]
    params["datasets"] = {
        f"of_{size}": {**dataset, "settings": {**dataset["settings"], "items": size, "seed": size}}
        for size in sizes
    }
    params["models"] = {MODEL: params["models"][MODEL]}
    params["train"] = {MODEL: params["train"][MODEL]}
    params["extract"]["batch"] = 32
    return params


def asked(folder: Path, size: int) -> int:
    """How many answers the last run of a dataset asked for."""
    record = folder / f".vouch/runs/extract-{MODEL}-of_{size}.json"
    return int(json.loads(record.read_text(encoding="utf-8"))["measured"]["answers"]["asked"])


def measure(folder: Path, size: int) -> tuple[Cost, Cost]:
    """Costs of asking everything, and of finding everything known."""
    stage(folder, "prepare", f"of_{size}")
    stage(folder, "rewrite", f"of_{size}")
    stage(folder, "vary", f"of_{size}")
    first = stage(folder, "extract", MODEL, f"of_{size}")
    assert asked(folder, size) >= 0.9 * size  # equal questions are asked once
    again = stage(folder, "extract", MODEL, f"of_{size}")
    assert asked(folder, size) == 0
    return first, again


def main() -> None:
    """Prints the figures of each size, with those of the first as peer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prompts", type=int, nargs="+", default=[10_000, 100_000])
    sizes = parser.parse_args().prompts
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        project(folder, parameters([FEW, *sizes]))
        stage(folder, "train", MODEL)
        stage(folder, "pin", MODEL)
        start = measure(folder, FEW)
        base: list[tuple[float, float]] = []
        for size in sizes:
            for number, (run, cost) in enumerate(zip(("asked", "known"), measure(folder, size), strict=True)):
                rate = (size - FEW) / (cost.seconds - start[number].seconds)
                base += [(cost.mebibytes, rate)] if size == sizes[0] else []
                memory, speed = base[number]
                peer = f"{sizes[0]} prompts"
                figure(f"memory_{run}_{size}", cost.mebibytes, "MiB", peer, memory, memory / cost.mebibytes)
                figure(f"speed_{run}_{size}", rate, "prompts/s", peer, speed, rate / speed)


if __name__ == "__main__":
    main()
