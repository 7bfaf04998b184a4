"""Read every byte of the results and of DVC's cache, or of a remote, and name what is damaged.

DVC trusts what it has once stored: it checks neither its cache nor, on a push, what a remote already holds.
With --mend what is damaged is removed; `dvc repro` computes it anew, `dvc pull` or `dvc push` brings it back.
With --recompute N the models are asked again for N random answers: on a CPU they should come out the same,
docs/reproducibility.md.

Examples:
  vouch store verify
  vouch store verify --recompute 20
  vouch store verify --remote --mend
"""

import argparse
import shutil
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from vouch.cli.printing import as_json, json_option, plain
from vouch.cli.store.warm import distrust
from vouch.models.requests import DatasetRequests, Session
from vouch.models.responses import draw, recompute
from vouch.params.check import check_project
from vouch.pipeline.dag import read_dag
from vouch.pipeline.dvc_store import Store, cache, remote
from vouch.pipeline.errors import UserError
from vouch.pipeline.intact import Recorded, damaged
from vouch.pipeline.runners import none_at_work
from vouch.pipeline.state import Digests
from vouch.tables.answered import pin_path, read_pin

_DEFAULT = ""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `vouch store verify`."""
    parser.add_argument("--mend", action="store_true", help="remove what is damaged")
    parser.add_argument(
        "-r", "--remote", nargs="?", const=_DEFAULT, metavar="NAME", help="the objects of a remote instead"
    )

    parser.add_argument(
        "--recompute",
        type=int,
        default=0,
        metavar="N",
        help="ask again for N random answers of the results here",
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="of these answers; another draws others (default: 0)"
    )
    json_option(parser)


def run(options: argparse.Namespace) -> int:
    """Names what is damaged; returns 0 where nothing is, or where it was removed, and where answers came out
    the same.

    Raises UserError where there is nothing to read.
    """
    if options.recompute < 0 or (options.recompute and options.remote is not None):
        raise UserError("--recompute N: give a number of answers, at least 1, without --remote")
    told = Told(silent=options.json)
    if options.remote is None:
        # what a stage has just made is not yet known to a record
        with cache() as store, none_at_work() if options.mend else nullcontext():
            if not store.names() and not any(Path(out).exists() for out in read_dag().maker):
                raise UserError("nothing to verify: no output is here; `dvc pull` fetches them")
            outputs = _outputs(options.mend, told)
            said = f"{outputs} and {_objects(store, options.mend, told)}"
        then = "`dvc repro` or `dvc pull` brings it back"
    else:
        with remote(options.remote or None) as store:
            said = _objects(store, options.mend, told)
        then = "`dvc push` brings it back from where it is whole; `dvc repro` computes it anew"
    if told.damaged:
        told.say(f"removed; {then}" if options.mend else f"--mend removes it, then {then}")
        status = 0 if options.mend else 1
    else:
        told.say(f"{said} read; nothing is damaged")
        status = _recompute(options.recompute, options.seed, told) if options.recompute else 0
    if options.json:
        removed = bool(told.damaged) and options.mend
        print(as_json({"damaged": told.damaged, "removed": removed, "lines": told.lines}), end="")
    return status


@dataclass
class Told:
    """What was found: a line at a time for a person, or all of it at the end for programs."""

    silent: bool
    damaged: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    def say(self, line: str) -> None:
        """A line for a person."""
        self.lines.append(line)
        if not self.silent:
            print(plain(f"verify: {line}"))


def _outputs(mend: bool, told: Told) -> str:
    """In words how many were compared."""
    dag, digests = read_dag(), Digests()
    recorded = Recorded(dag)
    here = [out for out in sorted(dag.maker) if Path(out).exists()]
    compared = [out for out in here if recorded.knows(out)]
    found = list(damaged(recorded, compared, digests))
    digests.save()
    if absent := len(dag.maker) - len(here):
        told.say(f"{absent} of {len(dag.maker)} outputs are not here: `dvc pull`, or `dvc repro`")
    for path in sorted({*here} - {*compared}):
        told.say(f"{path}: no record of {dag.maker[path]} has it; `dvc repro` makes it anew")
    for path in found:
        told.damaged.append(path)
        told.say(f"{path}: not the bytes that {dag.maker[path]} wrote")
        if mend:
            shutil.rmtree(path) if Path(path).is_dir() else Path(path).unlink()
    return f"{len(compared):,} outputs"


def _objects(store: Store, mend: bool, told: Told) -> str:
    names = store.names()
    found = {name for name in names if not store.is_whole(name)}
    for name in sorted(found):
        told.damaged.append(store.path(name))
        told.say(f"{store.path(name)}: damaged in {store.place}")
    if mend:
        for name in [*found, *store.naming(found, [name for name in names if name not in found])]:
            store.remove(name)
    return f"{len(names):,} objects of {store.place}"


def _recompute(count: int, seed: int, told: Told) -> int:
    """Asks again for so many answers, says how far they are; 0 where they are the same. Raises UserError."""
    found = [one for dataset, drawn in draw(_asked(told), count, seed) for one in recompute(dataset, drawn)]
    if not found:
        raise UserError(
            "--recompute: no answers of a model that runs here; `dvc pull` fetches them with their inputs"
        )
    said = f"{len(found)} answers computed again (seed {seed})"
    other = [one for one in found if one.distance]
    if not other:
        told.say(f"{said}; all are the same")
        return 0
    most, moved = max(other, key=lambda one: one.distance), [one.where for one in other if one.moved]
    told.say(
        f"{said}; {len(other)} differ, by {most.distance:.2g} at most "
        f"({most.where}); {len(moved)} best letters, options or texts are others"
    )
    for where in moved:
        told.say(f"{where}: another answer")
    return 1


def _asked(told: Told) -> Iterator[DatasetRequests]:
    """All datasets of models whose responses are here and of the present inputs; others are told."""
    project, dag, digests = check_project(), read_dag(), Digests()
    for name in project.models:
        if not pin_path(name).exists():
            continue
        pin = read_pin(pin_path(name))
        if pin.source.kind in ("released", "server"):
            continue
        model = Session(pin, project.extract)
        for dataset in project.datasets:
            asked, stage = DatasetRequests(model, dataset), dag[f"extract@{name}-{dataset}"]
            problem = distrust(asked, stage, digests)
            if problem is None:
                yield asked
            elif problem:
                told.say(f"{asked.label}: not computed again ({problem})")
