"""Make what is not up to date in this one process, and record all of it for DVC at once.

As `dvc repro`, for many stages that take a second each, such as released answers and their scores: a process
and a new dvc.lock for every one of them take longer than they do. What is finished is recorded even where a
stage fails.

Examples:
  vouch run                              everything
  vouch run extract                      the answers of all models, and what these need
  vouch run score@llava score@qwen       two models
"""

import argparse
import functools
import importlib
import shutil
from collections.abc import Sequence

from vouch.cli.store.sync import synced
from vouch.params.start import check_once
from vouch.pipeline import runners
from vouch.pipeline.dag import Dag, Stage, is_folder, read_dag
from vouch.pipeline.digests import Digests
from vouch.pipeline.errors import UserError, did_you_mean
from vouch.pipeline.freshness import read_lock, state_of
from vouch.pipeline.stage import make, seen_settings, told
from vouch.pipeline.terminal import progress


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `vouch run`."""
    about = "as `dvc repro` names them: extract, score@MODEL (default: all)"
    parser.add_argument("stages", nargs="*", metavar="STAGE", help=about)


def run(options: argparse.Namespace) -> int:
    """Makes the stages in the order of the DAG, then records them."""
    settings = seen_settings()
    check_once()
    runners.mend()
    dag, digests, lock = read_dag(), Digests(), functools.cache(read_lock)
    wanted = with_upstream(dag, options.stages)
    made, failed = 0, None
    runners.enter()
    try:
        for stage in progress(wanted, len(wanted), "run"):
            if not state_of(stage, digests, lock).fresh:
                _make(dag, stage, digests, settings)
                made += 1
    except BaseException as error:
        failed = told(error)
        if failed is None:
            raise
    finally:
        digests.save()
        runners.leave()
    _, recorded = synced()
    print(f"run: {made} of {len(wanted)} stages made, the others were up to date; {len(recorded)} recorded")
    if failed:
        raise failed
    return 0


def with_upstream(dag: Dag, names: Sequence[str]) -> list[Stage]:
    """The stages of these names or entries of dvc.yaml, all where none is given, and what they need."""
    known = {*dag.stages, *(name.partition("@")[0] for name in dag.stages)}
    for name in names:
        if name not in known:
            raise UserError(f"vouch run: no stage {name:.80}; {did_you_mean(name, sorted(known))}")
    ordered, wanted = dag.ordered(), set()
    for stage in reversed(ordered):
        if not names or {stage.name, stage.name.partition("@")[0]} & {*names} or stage.name in wanted:
            wanted |= {stage.name, *dag.upstream(stage)}
    return [stage for stage in ordered if stage.name in wanted]


def _make(dag: Dag, stage: Stage, digests: Digests, settings: list[str]) -> None:
    for out in filter(is_folder, stage.outs):  # as both runners do
        shutil.rmtree(out, ignore_errors=True)
    make(dag, stage, importlib.import_module(stage.cmd.split()[2]).main, digests, settings)
