"""Keep results complete, undamaged and known to both runners."""

import argparse
import logging
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

from vouch.cli.command import argument, command, json_argument, number
from vouch.cli.printing import and_more, as_json, plain
from vouch.params.check import check_project
from vouch.pipeline.dag import Dag, read_dag
from vouch.pipeline.digests import Digests
from vouch.pipeline.dvc_store import Store, addresses, cache, held, remote, repository
from vouch.pipeline.errors import UserError, check_name
from vouch.pipeline.files import replacing
from vouch.pipeline.records import LOCK, Recorded, damaged, read_lock
from vouch.pipeline.runners import mend, none_at_work
from vouch.pipeline.state import State, by_reason, settle

_OF_A_MODEL = ("train", "pin", "extract")
STORAGE = Path(".dvc/storage")  # the remote inside this repository


@command(
    "store pull",
    "fetch stored results: all, or those of one model",
    argument("model", names="models", nargs="?", help="a model of params.yaml; default: everything"),
    argument("-r", "--remote", help="name of the DVC remote, default: the default remote"),
)
def run_pull(options: argparse.Namespace) -> int:
    """Fetch stored results from the DVC remote: all of them, or the weights, pin and answers of one model.

    DVC verifies each object that it receives; at the end a line names those that are missing or damaged.

    Examples:
      vouch store pull
      vouch store pull llava_v1_5_7b --remote results
    """
    dag, urls = read_dag(), addresses()
    wanted = list(dag.stages) if options.model is None else stages_of(dag, options.model)
    if not urls:
        raise UserError("dvc: no remote to pull from; name one with `dvc remote add --default NAME URL`")
    stored = read_lock()
    names = [name for name in wanted if name in stored]
    if not names:
        who = options.model or "this profile"
        print(f"nothing to pull: {who} has no stored results; `dvc repro` makes them")
        return 0
    targets = [] if len(names) == len(dag.stages) else names
    if options.remote:
        targets = ["--remote", options.remote, *targets]
    _refuse_unwritable(out for name in names for out in dag.stages[name].outs)
    try:
        status = subprocess.run(["dvc", "pull", *targets], check=False).returncode
    except FileNotFoundError:
        raise UserError("dvc: no such command; activate the environment (`. .venv/bin/activate`)") from None
    if status:
        _explain(names, options.remote, urls)
    elif len(names) < len(wanted):
        missing = len(wanted) - len(names)
        print(f"{missing} of {len(wanted)} stages have no stored results; `dvc repro` makes them")
    return status


def _refuse_unwritable(outs: Iterable[str]) -> None:
    """Raises UserError if DVC could not write; DVC's own message names no folder, or blames the remote."""
    with repository() as repo:
        folders = [Path(repo.tmp_dir or ".dvc/tmp"), Path(repo.cache.local.path)]
    for folder in dict.fromkeys([*folders, *(Path(out).parent for out in outs)]):
        existing = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
        if not os.access(existing, os.W_OK):
            raise UserError(
                f"{existing}: you may not write here, but a pull must; pull in a clone of your own, or have "
                "this folder made writable"
            )


def _explain(names: list[str], remote: str | None, urls: Mapping[str, str]) -> None:
    """Raises UserError that names the outputs still missing, if there are any. urls: those of the remotes."""
    records = read_lock()
    missing = [
        (path, digest)
        for name in names
        if name in records
        for path, digest in sorted(records[name].outs.items())
        if not Path(path).exists()
    ]
    if missing:
        path, digest = missing[0]
        name = f" {remote}" if remote else ""
        mend = f"`vouch store verify --remote{name} --mend` removes what is damaged there"
        if Path(urls.get(remote or "", "")).resolve() == STORAGE.resolve():
            mend = f"`git checkout -- {STORAGE}` brings back what came with this repository"
        where = path
        if str(digest).endswith(".dir"):  # a folder: if its list arrived, name the first file that did not
            with cache() as store:
                where = "/".join([path, *store.missing(str(digest))[:1]])
        raise UserError(
            f"{where}{and_more(missing)}: its object {digest} is missing or damaged in "
            f"the remote; {mend}, `dvc repro` computes it anew, `dvc push` then completes the remote"
        )


def stages_of(dag: Dag, model: str) -> list[str]:
    """Full names of the stages that make one model's outputs: DVC cannot pull stages of a loop by a pattern.

    Raises UserError for an unknown model.
    """
    names: dict[str, list[str]] = {}
    for stage in dag.stages.values():
        group, _, keys = stage.name.partition("@")
        if group in _OF_A_MODEL:
            names.setdefault(keys.split("-")[0], []).append(stage.name)
    check_name("model", model, list(names))
    return names[model]


