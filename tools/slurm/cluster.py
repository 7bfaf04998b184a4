"""A real Slurm on this machine: munged, slurmctld and slurmd on the loopback address, all in one folder.

Slurm's commands inside jobs read /etc/slurm/slurm.conf and nothing else, so that file is written, and
removed again with gres.conf beside it. Where there is one that this program did not write, nothing starts.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ETC = Path("/etc/slurm")
MARK = "# written by tools/slurm, removed when it ends\n"
NEEDED = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scontrol", "scancel")
PORT = 16817
PATIENCE = 60.0


def check() -> None:
    """Exits with one line where something is missing or in the way."""
    missing = [name for name in NEEDED if shutil.which(name) is None]
    if missing:
        sys.exit(f"slurm: no {missing[0]} here; on Debian: apt-get install slurm-wlm munge")
    if os.getuid() != 0:
        sys.exit("slurm: its daemons need root; run this in a container, or on a machine to spare")
    with socket.socket() as probe:
        if probe.connect_ex(("127.0.0.1", PORT)) == 0:
            sys.exit(
                f"slurm: something listens on port {PORT}, perhaps another run of this; wait until it ends"
            )
    for name in ("slurm.conf", "gres.conf"):
        path = ETC / name
        if path.exists() and not path.read_text(encoding="utf-8").startswith(MARK):
            sys.exit(f"slurm: {path} is of another Slurm; run this on a machine that has none")


class Cluster:
    """A context: the daemons run within it. Ends only processes that it started, by their numbers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.host = socket.gethostname().split(".")[0]
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._written: list[Path] = []

    def __enter__(self) -> "Cluster":
        try:
            self._write()
            self._start_munge()
            self.start_controller()
            conf = str(ETC / "slurm.conf")
            self._start("slurmd", "slurmd", "-D", "-f", conf, "-N", self.host)
            self._wait("the node", lambda: "idle" in self.said("sinfo", "-h", "-o", "%T"))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        subprocess.run(["scancel", "-u", "root"], capture_output=True, check=False, timeout=30)
        for name in reversed(list(self._running)):
            self.stop(name)
        for path in self._written:
            path.unlink(missing_ok=True)

    def _write(self) -> None:
        d = self.folder
        for name in ("state", "spool", "munge"):
            (d / name).mkdir(parents=True, mode=0o700)
        for number in range(2):  # character devices: Slurm takes nothing else for GPUs
            subprocess.run(["mknod", str(d / f"nvidia{number}"), "c", "1", "3"], check=True)
        settings = f"""\
ClusterName=one
SlurmctldHost={self.host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={d}/munge/socket
CredType=cred/munge
SlurmctldPort={PORT}
SlurmdPort=16818
StateSaveLocation={d}/state
SlurmdSpoolDir={d}/spool
SlurmctldPidFile={d}/slurmctld.pid
SlurmdPidFile={d}/slurmd.pid
SlurmctldLogFile={d}/slurmctld.log
SlurmdLogFile={d}/slurmd.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
MpiDefault=none
ReturnToService=2
GresTypes=gpu
NodeName={self.host} NodeAddr=127.0.0.1 CPUs=12 RealMemory=64000 Gres=gpu:2 State=UNKNOWN
PartitionName=cpu Nodes={self.host} Default=YES MaxTime=1440 State=UP
PartitionName=gpu Nodes={self.host} MaxTime=1440 State=UP
"""
        self._own("slurm.conf", settings)
        self._own("gres.conf", f"NodeName={self.host} Name=gpu Count=2 File={d}/nvidia[0-1]\n")

    def _own(self, name: str, text: str) -> None:
        ETC.mkdir(exist_ok=True)
        path = ETC / name
        path.unlink(missing_ok=True)  # `check` has seen that it is one of ours
        with path.open("x", encoding="utf-8") as handle:
            self._written.append(path)
            handle.write(MARK + text)

    def _start_munge(self) -> None:
        d = self.folder / "munge"
        (d / "key").write_bytes(os.urandom(128))
        (d / "key").chmod(0o400)
        options = {
            "key-file": "key",
            "socket": "socket",
            "pid-file": "pid",
            "log-file": "log",
            "seed-file": "seed",
        }
        arguments = [f"--{option}={d / name}" for option, name in options.items()]
        self._start("munged", "munged", "--foreground", "--force", *arguments)
        self._wait("munged", (d / "socket").exists)

    def start_controller(self) -> None:
        """Starts slurmctld with the state that it left."""
        self._start("slurmctld", "slurmctld", "-D", "-f", str(ETC / "slurm.conf"))
        self._wait("slurmctld", lambda: "UP" in self.said("scontrol", "ping"))

    def _start(self, name: str, *command: str) -> None:
        with (self.folder / f"{name}.out").open("ab") as log:
            self._running[name] = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    def stop(self, name: str) -> None:
        """Ends one daemon."""
        process = self._running.pop(name)
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def said(self, *command: str) -> str:
        """What a command of Slurm prints, errors included."""
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        return done.stdout + done.stderr

    def _wait(self, what: str, ready: Callable[[], object]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not ready():
            dead = [name for name, process in self._running.items() if process.poll() is not None]
            if dead or time.monotonic() > deadline:
                log = (self.folder / f"{(dead or ['slurmctld'])[0]}.out").read_text(errors="replace")
                raise RuntimeError(f"slurm: {what} did not start: {log[-500:]}")
            time.sleep(0.1)
