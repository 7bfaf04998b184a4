"""Make results known to DVC and Snakemake alike, whichever of the two made them.

A result is recorded only if its command, parameters, inputs and outputs are exactly as dvc.lock or the
stage's own receipt says. What is not is listed, left alone, and makes the exit status 1. A
dvc.lock that a killed DVC left cut short is mended first.

Examples:
  vouch store sync
"""

import argparse
import logging
import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import Any

from vouch.cli.printing import as_json, json_option, plain
from vouch.params.check import check_project
from vouch.pipeline.dag import read_dag
from vouch.pipeline.dvc_store import held
from vouch.pipeline.errors import UserError
from vouch.pipeline.files import replacing
from vouch.pipeline.runners import mend
from vouch.pipeline.state import LOCK, State, by_reason, read_lock, settle


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `vouch store sync`."""
    parser.add_argument(
        "--partial",
        action="store_true",
        help="stages that are not up to date are no failure (Snakemake's hook)",
    )
    json_option(parser)


def run(options: argparse.Namespace) -> int:
    """Records fresh stages for DVC, sets times for Snakemake, lists the rest."""
    check_project()
    mend()
    states = settle(read_dag())
    unknown = record(states)
    if unknown:
        settle(read_dag())
    stale = [state for state in states if not state.fresh]
    fit = len(states) - len(stale)
    rest = ", the rest will run" if stale else ""
    if options.json:
        print(
            as_json(
                {
                    "stages": len(states),
                    "recorded": unknown,
                    "not_recorded": {state.stage.name: state.why for state in stale},
                }
            ),
            end="",
        )
        return 1 if stale and not options.partial else 0
    print(f"sync: {fit} of {len(states)} stages are up to date ({len(unknown)} newly recorded){rest}")
    if options.partial:  # what was not asked for is no news
        stale = [state for state in stale if any(Path(out).exists() for out in state.stage.outs)]
    for names, why in by_reason(stale):
        print(plain(f"sync: not recorded: {names}: {why}"), file=sys.stderr)
    if stale:
        print("sync: `dvc repro` or `snakemake --cores N` makes them", file=sys.stderr)
    return 1 if stale and not options.partial else 0


def record(states: list[State]) -> list[str]:
    """Tells DVC of the fresh stages that dvc.lock does not know; returns their names.

    One with known outputs that its cache lacks counts as unknown: they were made here, not pulled, and have
    the recorded bytes.
    """
    lock = read_lock()
    fresh = [state for state in states if state.fresh]
    cached = held({digest for state in fresh for digest in state.now.outs.values() if digest})
    unknown = [
        state.stage.name
        for state in fresh
        if lock.get(state.stage.name) != state.now or not cached.issuperset(state.now.outs.values())
    ]
    if unknown:
        _commit(frozenset(unknown))
    return unknown


def _commit(names: frozenset[str]) -> None:
    """`dvc commit --force` of these stages with one reading and one writing of dvc.lock.

    The command itself reads the project and writes the lock once for every name.
    """
    from dvc.dvcfile import Lockfile
    from dvc.exceptions import DvcException
    from dvc.lock import LockError
    from dvc.repo import Repo, lock_repo

    logging.getLogger("dvc").setLevel(logging.CRITICAL)  # what `dvc --quiet` does; no bars
    try:
        with Repo() as repo, lock_repo(repo), _once(repo):
            for leftover in Path().glob(f".{LOCK}.*.part"):  # of one that was killed; none other is here
                leftover.unlink()
            # Without links to make, DVC would only take each output away for a moment; a kill then, for good.
            relink = repo.cache.local.cache_types[0] not in ("reflink", "copy")
            stages = [stage for stage in repo.index.stages if stage.addressing in names]
            for stage in stages:
                stage.save()
                stage.commit(relink=relink)
            with replacing(LOCK) as temporary:
                if LOCK.exists():
                    shutil.copyfile(LOCK, temporary)
                Lockfile(repo, str(temporary.absolute())).dump_stages(stages)
    except LockError:  # what it says is in colours, of several lines
        raise UserError(
            "dvc.lock: another DVC command is at work; wait until it ends, then sync again"
        ) from None
    except DvcException as error:
        said = re.sub(rf"\.{LOCK}\.[\w.]+\.part", str(LOCK), " ".join(str(error).split()))
        raise UserError(f"dvc commit: {said}; correct it, or wait until no other DVC command runs") from None


@contextmanager
def _once(repo: Any) -> Iterator[None]:
    """Lets DVC look once at what many stages share, while its lock is held and nothing changes.

    By itself it hashes a folder for each stage that reads it, three times, and reads git's index for each
    output: half of the time for 300 stages.
    """
    from dvc.output import Output
    from dvc.scm import NoSCM

    if isinstance(repo.scm, NoSCM):
        yield
        return
    build, found = Output._build, dict[str, Any]()
    index = [PurePath(os.fsdecode(path)) for path in repo.scm.dulwich.repo.open_index()]
    tracked = {str(path) for file in index for path in (file, *file.parents)}
    is_tracked = repo.scm.is_tracked

    def built(self: Any, odb: Any, path: str, *rest: Any, dry_run: bool = False, **more: Any) -> Any:
        if not dry_run:
            return build(self, odb, path, *rest, **more)
        if path not in found:
            found[path] = build(self, odb, path, *rest, dry_run=True, **more)
        return found[path]

    Output._build = built
    repo.scm.is_tracked = lambda path: os.path.relpath(path, repo.scm.root_dir) in tracked
    try:
        yield
    finally:
        Output._build, repo.scm.is_tracked = build, is_tracked