@command(
    "store verify",
    "read every byte and name what is damaged",
    argument("--mend", action="store_true", help="remove what is damaged"),
    argument(
        "-r", "--remote", nargs="?", const="", metavar="NAME", help="read the objects of a remote instead"
    ),
    argument(
        "--recompute",
        type=int,
        default=0,
        metavar="N",
        help="compute N random answers of these results again",
    ),
    argument("--seed", type=number(int, 0), default=0, help="chooses these answers (default: 0)"),
    json_argument(),
)
def run_verify(options: argparse.Namespace) -> int:
    """Read every byte of the results and of DVC's cache, or of a remote, and name the damaged files.

    DVC trusts its stored files: it checks neither its cache nor, on a push, the files that a remote already
    has. With --mend damaged files are removed; `dvc repro` computes them again, `dvc pull` or `dvc push`
    brings them back. With --recompute N the models are asked again for N random answers, which should be the
    same on a CPU (docs/reproducibility.md).

    Examples:
      vouch store verify
      vouch store verify --recompute 20
      vouch store verify --remote --mend
    """
    if options.recompute < 0 or (options.recompute and options.remote is not None):
        raise UserError("--recompute N: give a number of answers, at least 1, without --remote")
    report = Report(quiet=options.json)
    if options.remote is None:
        # outputs of a running stage are in no record yet
        with cache() as store, none_at_work() if options.mend else nullcontext():
            if not store.names() and not any(Path(out).exists() for out in read_dag().maker):
                raise UserError("nothing to verify: no output is here; `dvc pull` fetches them")
            outputs = _read_outputs(options.mend, report)
            read = f"{outputs} and {_read_objects(store, options.mend, report)}"
        then = "`dvc repro` or `dvc pull` brings it back"
    else:
        with remote(options.remote or None) as store:
            read = _read_objects(store, options.mend, report)
        then = "`dvc push` brings it back from where it is whole; `dvc repro` computes it anew"
    if report.damaged:
        report.say(f"removed; {then}" if options.mend else f"--mend removes it, then {then}")
        status = 0 if options.mend else 1
    else:
        report.say(f"{read} read; nothing is damaged")
        status = 0
        if options.recompute:
            from vouch.cli.warm import recomputed

            status = recomputed(options.recompute, options.seed, report.say)
    if options.json:
        removed = bool(report.damaged) and options.mend
        print(as_json({"damaged": report.damaged, "removed": removed, "lines": report.lines}), end="")
    return status


@dataclass
class Report:
    """The results of the check: printed line by line for a person, or all at the end for programs."""

    quiet: bool
    damaged: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    def say(self, line: str) -> None:
        """Adds a line for a person."""
        self.lines.append(line)
        if not self.quiet:
            print(plain(f"verify: {line}"))


def _read_outputs(mend: bool, report: Report) -> str:
    """Compares the outputs with their records; returns a text with their number."""
    dag, digests = read_dag(), Digests()
    recorded = Recorded(dag)
    here = [out for out in sorted(dag.maker) if Path(out).exists()]
    compared = [out for out in here if recorded.knows(out)]
    broken = list(damaged(recorded, compared, digests))
    digests.save()
    if absent := len(dag.maker) - len(here):
        report.say(f"{absent} of {len(dag.maker)} outputs are not here: `dvc pull`, or `dvc repro`")
    for path in sorted({*here} - {*compared}):
        report.say(f"{path}: not in the record of {dag.maker[path]}; `dvc repro` makes it again")
    for path in broken:
        report.damaged.append(path)
        report.say(f"{path}: not the bytes that {dag.maker[path]} wrote")
        if mend:
            shutil.rmtree(path) if Path(path).is_dir() else Path(path).unlink()
    return f"{len(compared):,} outputs"


def _read_objects(store: Store, mend: bool, report: Report) -> str:
    """Reads the objects of a cache or remote; returns a text with their number."""
    names = store.names()
    broken = {name for name in names if not store.is_whole(name)}
    for name in sorted(broken):
        report.damaged.append(store.path(name))
        report.say(f"{store.path(name)}: damaged in {store.place}")
    if mend:
        for name in [*broken, *store.naming(broken, [name for name in names if name not in broken])]:
            store.remove(name)
    return f"{len(names):,} objects of {store.place}"


