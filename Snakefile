# The same DAG as dvc.yaml, for clusters. No rule is written here: vouch/pipeline/dag.py reads dvc.yaml, and a
# stage is run when its contents say so (vouch/pipeline/stamps.py), as `dvc repro` would.
#   snakemake --cores 2                       on this machine
#   snakemake --report FILE.html (or .zip)    the figures in one file, with what was run and for how long
#   snakemake --workflow-profile profiles/slurm       on a cluster with Slurm; docs/cluster.md
import os
import sys

sys.path.insert(0, workflow.basedir)

from vouch.pipeline.dag import is_folder, read_dag
from vouch.pipeline.resources import planner
from vouch.pipeline import engines, guardian, mending
from vouch.params.checked import check_once
from vouch.pipeline.errors import UserError
from vouch.pipeline.stamps import settle, stamp_path

try:
    if workflow.is_main_process:  # as every stage does, before jobs wait in a queue to be refused
        check_once()
    PIPELINE = read_dag()
    resources_of = planner(config)
    RESOURCES = {name: resources_of(stage) for name, stage in PIPELINE.stages.items()}
    if workflow.is_main_process:
        mending.mend()
        if not workflow.output_settings.dryrun:  # workflow.dryrun is not known yet
            guardian.watch(os.getpid())
            engines.enter()
        settle(PIPELINE)
except (UserError, OSError) as error:
    sys.exit(f"vouch: {error}")


def marked(stage, out):
    """An output as Snakemake wants it: folders by name, and what `snakemake --report` shows."""
    path = directory(out) if is_folder(out) else out
    return report(path, **stage.reports[out]) if out in stage.reports else path


rule all:
    default_target: True
    input:
        [stage.outs[0] for stage in PIPELINE.stages.values()],


for group, outs in PIPELINE.groups().items():

    rule:  # `snakemake vary`: all stages of one kind
        name:
            group
        input:
            outs,


for stage in PIPELINE.stages.values():

    rule:
        name:
            stage.slug
        input:
            stamp_path(stage),
            PIPELINE.watched(stage),
        output:
            [marked(stage, out) for out in stage.outs],
        resources:
            **RESOURCES[stage.name],
        params:
            cmd=stage.cmd,
        shell:
            "{params.cmd}"


onsuccess:
    engines.leave()
    shell("python -m vouch.cli.main store sync --partial")
