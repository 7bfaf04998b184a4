"""Asks models outside the stages.

`vouch store warm` asks everything at once; `vouch store verify --recompute` asks for a few answers again.
"""

import argparse
import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

from vouch.cli.command import argument, command
from vouch.models.requests import DatasetRequests, Session, answer
from vouch.models.responses import draw, recompute, restore
from vouch.params.check import check_project
from vouch.pipeline.dag import Dag, Stage, read_dag
from vouch.pipeline.digests import Digests
from vouch.pipeline.errors import UserError, check_name
from vouch.pipeline.records import Recorded, StageRecord, present, read_lock, read_receipt, refuse_damaged
from vouch.pipeline.run import Live
from vouch.pipeline.state import states
from vouch.tables.answered import RESPONSES, pin_path, read_pin


@command(
    "store warm",
    "ask the models everything at once, loading each only once",
    argument(
        "models", names="models", nargs="*", metavar="MODEL", help="models of params.yaml (default: all)"
    ),
    argument("--jobs", type=int, default=1, help="models to ask at once, each in its own process"),
)
def run_warm(options: argparse.Namespace) -> int:
    """Ask the models everything at once, loading each only once. The stages then find the answers and only
    write.

    Existing responses, for instance pulled ones, are first copied into the work cache, if a
    record says that they were made from the present prompts, images, pin and parameters.

    Examples:
      vouch store warm
      vouch store warm tiny_a tiny_b --jobs 2
    """
    project, dag, digests = check_project(), read_dag(), Digests()
    names = list(dict.fromkeys(options.models)) or list(project.models)
    for name in names:
        check_name("model", name, project.models)
    if options.jobs < 1:
        raise UserError(f"--jobs {options.jobs}: give the number of models to ask at once, at least 1")
    stages = [dag[f"extract@{name}-{dataset}"] for name in names for dataset in project.datasets]
    _check_inputs(dag, stages, digests)
    inputs = sorted({path for stage in stages for path in dag.inputs(stage)})
    refuse_damaged(Recorded(dag), inputs, digests)
    digests.save()
    if min(options.jobs, len(names)) == 1:
        for name in names:
            _warm(name)
    else:
        _side_by_side(names, options.jobs)
    return 0


def _side_by_side(names: list[str], jobs: int) -> None:
    """Asks the models in `jobs` processes, each of which imports the libraries once. Raises UserError."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(jobs, len(names)), context) as pool:
        running = {name: pool.submit(_warm, name) for name in names}
        try:
            for asked in running.values():
                asked.result()
        except BrokenProcessPool:
            broken = [name for name, asked in running.items() if asked.done() and asked.exception()]
            raise UserError(
                f"a process ended while asking {', '.join(broken)}; finished answers are kept: "
                f"run it again, with a smaller --jobs if memory ran out"
            ) from None
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _warm(name: str) -> None:
    """Asks one model everything on all datasets."""
    project, dag, digests = check_project(), read_dag(), Digests()
    model = Session(read_pin(pin_path(name)), project.extract)
    for dataset in project.datasets:
        requests = DatasetRequests(model, dataset)
        stage = dag[f"extract@{name}-{dataset}"]
        problem, copied = distrust(requests, stage, digests), ""
        if problem is None:
            try:
                copied = f"{restore(requests)} copied from its responses, "
            except UserError as error:
                problem = str(error)
        if problem:
            copied = f"its responses are left alone ({problem}), "
        with Live(stage) as progress:
            answers = answer(requests, progress.follow)["answers"]
        counts = f"{answers['asked']} asked, {answers['known']} known before"
        print(f"warm: {name} {dataset}: {copied}{counts}", flush=True)
    digests.save()


def _check_inputs(dag: Dag, stages: list[Stage], digests: Digests) -> None:
    """Raises UserError unless everything that the stages read from other stages is up to date."""
    needed = {before for stage in stages for before in dag.upstream(stage)}
    for state in states(dag, digests):
        if state.stage.name in needed and not state.fresh:
            raise UserError(
                f"{state.stage.outs[0]}: not there or not up to date ({state.why}); run "
                f"`dvc repro {' '.join(sorted(needed))}` first"
            )


def distrust(requests: DatasetRequests, stage: Stage, digests: Digests) -> str | None:
    """Why the responses may not belong to the present inputs; empty without any, None if they belong."""
    tables = [str(one.path(requests.model.name, requests.name)) for one in RESPONSES.values()]
    if None in (digests.of(table, anew=True) for table in tables):
        return ""
    now, records = present(stage, digests), (read_receipt(stage), read_lock().get(stage.name))
    if any(_vouches(record, now, tables) for record in records):
        return None
    return "no record that they belong to the present inputs"


def _vouches(record: StageRecord | None, now: StageRecord, tables: list[str]) -> bool:
    """Whether a record says that the present tables were made from the present inputs.

    The code may differ: the responses name the revisions of everything that can change an answer.
    """

    def of(one: StageRecord) -> tuple[object, ...]:
        data = {path: digest for path, digest in one.deps.items() if path.startswith("data/")}
        return one.cmd, one.params, data, [one.outs.get(table) for table in tables]

    return record is not None and of(record) == of(now)


def recomputed(count: int, seed: int, say: Callable[[str], None]) -> int:
    """Asks the models again for `count` random answers; says how far the new ones are from the stored ones.

    Returns 0 if all are the same, otherwise 1. Raises UserError if there is no answer to compute again.
    """
    sample = draw(_recomputable(say), count, seed)
    answers = [one for dataset, drawn in sample for one in recompute(dataset, drawn)]
    if not answers:
        raise UserError(
            "--recompute: no answers of a model that runs here; `dvc pull` fetches them with their inputs"
        )
    head = f"{len(answers)} answers computed again (seed {seed})"
    changed = [one for one in answers if one.distance]
    if not changed:
        say(f"{head}; all are the same")
        return 0
    farthest, moved = max(changed, key=lambda one: one.distance), [one.where for one in changed if one.moved]
    say(
        f"{head}; {len(changed)} differ, by {farthest.distance:.2g} at most "
        f"({farthest.where}); {len(moved)} best letters, options or texts are others"
    )
    for where in moved:
        say(f"{where}: another answer")
    return 1


def _recomputable(say: Callable[[str], None]) -> Iterator[DatasetRequests]:
    """Datasets of models that run here, whose responses belong to the present inputs; says which do not."""
    project, dag, digests = check_project(), read_dag(), Digests()
    for name in project.models:
        if not pin_path(name).exists():
            continue
        pin = read_pin(pin_path(name))
        if pin.source.kind in ("released", "server"):
            continue
        model = Session(pin, project.extract)
        for dataset in project.datasets:
            requests, stage = DatasetRequests(model, dataset), dag[f"extract@{name}-{dataset}"]
            problem = distrust(requests, stage, digests)
            if problem is None:
                yield requests
            elif problem:
                say(f"{requests.label}: not computed again ({problem})")
