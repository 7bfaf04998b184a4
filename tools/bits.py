"""`make bits`: the same answers on other processors, emulated, as on the present one.

`python -m tools.bits` asks a stored demo model of each family a few prompts for letters, likelihoods and
texts: here with one thread, with two and on one core, then under qemu-user on processors of Intel and AMD
with AVX2. All must give the same bytes. Of a processor without AVX2 it says how far it is. It also compares
what scores use of numpy, and compressed tables. The exit status says whether something differs that must not.
"""

import argparse
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from stages import extract  # sets the kernels before numpy is loaded
from tools.ending import ended
from vouch.cli.use import as_params
from vouch.models.responses import numbers
from vouch.pipeline.dag import read_dag
from vouch.pipeline.errors import UserError
from vouch.pipeline.processor import SETTINGS
from vouch.pipeline.run import Run
from vouch.pipeline.yaml12 import load, loads

ROOT = Path(__file__).parents[1]
DATASET, ITEMS = "shapes_dialog", 2
QEMU = "qemu-x86_64"
EQUAL = ("Haswell", "Skylake-Server", "EPYC")
WITHOUT_AVX2 = "Nehalem"  # x86-64-v2
MINUTES = 20  # for one processor, on a machine with much other work


def answer(models: list[str]) -> None:
    """Runs in the project, on any processor: writes the response tables, prints digests of the rest."""
    dag = read_dag()
    for model in models:
        extract.main(Run(dag, dag[f"extract@{model}-{DATASET}"], (model, DATASET)))
    print(json.dumps({"numpy": _digest(*_numpy()), "files": _digest(*_files())}))


def _digest(*parts: bytes) -> str:
    return hashlib.sha256(b"".join(parts)).hexdigest()


def _numpy() -> Iterator[bytes]:
    import numpy as np

    values = np.random.default_rng(0).normal(size=(300, 64))
    square = values.T @ values
    for x in (values, values.astype(np.float32)):
        for found in (np.exp(x), np.log(np.abs(x)), np.sqrt(np.abs(x)), np.log2(np.abs(x)), np.abs(x) ** 1.7):
            yield found.tobytes()
        for found in (
            x.sum(0),
            x.sum(1),
            x.sum(),
            x.mean(1),
            x.std(0),
            x.cumsum(),
            np.einsum("sn,gn->sg", x, x),
        ):
            yield found.tobytes()
    yield (values @ values.T[:, :50]).tobytes()
    yield square.tobytes()
    for part in (*np.linalg.eigh(square), np.linalg.svd(values, compute_uv=False)):
        yield part.tobytes()


def _files() -> Iterator[bytes]:
    import pyarrow.parquet as pq

    table = pq.read_table(f"data/prompts/{DATASET}.parquet")
    for compression in ("zstd", "snappy"):
        sink = io.BytesIO()
        pq.write_table(table, sink, compression=compression)
        yield sink.getvalue()


def parameters(demo: Mapping[str, Any]) -> dict[str, Any]:
    """params.yaml of a model of each family and a few prompts.

    Of the demo it keeps what is asked here: its other keys name models, datasets and variations.
    """
    families = {entry["family"]: name for name, entry in reversed(demo["train"].items())}
    models = sorted(families.values())
    entry = demo["datasets"][DATASET]
    kept = {
        "profile": "bits",
        "datasets": {DATASET: entry | {"settings": entry["settings"] | {"items": ITEMS}}},
        "variations": ["original"],
        "train": {name: demo["train"][name] for name in models},
        "models": {name: f"data/trained/{name}" for name in models},
        "extract": {key: demo["extract"][key] for key in ("batch", "bucket", "reproducible", "max_tokens")},
    }
    found: dict[str, Any] = loads(as_params(json.dumps(kept), "bits"), "bits")
    return found