@command(
    "store sync",
    "make results known to DVC and Snakemake alike",
    argument(
        "--partial",
        action="store_true",
        help="exit with 0 even if stages are not up to date (for Snakemake's hook)",
    ),
    json_argument(),
)
def run_sync(options: argparse.Namespace) -> int:
    """Make results known to both DVC and Snakemake, whichever of them made the results.

    A result is recorded only if its command, parameters, inputs and outputs are exactly as dvc.lock or the
    stage's own receipt says. Others are listed and left alone, and the exit status is then 1. If a killed DVC
    left dvc.lock incomplete, it is repaired first.

    Examples:
      vouch store sync
    """
    check_project()
    mend()
    states = settle(read_dag())
    unknown = record(states)
    if unknown:
        settle(read_dag())
    stale = [state for state in states if not state.fresh]
    status = 1 if stale and not options.partial else 0
    if options.json:
        reasons = {state.stage.name: state.why for state in stale}
        print(as_json({"stages": len(states), "recorded": unknown, "not_recorded": reasons}), end="")
        return status
    fit = len(states) - len(stale)
    rest = ", the rest will run" if stale else ""
    print(f"sync: {fit} of {len(states)} stages are up to date ({len(unknown)} newly recorded){rest}")
    if options.partial:  # stages without outputs were not wanted and need no mention
        stale = [state for state in stale if any(Path(out).exists() for out in state.stage.outs)]
    for names, why in by_reason(stale):
        print(plain(f"sync: not recorded: {names}: {why}"), file=sys.stderr)
    if stale:
        print("sync: `dvc repro` or `snakemake --cores N` makes them", file=sys.stderr)
    return status


def record(states: list[State]) -> list[str]:
    """Tells DVC about the fresh stages that dvc.lock does not know; returns their names.

    A stage whose outputs the cache lacks counts as unknown: they were made here, not pulled, and have the
    recorded bytes. A stage that reads parts of its inputs is left alone while one of these is not up to date:
    otherwise dvc.lock would name bytes that no stage has made.
    """
    lock = read_lock()
    doubtful = {out for state in states if not state.fresh for out in state.stage.outs}
    doubtful |= {str(folder) for out in doubtful for folder in PurePath(out).parents}
    fresh = [
        state
        for state in states
        if state.fresh
        and not ((state.stage.reads or state.stage.without) and doubtful.intersection(state.stage.deps))
    ]
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
    """Does `dvc commit --force` for these stages, but reads and writes dvc.lock only once.

    The command itself reads the project and writes dvc.lock again for every name.
    """
    from dvc.dvcfile import Lockfile
    from dvc.exceptions import DvcException
    from dvc.lock import LockError
    from dvc.repo import Repo, lock_repo

    logging.getLogger("dvc").setLevel(logging.CRITICAL)  # like `dvc --quiet`: no progress bars
    try:
        with Repo() as repo, lock_repo(repo), _cached_lookups(repo):
            for leftover in Path().glob(f".{LOCK}.*.part"):  # a killed command's: no other holds the lock
                leftover.unlink()
            # With copies, relinking would only remove each output for a moment, and a kill would lose it.
            relink = repo.cache.local.cache_types[0] not in ("reflink", "copy")
            stages = [stage for stage in repo.index.stages if stage.addressing in names]
            for stage in stages:
                stage.save()
                stage.commit(relink=relink)
            with replacing(LOCK) as temporary:
                if LOCK.exists():
                    shutil.copyfile(LOCK, temporary)
                Lockfile(repo, str(temporary.absolute())).dump_stages(stages)
    except LockError:  # its message has colours and several lines
        raise UserError(
            "dvc.lock: another DVC command is at work; wait until it ends, then sync again"
        ) from None
    except DvcException as error:
        problem = re.sub(rf"\.{LOCK}\.[\w.]+\.part", str(LOCK), " ".join(str(error).split()))
        raise UserError(
            f"dvc commit: {problem}; correct it, or wait until no other DVC command runs"
        ) from None


@contextmanager
def _cached_lookups(repo: Any) -> Iterator[None]:
    """Lets DVC look only once at files that many stages share, while its lock is held and nothing changes.

    By itself DVC hashes a folder three times for each stage that reads it, and reads git's index for each
    output, which takes half of the time for 300 stages.
    """
    from dvc.output import Output
    from dvc.scm import NoSCM

    if isinstance(repo.scm, NoSCM):
        yield
        return
    build, objects = Output._build, dict[str, Any]()
    index = [PurePath(os.fsdecode(path)) for path in repo.scm.dulwich.repo.open_index()]
    tracked = {str(path) for file in index for path in (file, *file.parents)}
    is_tracked = repo.scm.is_tracked

    def built(self: Any, odb: Any, path: str, *rest: Any, dry_run: bool = False, **more: Any) -> Any:
        if not dry_run:
            return build(self, odb, path, *rest, **more)
        if path not in objects:
            objects[path] = build(self, odb, path, *rest, dry_run=True, **more)
        return objects[path]

    Output._build = built
    repo.scm.is_tracked = lambda path: os.path.relpath(path, repo.scm.root_dir) in tracked
    try:
        yield
    finally:
        Output._build, repo.scm.is_tracked = build, is_tracked
