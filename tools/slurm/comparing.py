"""Where all runs begin, and what `dvc repro` makes of it without Slurm: the bytes that each must end with."""

from pathlib import Path

from tools.slurm.running import DATASETS, MODELS, Log, Running, Slurmed


class Bed:
    """A checkout with prompts and models, its copies, one for each run, and what is expected of them."""

    def __init__(self, folder: Path, log: Log) -> None:
        self.folder, self.log = folder, log
        self.expected: dict[str, str] = {}

    def begin(self) -> None:
        """Prompts and models without Slurm, where all runs begin."""
        self.begun = Slurmed(self.folder / "begun")
        self.begun.small()
        prompts = [f"data/prompts/{name}.parquet" for name in DATASETS]
        pins = [f"data/models/{name}.json" for name in MODELS]
        self.begun.run("snakemake", "--cores", "2", *prompts, *pins)

    def reference(self) -> None:
        """Begins what DVC makes of them without Slurm, beside the others."""
        self.log("three datasets and three models are made; from here on, each run on a copy of them")
        self.by_dvc = self.begun.again("dvc")
        self.repro = self.by_dvc.dvc_repro()

    def _expected(self) -> dict[str, str]:
        """What that made."""
        self.repro.end()
        done, expected = self.repro.said.count("Running stage"), self.by_dvc.digests()
        self.log(f"dvc repro, without Slurm: {done} stages, {len(expected)} files with those there already")
        return expected

    def same(self, what: str, checkout: Slurmed, *running: Running) -> None:
        """Compares what a run ended with. Raises RuntimeError where they differ or more is planned."""
        self.expected = self.expected or self._expected()
        found = checkout.digests()
        different = sorted(
            name for name in {*found, *self.expected} if found.get(name) != self.expected.get(name)
        )
        counted = "; ".join(one.counts() for one in running)
        if different:
            raise RuntimeError(f"{what}: {counted}; not the same: {different[:5]}")
        self.log(f"{what}: {counted}; {len(found)} files, the same bytes as of dvc repro")
        waiting, state = checkout.planned(), checkout.dvc_status()
        if waiting or state:
            raise RuntimeError(f"{what}: not everything is known to be done: {sorted(waiting)[:5]} {state}")
        self.log("snakemake -n and dvc status: nothing to do")
