"""A DVC project whose stages do nothing and are up to date: what `dvc repro` costs whatever stages are for.

Every stage reads the same small files and writes some of its own. dvc.lock and DVC's cache are written here
as DVC writes them; its first command hashes the files and finds them as the lock says.
"""

import hashlib
import itertools
from pathlib import Path

from tests.checkouts.checkout import ROOT, Checkout

_TEXT = "something\n"


def floor(path: Path, stages: int, inputs: int, outputs: int) -> Checkout:
    """Makes it in a new folder, with the settings of this repository: so many inputs and outputs a stage."""
    checkout = Checkout.at(path)
    path.mkdir(parents=True)
    checkout.git("init", "--quiet")
    checkout.dvc("init", "--quiet")
    (path / ".dvc/config").write_bytes((ROOT / ".dvc/config").read_bytes())
    digest = hashlib.md5(_TEXT.encode(), usedforsecurity=False).hexdigest()
    reads = [f"in/{number}" for number in range(inputs)]
    names = [f"name_{number}" for number in range(stages)]
    made = {name: [f"out/{number}/{name}" for number in range(outputs)] for name in names}
    kept = f".dvc/cache/files/md5/{digest[:2]}/{digest[2:]}"
    for file in (*reads, *itertools.chain(*made.values()), kept):
        (path / file).parent.mkdir(parents=True, exist_ok=True)
        (path / file).write_text(_TEXT, encoding="utf-8")

    lines = ["stages:", "  do:", "    foreach:", *(f"    - {name}" for name in names)]
    lines += ["    do:", "      cmd: make ${item}", "      deps:", *(f"      - {read}" for read in reads)]
    lines += ["      outs:", *(f"      - out/{number}/${{item}}" for number in range(outputs))]
    _write(path / "dvc.yaml", lines)
    known = ["      hash: md5", f"      md5: {digest}", f"      size: {len(_TEXT)}"]
    lines = ["schema: '2.0'", "stages:"]
    for name in names:
        lines += [f"  do@{name}:", f"    cmd: make {name}"]
        for kind, files in (("deps", reads), ("outs", made[name])):
            lines.append(f"    {kind}:")
            for file in files:
                lines += [f"    - path: {file}", *known]
    _write(path / "dvc.lock", lines)
    return checkout


def _write(path: Path, lines: list[str]) -> None:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
