# The same DAG as dvc.yaml, for clusters. No rule is written here: vouch/pipeline/dag.py reads dvc.yaml, and a
# stage is run when its contents say so (vouch/pipeline/state.py), as `dvc repro` would.
#   snakemake --cores 2                       on this machine
#   snakemake --report FILE.html (or .zip)    the figures in one file, with what was run and for how long
#   snakemake --software-deployment-method apptainer --config image=IMAGE     every stage in a container
#   snakemake --workflow-profile profiles/slurm       on a cluster with Slurm; docs/cluster.md
import sys

sys.path.insert(0, workflow.basedir)

from vouch.params.start import start_snakemake
from vouch.pipeline import runners
from vouch.pipeline.dag import is_folder
from vouch.pipeline.state import stamp_path

# workflow.dryrun is not known yet
OUTPUT = workflow.output_settings
QUIET = any(each.name in ("PROGRESS", "RULES", "ALL") for each in OUTPUT.quiet or ())
PIPELINE, RESOURCES = start_snakemake(config, workflow.is_main_process, OUTPUT.dryrun, QUIET)


def marked(stage, out):
    """An output as Snakemake wants it: folders by name, and what `snakemake --report` shows."""
    path = directory(out) if is_folder(out) else out
    return report(path, **stage.reports[out]) if out in stage.reports else path


if "image" in config:  # with --software-deployment-method apptainer: every stage runs in it

    container: config["image"]


rule all:
    default_target: True
    input: [stage.outs[0] for stage in PIPELINE.stages.values()]


for group, outs in PIPELINE.groups().items():

    rule:  # `snakemake vary`: all stages of one kind
        name: group
        input: outs


for stage in PIPELINE.stages.values():

    rule:
        name: stage.slug
        input: stamp_path(stage), PIPELINE.watched(stage)
        output: [marked(stage, out) for out in stage.outs]
        resources: **RESOURCES[stage.name]
        params: cmd=stage.cmd
        shell: "{params.cmd}"


onsuccess:
    runners.leave()
    shell("python -m vouch.cli.main store sync --partial")
