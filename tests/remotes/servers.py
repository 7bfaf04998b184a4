"""Real remotes on this machine: a folder, Debian's sshd, and an S3 server; each keeps its objects in a folder.

A server is reached through a gate, which lets a number of bytes through and then holds, so that a transfer
stands still in the middle for as long as it takes to kill it.
"""

import os
import select
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

LOOPBACK = "127.0.0.1"
SSHD = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:" + os.environ.get("PATH", ""))
SFTP = "/usr/lib/openssh/sftp-server"
RCLONE = Path(sys.executable).with_name("rclone")
WAIT = 30.0  # seconds for a server to answer
BUCKET = "bucket"


class Gate:
    """Passes connections on to a port of this machine. `hold_after(n)`: stands still once n bytes passed."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._limit: int | None = None
        self._passed = 0
        self._lock = threading.Lock()
        self._open = threading.Event()
        self._open.set()
        self.held = threading.Event()
        self._listener = socket.create_server((LOOPBACK, 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def hold_after(self, count: int) -> None:
        """Counts from now, both directions."""
        with self._lock:
            self._passed, self._limit = 0, count
        self.held.clear()

    def release(self) -> None:
        """Lets everything through again; what was held is dropped with its connection by whoever was killed."""
        with self._lock:
            self._limit = None
        self._open.set()

    def close(self) -> None:
        self.release()
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=self._serve, args=self._listener.accept()[:1], daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with suppress(OSError), closing(client), socket.create_connection((LOOPBACK, self._to)) as server:
            other = {client: server, server: client}
            while True:
                for side in select.select([client, server], [], [])[0]:
                    if not (data := side.recv(16384)):
                        return
                    self._wait(len(data))
                    other[side].sendall(data)

    def _wait(self, count: int) -> None:
        with self._lock:
            self._passed += count
            if self._limit is not None and self._passed > self._limit:
                self._open.clear()
                self.held.set()
        self._open.wait(WAIT)


@dataclass
class Remote:
    """A remote. folder: where its objects lie. gate: none for a folder. env: what its clients need."""

    kind: str
    url: str
    folder: Path
    options: dict[str, str] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    gate: Gate | None = None

    def objects(self) -> dict[str, Path]:
        """Digest -> the file that a client would take for the object of that name."""
        root = self.folder / "files" / "md5"
        found = {path.parent.name + path.name: path for path in root.glob("??/*")}
        return {name: path for name, path in found.items() if len(name.removesuffix(".dir")) == 32}


def missing(kind: str) -> str:
    """What this machine lacks for a kind of remote, or nothing."""
    if kind == "ssh" and not (SSHD and Path(SFTP).exists()):
        return "no sshd; run `make servers`"
    if kind == "s3" and not RCLONE.exists():
        return "no rclone in this environment; run `make everything`"
    return ""


@contextmanager
def serve(kind: str, folder: Path) -> Iterator[Remote]:
    """A remote of a kind, with its keys, settings and objects below a folder; gone at the end."""
    store = folder / "store"
    (store / BUCKET).mkdir(parents=True)
    if kind == "local":
        yield Remote(kind, str(store), store)
        return
    with ExitStack() as stack:
        port = _free_port()
        gate = Gate(port)
        stack.callback(gate.close)
        command = _sshd(folder, port) if kind == "ssh" else _s3(store, port)
        log = stack.enter_context((folder / "log").open("wb"))
        server = subprocess.Popen(command, stdout=log, stderr=log, env=_server_env(folder))
        stack.callback(server.wait, WAIT)
        stack.callback(server.terminate)
        _await(port, server, folder / "log")
        yield (_ssh_remote if kind == "ssh" else _s3_remote)(folder, store, gate)


def _free_port() -> int:
    with socket.create_server((LOOPBACK, 0)) as listener:
        return int(listener.getsockname()[1])


def _await(port: int, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + WAIT
    while time.monotonic() < deadline and server.poll() is None:
        with suppress(OSError), socket.create_connection((LOOPBACK, port), timeout=1):
            return
        time.sleep(0.05)
    raise AssertionError(f"no server: {log.read_text('utf-8', 'replace')}")


def _server_env(folder: Path) -> dict[str, str]:
    return {**os.environ, "HOME": str(folder), "RCLONE_CONFIG": os.devnull}


def _sshd(folder: Path, port: int) -> list[str]:
    """One key is the host's and the client's; they protect nothing."""
    key = folder / "key"
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True, capture_output=True
    )
    (folder / "authorized").write_bytes(key.with_suffix(".pub").read_bytes())
    lines = [
        f"Port {port}",
        f"ListenAddress {LOOPBACK}",
        f"HostKey {key}",
        f"AuthorizedKeysFile {folder / 'authorized'}",
        f"PidFile {folder / 'pid'}",
        f"Subsystem sftp {SFTP}",
        "PasswordAuthentication no",
        "KbdInteractiveAuthentication no",
        "UsePAM no",
        "StrictModes no",
        "PermitRootLogin prohibit-password",
    ]
    (folder / "sshd_config").write_text("\n".join(lines) + "\n", "utf-8")
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)  # where it locks itself in; Debian makes it at boot
    return [str(SSHD), "-D", "-e", "-f", str(folder / "sshd_config")]


def _ssh_remote(folder: Path, store: Path, gate: Gate) -> Remote:
    """As a person has it: the host's name in ~/.ssh/config says port, user and key."""
    (folder / ".ssh").mkdir()
    known = folder / ".ssh/known_hosts"
    known.write_text(f"[{LOOPBACK}]:{gate.port} {(folder / 'key.pub').read_text('utf-8')}", "utf-8")
    options = {"keyfile": str(folder / "key"), "port": str(gate.port)}
    return Remote("ssh", f"ssh://{LOOPBACK}{store}", store, options, {"HOME": str(folder)}, gate)


def _s3(store: Path, port: int) -> list[str]:
    return [
        str(RCLONE),
        "serve",
        "s3",
        "--addr",
        f"{LOOPBACK}:{port}",
        "--auth-key",
        "throw,away",
        str(store),
    ]


def _s3_remote(folder: Path, store: Path, gate: Gate) -> Remote:
    options = {"endpointurl": f"http://{LOOPBACK}:{gate.port}"}
    env = {"AWS_ACCESS_KEY_ID": "throw", "AWS_SECRET_ACCESS_KEY": "away", "AWS_DEFAULT_REGION": "us-east-1"}
    return Remote("s3", f"s3://{BUCKET}", store / BUCKET, options, {"HOME": str(folder), **env}, gate)
