"""Bring back what was moved to .vouch/unused because no stage made it any more.

A run moves there what it finds of models and datasets that params.yaml no longer names, and `vouch store
prune` what DVC's cache does not hold. What still belongs to no stage is moved again by the next run. A file
that has been made anew stays as it is, and the older one stays in .vouch/unused.

Examples:
  vouch store restore
"""

import argparse
import shutil

from vouch.cli.printing import plain
from vouch.pipeline.files import UNUSED
from vouch.pipeline.runners import none_at_work


def arguments(parser: argparse.ArgumentParser) -> None:
    """`vouch store restore` has no options."""


def run(_options: argparse.Namespace) -> int:
    """Moves the files back, of several of one path the one that was moved last."""
    folders = sorted((path for path in UNUSED.glob("*") if path.is_dir()), key=lambda path: -int(path.name))
    files = [(path, folder) for folder in folders for path in sorted(folder.rglob("*")) if not path.is_dir()]
    back = 0
    with none_at_work():
        for path, folder in files:
            place = path.relative_to(folder)
            if place.exists():
                print(plain(f"restore: left {path}: {place} is there"))
                continue
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(path, place)
            back += 1
    print(f"restore: brought back {back} files" if back else "restore: nothing to bring back")
    return 0
