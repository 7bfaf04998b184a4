"""How every script of stages/ and the Snakefile start: the parameters are checked before anything else."""

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from vouch.params.checked import check_once
from vouch.pipeline.dag import Dag, read_dag
from vouch.pipeline.stage import Run
from vouch.pipeline.stage import run_stage as run_checked


def run_stage(name: str, body: Callable[[Run], None]) -> NoReturn:
    """Runs `body` as the stage whose command this process is, once params.yaml and models.lock are checked.

    Exits with 0, or with one line on stderr that says what is wrong, where, and what to do.
    """
    run_checked(name, body, check_once)


def start_snakemake(
    config: Mapping[str, Any], main: bool, dry_run: bool
) -> tuple[Dag, dict[str, dict[str, Any]]]:
    """The stages and their `resources:` by name, with every stamp set so that Snakemake plans what is stale.

    config: of Snakemake. main: this is no job of a Snakemake that has done the same; jobs only read, with the
    standard library and PyYAML. Exits with one line on stderr where something is wrong, as every stage would,
    before jobs wait in a queue to be refused.
    """
    from vouch.pipeline import resources, runners, stamps
    from vouch.pipeline.errors import UserError

    try:
        if main:
            check_once()
        dag = read_dag()
        resources_of = resources.planner(config)
        found = {name: resources_of(stage) for name, stage in dag.stages.items()}
        if main:
            runners.mend()
            if not dry_run:
                runners.enter()
            stamps.settle(dag)
    except (UserError, OSError) as error:
        raise SystemExit(f"vouch: {error}") from None
    return dag, found
