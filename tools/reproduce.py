"""`make reproduce`: two fresh clones, two runners, two users; every byte of every result compared.

`python -m tools.reproduce [PROFILE]` clones what is committed here twice, runs the profile (default: demo)
by `dvc repro` in the first clone and by Snakemake in the second, whose path has spaces and letters beyond
ASCII, and compares all outputs. The users differ in
umask, locale, time zone and hash seed. Stored weights of demo models are pulled, others are trained in both.
Prints one line per difference; the exit status says whether there is one.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.checkouts.checkout import FIRST, ROOT, SECOND, SECOND_PATH, Checkout, User
from tools.ending import ended
from vouch.pipeline.errors import UserError, did_you_mean

HOURS = 6  # for one command: the demo on a machine with much other work


def differences(first: Mapping[str, str], second: Mapping[str, str]) -> Iterator[str]:
    """One line for each path that is not the same in both; path -> digest."""
    for path in sorted({*first, *second}):
        if path not in second:
            yield f"{path}: only made by the first"
        elif path not in first:
            yield f"{path}: only made by the second"
        elif first[path] != second[path]:
            yield f"{path}: differs"


def clone(path: Path, user: User, profile: str) -> Checkout:
    """A clone of what is committed, with the profile and the stored weights that it can use."""
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(path)], check=True)
    checkout = Checkout.at(path, user)
    checkout.limit = HOURS * 3600
    (path / "params.yaml").write_bytes((path / f"profiles/{profile}.yaml").read_bytes())
    if checkout.dvc("pull", "--quiet", "train", check=False).returncode:
        print("reproduce: not all stored weights came; what is missing is trained", flush=True)
    return checkout


def main() -> int:
    """Runs both and compares; 0 where everything is the same."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("profile", nargs="?", default="demo", help="a file in profiles/, without .yaml")
    profile = parser.parse_args().profile
    known = [file.stem for file in (ROOT / "profiles").glob("*.yaml")]
    if profile not in known:
        raise UserError(f"no profile {profile}; {did_you_mean(profile, known)}")
    with tempfile.TemporaryDirectory() as folder:
        first = clone(Path(folder) / "first", FIRST, profile)
        ran = first.repro()
        print(f"reproduce: `dvc repro` ran {len(ran)} stages", flush=True)
        second = clone(Path(folder) / SECOND_PATH, SECOND, profile)
        second.snakemake()
        made, again = first.digests(), second.digests()
    found = list(differences(made, again))
    print("".join(f"{line}\n" for line in found), end="")
    print(f"reproduce: {len(found)} differences in {len({*made, *again})} files of profile {profile}")
    return 1 if found or not made else 0


if __name__ == "__main__":
    sys.exit(ended("reproduce", main, "run it again, it begins anew"))
