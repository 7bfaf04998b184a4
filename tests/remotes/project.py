"""A small DVC repository: real contracts and a model folder, recorded as `vouch store sync` records them."""

import random
import shutil
import signal
import subprocess
import sys
from hashlib import md5
from pathlib import Path

from tests.checkouts.checkout import ROOT, Checkout, User
from tests.remotes.servers import WAIT, Remote
from vouch.tables.answered import Pin, Source, folder_digests, pin_path, write_pin
from vouch.tables.asked import ITEMS, items_path
from vouch.tables.results import METRICS, metrics_path

MODEL = "kite"
WEIGHTS = 3_000_000  # bytes, the most of all that is transferred
DEFINITION = """
stages:
  prepare:
    foreach: ${datasets}
    do:
      cmd: python -m stages.prepare ${key}
      outs: ["data/items/${key}.parquet"]
  train:
    foreach: ${train}
    do:
      cmd: python -m stages.train ${key}
      outs: ["data/models/${key}", "data/models/${key}.json"]
  score:
    foreach: ${train}
    do:
      cmd: python -m stages.score ${key}
      deps: [data/items]
      outs: ["data/scores/${key}.metrics.parquet"]
"""
PARAMS = f"datasets: {{left: 1, right: 1}}\ntrain: {{{MODEL}: 1}}\n"


class Repository(Checkout):
    """One repository, and how its user works with it."""

    limit = 120

    @property
    def env(self) -> dict[str, str]:
        site = str(self.path.parent / f"{self.path.name}-site")
        return {**super().env, "PYTHONPATH": str(ROOT), "DVC_SITE_CACHE_DIR": site}

    @classmethod
    def make(cls, path: Path) -> "Repository":
        """Writes what stages would have made, and has DVC record it."""
        (path / "stages").mkdir(parents=True)
        (path / "dvc.yaml").write_text(DEFINITION, "utf-8")
        (path / "params.yaml").write_text(PARAMS, "utf-8")
        write_results(path)
        made = cls.at(path)
        made.dvc("init", "--no-scm", "-q")
        made.dvc("commit", "--force", "-q")
        return made

    def use(self, remote: Remote) -> None:
        """Names a remote as docs/remotes.md says; what is secret comes from the environment."""
        lines = [
            "[core]",
            "    no_scm = true",
            "    remote = there",
            "['remote \"there\"']",
            f"    url = {remote.url}",
        ]
        lines += ["    verify = true", *(f"    {key} = {value}" for key, value in remote.options.items())]
        (self.path / ".dvc/config").write_text("\n".join(lines) + "\n", "utf-8")
        self.user = User(env=remote.env)

    def killed(self, remote: Remote, *arguments: str) -> None:
        """`dvc ...`, killed by SIGKILL while the weights are on their way."""
        if remote.gate is None:
            done = self.run(sys.executable, "-c", CUT, *arguments, check=False)
            assert done.returncode == -signal.SIGXFSZ, done
            return
        remote.gate.hold_after(WEIGHTS // 2)
        process = subprocess.Popen(["dvc", *arguments], cwd=self.path, env=self.env)
        assert remote.gate.held.wait(WAIT)
        assert process.poll() is None
        process.kill()
        process.wait(self.limit)
        remote.gate.release()

    @property
    def cache(self) -> dict[str, Path]:
        """Digest -> object of DVC's cache; temporary files are none."""
        found = {p.parent.name + p.name: p for p in (self.path / ".dvc/cache/files/md5").glob("??/*")}
        return {name: path for name, path in found.items() if len(name.removesuffix(".dir")) == 32}

    def lose(self) -> None:
        """The cache, what was checked out, and all that DVC remembers of both."""
        for folder in (".dvc/cache", ".dvc/tmp", "data"):
            shutil.rmtree(self.path / folder, ignore_errors=True)
        shutil.rmtree(self.env["DVC_SITE_CACHE_DIR"], ignore_errors=True)

    def contents(self) -> dict[str, bytes]:
        """Every file that a stage made."""
        data = self.path / "data"
        return {str(f.relative_to(data)): f.read_bytes() for f in sorted(data.rglob("*")) if f.is_file()}


# No file may grow beyond half of the weights: the kernel kills who writes more, as it would a program whose
# quota ends. A copy between folders has no connection that could be held.
CUT = f"""
import resource, signal, sys
from dvc.cli import main
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_FSIZE, ({WEIGHTS // 2}, {WEIGHTS // 2}))
sys.exit(main(sys.argv[1:]))
"""


def whole(objects: dict[str, Path]) -> bool:
    """Whether every object is what its name says."""
    return all(md5(p.read_bytes()).hexdigest() == name.removesuffix(".dir") for name, p in objects.items())


def flip(path: Path) -> None:
    """Turns a bit in the middle of a file, whatever its mode."""
    path.chmod(0o644)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def write_results(path: Path) -> None:
    """Tables and a model under data/."""
    dice = random.Random(7)
    for dataset in ("left", "right"):
        rows = [
            {"id": f"{dataset}{n}", "question": f"Which? {dice.random()}", "kind": "choice"}
            for n in range(40)
        ]
        ITEMS.write(path / items_path(dataset), rows)
    row = {"model": MODEL, "dataset": "left", "metric": "accuracy", "value": 0.5}
    METRICS.write(path / metrics_path(MODEL), [row])
    folder = path / "data/models" / MODEL
    folder.mkdir(parents=True)
    (folder / "model.safetensors").write_bytes(dice.randbytes(WEIGHTS))
    (folder / "config.json").write_text("{}\n", "utf-8")
    source = Source(kind="folder", path=f"data/models/{MODEL}")
    pin = Pin(model=MODEL, engine="transformers", source=source, files=folder_digests(folder))
    write_pin(path / pin_path(MODEL), pin)