class Few:
    """A project with a model of each family and a few prompts, in the present folder."""

    def __init__(self) -> None:
        self.params = parameters(load(ROOT / "profiles/demo.yaml"))
        self.models = list(self.params["models"])
        for name in ("stages", "vouch", "decisions"):
            Path(name).symlink_to(ROOT / name)
        for name in ("dvc.yaml", "models.lock"):
            shutil.copy(ROOT / name, name)
        for name in self.models:
            weights = ROOT / "data/trained" / name
            if not weights.is_dir():
                raise UserError(f"{weights}: not here; `dvc pull train` fetches the stored weights")
            shutil.copytree(weights, f"data/trained/{name}")
        self._threads(1)
        for stage in ("prepare", "rewrite", "vary"):
            self._python("-m", f"stages.{stage}", DATASET)
        for name in self.models:
            self._python("-m", "stages.pin", name)

    def _threads(self, count: int) -> None:
        self.params["extract"]["threads"] = count
        Path("params.yaml").write_text(json.dumps(self.params), "utf-8")

    def _python(self, *arguments: str, under: tuple[str, ...] = ()) -> str:
        ran = subprocess.run(
            [*under, sys.executable, *arguments],
            env={name: value for name, value in os.environ.items() if name not in SETTINGS}
            | {"PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=60 * MINUTES,
        )
        if ran.returncode:
            said = (ran.stderr.strip() or "nothing said").splitlines()[-1]
            raise UserError(f"{' '.join([*under, *arguments])}: ended with {ran.returncode}: {said}")
        return ran.stdout

    def ask(self, threads: int = 1, under: tuple[str, ...] = ()) -> dict[str, Any]:
        """What a processor gives, by what it is: rows of each response table, digests."""
        import pyarrow.parquet as pq

        for made in (".vouch", "data/responses"):
            shutil.rmtree(made, ignore_errors=True)
        self._threads(threads)
        said = self._python("-m", "tools.bits", "--answer", *self.models, under=under)
        found: dict[str, Any] = json.loads(said.splitlines()[-1])
        for path in sorted(Path("data/responses").glob("*/*.parquet")):
            rows = pq.read_table(path).to_pylist()
            found[path.stem.replace(".", " ")] = rows
        return found

    def without_avx2(self) -> tuple[str, ...]:
        """The emulator of a processor without AVX2, in whose /proc/cpuinfo it does not stand either."""
        folder = Path("without").absolute() / "proc"
        folder.mkdir(parents=True)
        flags = "flags\t\t: fpu sse sse2 ssse3 sse4_1 sse4_2 popcnt\n"
        (folder / "cpuinfo").write_text(flags, "utf-8")
        return QEMU, "-L", str(folder.parent), "-cpu", WITHOUT_AVX2


def differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, str]:
    """What is not the same -> how far it is."""
    return {name: _far(one[name], other[name]) for name in one if one[name] != other[name]}


def _far(one: Any, other: Any) -> str:
    if isinstance(one, str):
        return "differs"
    pairs = [(a, b) for a, b in zip(one, other, strict=True) if a != b]
    gaps = [abs(x - y) for a, b in pairs for x, y in zip(numbers(a), numbers(b), strict=False)]
    return f"{len(pairs)} of {len(one)} rows, by {max(gaps, default=0):.2g} at most"


def main() -> int:
    """Asks on every processor and compares; 0 where all that must be equal is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answer", nargs="+", metavar="MODEL", help=argparse.SUPPRESS)
    models = parser.parse_args().answer
    if models:
        answer(models)
        return 0
    if shutil.which(QEMU) is None:
        raise UserError(f"{QEMU}: not here; install Debian's qemu-user")
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        few = Few()
        here = few.ask()
        print(f"bits: here, one thread: {', '.join(here)}", flush=True)
        runs: dict[str, dict[str, Any]] = {"here, two threads": {"threads": 2}}
        core = str(min(os.sched_getaffinity(0)))
        runs["here, one core"] = {"under": ("taskset", "-c", core)}
        runs |= {name: {"under": (QEMU, "-cpu", name)} for name in EQUAL}
        runs[f"{WITHOUT_AVX2}, without AVX2"] = {"under": few.without_avx2()}
        for name, given in runs.items():
            started = time.monotonic()
            found = differences(here, few.ask(**given))
            said = "; ".join(f"{what}: {far}" for what, far in found.items()) or "the same bytes"
            print(f"bits: {name}: {said} ({time.monotonic() - started:.0f} s)", flush=True)
            failed += bool(found) and "without" not in name
        os.chdir(ROOT)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(ended("bits", main, "run it again, it begins anew"))
