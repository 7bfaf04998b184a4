"""Results that no stage of the present profile makes.

`vouch store prune` removes them, `vouch store restore` brings back those that were moved to .vouch/unused.
"""

import argparse
import json
import re
import shutil
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from vouch.cli.command import argument, command
from vouch.cli.printing import plain_lines
from vouch.pipeline.dag import Dag, read_dag
from vouch.pipeline.digests import Digests
from vouch.pipeline.dvc_store import held, remember
from vouch.pipeline.files import BEFORE, PART, UNUSED, abandoned, set_aside, write_text
from vouch.pipeline.records import LOCK, RECEIPTS, read_lock, receipt_path
from vouch.pipeline.runners import none_at_work
from vouch.pipeline.state import MARKER, STAMPS, stamp_path
from vouch.pipeline.yaml12 import dumped, load

_ROOTS = ("data", "reports")
_OF_DVC = re.compile(r"\.[\w-]{22}\.tmp")  # files that a killed DVC, or a full disk, left unfinished


@dataclass
class Pruning:
    """Files that were removed, moved to UNUSED, or kept because no record says that a stage made them."""

    removed: list[str] = field(default_factory=list)
    moved: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)


@command(
    "store prune",
    "remove the results of an earlier profile",
    argument("-n", "--dry-run", action="store_true", help="only list what would be removed"),
    argument("--force", action="store_true", help="also remove, for good, what DVC's cache does not hold"),
)
def run_prune(options: argparse.Namespace) -> int:
    """Remove the results of an earlier profile: outputs that dvc.lock or a receipt names, and their records.

    Results in DVC's cache can come back from there, so switching back computes nothing. Results that it does
    not have, as after a failed run, are moved to .vouch/unused; `vouch store restore` brings them back.
    --force removes them for good. Files that no record names are listed and left alone.

    Examples:
      vouch store prune --dry-run
    """
    with nullcontext() if options.dry_run else none_at_work():
        pruning = prune(read_dag(), options.dry_run, options.force)
    remove, move = ("would remove", "would move") if options.dry_run else ("removed", "moved")
    lines = [f"prune: {remove} {path}" for path in pruning.removed]
    lines += [f"prune: {move} {path} to {UNUSED}" for path in pruning.moved]
    nothing = [] if lines else ["prune: nothing to remove"]
    lines += [f"prune: left {path}: no record says that a stage made it" for path in pruning.left]
    print(plain_lines([*lines, *nothing]), end="")
    return 0


def prune(dag: Dag, dry_run: bool = False, force: bool = False) -> Pruning:
    """Removes the outputs of stages that `dag` does not have; moves those that DVC's cache does not hold.

    force: removes these, too. No runner may be at work, because this rewrites dvc.lock.
    """
    gone = {name: record for name, record in read_lock().items() if name not in dag.stages}
    kept = {str(receipt_path(s)) for s in dag.stages.values()} | {stamp_path(s) for s in dag.stages.values()}
    records = [path for at in (RECEIPTS, STAMPS) for path in at.glob("[!.]*") if str(path) not in kept]
    receipts = [path for path in records if path.parent == RECEIPTS]
    outs_of_each = [*({*record.outs} for record in gone.values()), *({*_outs(path)} for path in receipts)]
    pruning, temporary = _unmade(dag, set().union(*outs_of_each))
    if not force:
        lost = _lost(pruning.removed)
        beside = set().union(*(outs for outs in outs_of_each if any(_at_or_below(p, outs) for p in lost)))
        pruning.moved = [path for path in pruning.removed if _at_or_below(Path(path), beside)]
        pruning.removed = [path for path in pruning.removed if not _at_or_below(Path(path), beside)]
    if not dry_run:
        if LOCK.exists():
            # also for the present stages, whose parameters may change
            remember(load(LOCK).get("stages", {}).values())
        if pruning.moved:
            set_aside([*pruning.moved, *map(str, receipts)])
        for path in (*map(Path, pruning.removed), *temporary, *records):
            path.unlink(missing_ok=True)
        for root in _ROOTS:
            _remove_empty_folders(Path(root))
        if gone:
            _prune_lock(list(gone))
    return pruning


