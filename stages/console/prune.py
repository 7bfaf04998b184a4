"""Remove what no stage of the present profile makes: files of data/ and reports/, receipts, stamps,
and entries of dvc.lock. DVC's cache keeps the contents: switching back computes nothing."""

import argparse
from pathlib import Path

from stages.contracts.files import write_text
from stages.dag import Dag, read_dag
from stages.runtime.freshness import LOCK, RECEIPTS, read_lock, receipt_path
from stages.runtime.stamps import STAMPS, stamp_path

_ROOTS = ("data", "reports")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `vouch prune`."""
    parser.add_argument("-n", "--dry-run", action="store_true", help="only list what would go")


def run(options: argparse.Namespace) -> int:
    """Prunes and says what went."""
    removed = prune(read_dag(), dry_run=options.dry_run)
    verb = "would remove" if options.dry_run else "removed"
    for path in removed:
        print(f"prune: {verb} {path}")
    if not removed:
        print("prune: nothing to remove")
    return 0


def prune(dag: Dag, dry_run: bool = False) -> list[str]:
    """Removes strays; returns them, sorted."""
    strays = [path for root in _ROOTS for path in _strays(Path(root), dag)]
    kept = {str(receipt_path(s)) for s in dag.stages.values()} | {stamp_path(s) for s in dag.stages.values()}
    records = [path for folder in (RECEIPTS, STAMPS) for path in folder.glob("*") if str(path) not in kept]
    gone = [name for name in read_lock() if name not in dag.stages]
    if not dry_run:
        for path in (*strays, *records):
            path.unlink()
        for root in _ROOTS:
            _remove_empty_folders(Path(root))
        if gone:
            _prune_lock(gone)
    return sorted(str(path) for path in strays)


def _strays(root: Path, dag: Dag) -> list[Path]:
    if root.is_symlink() or not root.is_dir():
        return []
    made = set(dag.maker)

    def belongs(path: Path) -> bool:
        return any(str(p) in made for p in (path, *path.parents))

    return [path for path in root.rglob("*") if (path.is_file() or path.is_symlink()) and not belongs(path)]


def _remove_empty_folders(root: Path) -> None:
    folders = [path for path in root.rglob("*") if path.is_dir() and not path.is_symlink()]
    for folder in sorted(folders, key=lambda path: len(path.parts), reverse=True):
        if not any(folder.iterdir()):
            folder.rmdir()


def _prune_lock(gone: list[str]) -> None:
    """Drops the entries of stages that are gone, so that one dvc.lock describes one profile."""
    from io import StringIO

    from ruamel.yaml import YAML

    yaml = YAML()
    lock = yaml.load(LOCK.read_text(encoding="utf-8"))
    for name in gone:
        del lock["stages"][name]
    text = StringIO()
    yaml.dump(lock, text)
    write_text(LOCK, text.getvalue())
