"""`make real`: a real language model, and a vision model made of it, answer questions; a report of that.

Makes the weights (weights.py) below build/real, starts a llama.cpp server (serve.py), and runs the profile
`real` by Snakemake in build/real/checkout, a clone of what is committed here. So params.yaml, dvc.lock and
data/ of this checkout stay as they are. The clone is kept: a second run asks nothing again.
"""

import argparse
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

from filelock import FileLock, Timeout

from tests.checkouts.checkout import ROOT, Checkout
from tools.ending import ended
from tools.real.serve import GGUF, NAME, REAL, SITE, SLOTS, running
from tools.real.weights import FOLDER, make_models
from vouch.pipeline.errors import UserError
from vouch.pipeline.yaml12 import load

CHECKOUT, REPORT = REAL / "checkout", "reports/index.html"
SERVED = "smollm2_llama_cpp"
PATIENCE = 120  # seconds until the server must answer


def make_checkout(path: Path) -> Checkout:
    """The clone at what is committed here, with the profile's data and weights linked into its build/."""
    if not path.exists():
        part = path.with_name(f"{path.name}.part")
        shutil.rmtree(part, ignore_errors=True)
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(part)], check=True)
        part.rename(path)
    checkout = Checkout.at(path)
    checkout.git("fetch", "--quiet", "--update-shallow", str(ROOT), "HEAD")
    checkout.git("reset", "--quiet", "--hard", "FETCH_HEAD")
    spec = importlib.util.find_spec("easy_vqa")
    if spec is None or not spec.origin:
        raise UserError("the package easy-vqa is missing; `make real` installs it")
    _link(path / "build/easy_vqa", Path(spec.origin).parent / "data")
    _link(path / "build/real/models", FOLDER)
    return checkout


def _link(link: Path, target: Path) -> None:
    link.parent.mkdir(parents=True, exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(target)


def last_port(path: Path) -> int:
    """The server's port in the run before, so that its pin stays as it is; 0 if there was none."""
    lock = path / "models.lock"
    entry = load(lock)["models"].get(SERVED) if lock.exists() else None
    return urlsplit(entry["source"]["url"]).port or 0 if entry else 0


def add_server(checkout: Checkout, url: str) -> None:
    """Its entry in the clone's models.lock; that it takes no images `vouch lock` finds out."""
    entry = f"\n  {SERVED}:\n    source: {{kind: server, url: {url!r}, name: {NAME}}}\n    engine: openai\n"
    with (checkout.path / "models.lock").open("a", encoding="utf-8") as file:
        file.write(entry)
    checkout.vouch("lock", SERVED)


def run_profile(checkout: Checkout, cores: int) -> None:
    """Everything that is stale. Raises AssertionError if a stage fails."""
    checkout.vouch("use", "real")
    patient = {"VOUCH_SERVER_CONCURRENCY": str(SLOTS), "VOUCH_SERVER_TIMEOUT": "600"}
    command = ["snakemake", "--quiet", "all", "--cores", str(cores)]
    environment = {**checkout.env, **patient}
    process = subprocess.Popen(command, cwd=checkout.path, env=environment, start_new_session=True)
    try:
        status = process.wait()
    finally:
        if process.poll() is None:  # stopped: its stages as well
            os.killpg(process.pid, signal.SIGTERM)
            process.wait()
    if status:
        raise AssertionError(f"{' '.join(command)} gave {status}")


def main() -> int:
    """Runs the profile and prints the headline table."""
    parser = argparse.ArgumentParser(prog="python -m tools.real", description=__doc__)
    parser.add_argument("--cores", type=int, default=2)
    cores = parser.parse_args().cores
    began = time.monotonic()
    if not SITE.exists():
        raise UserError(f"{SITE}: no such folder; `make real` installs what this needs")
    try:
        with FileLock(REAL / "lock", timeout=0):
            make_models()
            port = last_port(CHECKOUT)
            checkout = make_checkout(CHECKOUT)
            with running("llama", GGUF, PATIENCE, port) as url:
                add_server(checkout, url)
                run_profile(checkout, cores)
            print(checkout.vouch("show").stdout, end="")
    except Timeout:
        raise UserError("another `make real` runs here; wait until it has ended") from None
    minutes = (time.monotonic() - began) / 60
    print(f"real: {(CHECKOUT / REPORT).relative_to(ROOT)}, after {minutes:.1f} minutes")
    return 0


if __name__ == "__main__":
    sys.exit(ended("real", main, "run it again, it goes on where it was"))
