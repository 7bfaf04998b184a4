# The same DAG as dvc.yaml, for clusters. No rule is written here: stages/dag.py reads dvc.yaml, and a
# stage is run when its contents say so (stages/runtime/stamps.py), as `dvc repro` would.
#   snakemake --cores 2                       on this machine
import sys

sys.path.insert(0, workflow.basedir)

from stages.dag import is_folder, read_dag
from stages.runtime.errors import UserError
from stages.runtime.stamps import settle, stamp_path

try:
    PIPELINE = read_dag()
    if workflow.is_main_process:
        settle(PIPELINE)
except (UserError, OSError) as error:
    sys.exit(f"vouch: {error}")


rule all:
    default_target: True
    input:
        [stage.outs[0] for stage in PIPELINE.stages.values()],


for stage in PIPELINE.stages.values():

    rule:
        name:
            stage.slug
        input:
            stamp_path(stage),
            PIPELINE.watched(stage),
        output:
            [directory(out) if is_folder(out) else out for out in stage.outs],
        params:
            cmd=stage.cmd,
        shell:
            "{params.cmd}"


onsuccess:
    shell("python -m stages.console.main sync --partial")
