"""`make slurm`: the pipeline on a real Slurm of this machine, disturbed and not; the same bytes each time.

python -m tools.slurm [LOG]   from the root of the checkout. LOG: a copy of what is printed.
"""

import signal
import sys
import tempfile
from pathlib import Path

from tools.slurm.cluster import Cluster, check
from tools.slurm.disturbing import Disturbances, time_limit
from tools.slurm.running import Bed, Log, end_all


def main() -> None:
    """Runs all of them."""
    check()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("slurm: told to stop"))  # so that what it started ends
    arguments = sys.argv[1:]
    log = Log(Path(arguments[0]) if arguments else None)
    with tempfile.TemporaryDirectory(prefix="vouch-slurm-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        with Cluster(folder / "slurm") as cluster:
            log(cluster.said("sinfo", "--version") + cluster.said("sinfo", "-h", "-o", "%P %T %c cpus %G"))
            bed = Bed(folder, log)
            runs = Disturbances(cluster, bed)
            try:
                bed.begin()
                bed.reference()
                runs.disturbed()
                time_limit(bed)
                runs.undisturbed()
            finally:
                end_all()
    log("all of it ended with the same bytes")


if __name__ == "__main__":
    main()