def _unmade(dag: Dag, made: set[str]) -> tuple[Pruning, list[Path]]:
    """The files that no stage of `dag` makes, and unfinished ones that nobody writes any more.

    made: what other stages made; those files are in `removed`.
    """
    sources = {dep for stage in dag.stages.values() for dep in stage.deps if dep not in dag.maker}
    sources -= {dep for stage in dag.stages.values() for dep in dag.fan_ins(stage)}
    ours = set(dag.maker) | sources | {f"{root}/README.md" for root in _ROOTS}  # these pages are in git
    pruning = Pruning()
    parts = (path for at in (Path(), RECEIPTS.parent, RECEIPTS, BEFORE) for path in at.glob(".*.part"))
    temporary = [path for path in parts if abandoned(path.name)]
    for path in sorted(path for root in _ROOTS for path in _files(Path(root))):
        if _at_or_below(path, ours):
            continue
        if part := next((name for name in path.parts if PART.fullmatch(name)), None):
            temporary += [path] if abandoned(part) else []
        elif path.name == MARKER or _OF_DVC.fullmatch(path.name):
            temporary.append(path)
        elif _at_or_below(path, made):
            pruning.removed.append(str(path))
        else:
            pruning.left.append(str(path))
    return pruning, temporary


def _files(root: Path) -> list[Path]:
    if root.is_symlink() or not root.is_dir():
        return []
    return [path for path in root.rglob("*") if path.is_file() or path.is_symlink()]


def _outs(receipt: Path) -> list[str]:
    try:
        return list(json.loads(receipt.read_text(encoding="utf-8"))["outs"])
    except (OSError, ValueError, KeyError, TypeError):
        return []


def _at_or_below(path: Path, roots: set[str]) -> bool:
    return any(str(each) in roots for each in (path, *path.parents))


def _lost(paths: list[str]) -> list[Path]:
    """The files whose contents DVC's cache does not hold."""
    digests = Digests()
    digest_of = {path: digest for path in paths if (digest := digests.of(path))}
    cached = held(digest_of.values())
    return [Path(path) for path, digest in digest_of.items() if digest not in cached]


def _remove_empty_folders(root: Path) -> None:
    folders = [path for path in root.rglob("*") if path.is_dir() and not path.is_symlink()]
    for folder in sorted(folders, key=lambda path: len(path.parts), reverse=True):
        if not any(folder.iterdir()):
            folder.rmdir()


def _prune_lock(gone: list[str]) -> None:
    """Removes the entries of these stages, so that dvc.lock describes a single profile."""
    from ruamel.yaml import YAML

    lock = YAML().load(LOCK.read_text(encoding="utf-8"))
    for name in gone:
        del lock["stages"][name]
    write_text(LOCK, dumped(lock))


@command("store restore", "bring back what was moved to .vouch/unused")
def run_restore(_options: argparse.Namespace) -> int:
    """Bring back the files that were moved to .vouch/unused because no stage made them any more.

    A run moves the files of models and datasets there that params.yaml no longer names; `vouch store
    prune` moves files that DVC's cache lacks. The next run moves them again if they still belong to no
    stage. If a file was made again meanwhile, the new one stays, and the older one remains in
    .vouch/unused.

    Examples:
      vouch store restore
    """
    folders = sorted((path for path in UNUSED.glob("*") if path.is_dir()), key=lambda path: -int(path.name))
    files = [(path, folder) for folder in folders for path in sorted(folder.rglob("*")) if not path.is_dir()]
    restored = 0
    with none_at_work():
        for path, folder in files:
            target = path.relative_to(folder)
            if target.exists():
                print(plain_lines([f"restore: left {path}: {target} exists"]), end="")
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(path, target)
            restored += 1
    print(f"restore: brought back {restored} files" if restored else "restore: nothing to bring back")
    return 0
