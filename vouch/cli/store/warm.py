"""Ask the models everything at once, loading each only once; the stages then find the answers and only write.

Responses that are already there, for instance pulled, are taken into the work cache first, if a record says
that they were made from the present prompts, images, pin and parameters.

Examples:
  vouch store warm
  vouch store warm tiny_a tiny_b --jobs 2
"""

import argparse
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

from vouch.cli.printing import check_name
from vouch.models.requests import DatasetRequests, Session, answer
from vouch.models.responses import restore
from vouch.params.check import check_project
from vouch.pipeline.dag import Dag, Stage, read_dag
from vouch.pipeline.errors import UserError
from vouch.pipeline.intact import Recorded, refuse_damaged
from vouch.pipeline.run import Live, live
from vouch.pipeline.state import Digests, Record, present, read_lock, read_receipt, states
from vouch.tables.answered import RESPONSES, pin_path, read_pin


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `vouch store warm`."""
    parser.add_argument("models", nargs="*", metavar="MODEL", help="models of params.yaml (default: all)")
    parser.add_argument("--jobs", type=int, default=1, help="models asked at once, each by its own process")


def run(options: argparse.Namespace) -> int:
    """Fills the work cache."""
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
    """Each model in one of `jobs` processes, which import the libraries once. Raises UserError."""
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
    """One model, all datasets."""
    project, dag, digests = check_project(), read_dag(), Digests()
    model = Session(read_pin(pin_path(name)), project.extract)
    for dataset in project.datasets:
        asked = DatasetRequests(model, dataset)
        stage = dag[f"extract@{name}-{dataset}"]
        taken, told = _taken_over(asked, stage, digests), Live(stage)
        with live(told):
            answers = answer(asked, told.follow)["answers"]
        print(
            f"warm: {name} {dataset}: {taken}{answers['asked']} asked, {answers['known']} known before",
            flush=True,
        )
    digests.save()


def _check_inputs(dag: Dag, stages: list[Stage], digests: Digests) -> None:
    """Raises UserError unless all that the stages read of other stages is there and up to date."""
    needed = {before for stage in stages for before in dag.upstream(stage)}
    for state in states(dag, digests):
        if state.stage.name in needed and not state.fresh:
            raise UserError(
                f"{state.stage.outs[0]}: not there or not up to date ({state.why}); run "
                f"`dvc repro {' '.join(sorted(needed))}` first"
            )


def _taken_over(asked: DatasetRequests, stage: Stage, digests: Digests) -> str:
    """Restores what can be trusted; what to say of it."""
    problem = distrust(asked, stage, digests)
    if problem is not None:
        return f"its responses are left alone ({problem}), " if problem else ""
    try:
        return f"{restore(asked)} taken over from its responses, "
    except UserError as error:
        return f"its responses are left alone ({error}), "


def distrust(asked: DatasetRequests, stage: Stage, digests: Digests) -> str | None:
    """Why its responses may not be of the present inputs: empty where there are none, None where they are."""
    tables = [str(one.path(asked.model.name, asked.name)) for one in RESPONSES.values()]
    if None in (digests.of(table, anew=True) for table in tables):
        return ""
    now, records = present(stage, digests), (read_receipt(stage), read_lock().get(stage.name))
    if any(_vouches(record, now, tables) for record in records):
        return None
    return "no record that they belong to the present inputs"


def _vouches(record: Record | None, now: Record, tables: list[str]) -> bool:
    """Whether a record says that the present tables came from the present inputs.

    Code may differ: the responses themselves name the revisions of what can change an answer.
    """

    def of(one: Record) -> tuple[object, ...]:
        data = {path: digest for path, digest in one.deps.items() if path.startswith("data/")}
        return one.cmd, one.params, data, [one.outs.get(table) for table in tables]

    return record is not None and of(record) == of(now)
