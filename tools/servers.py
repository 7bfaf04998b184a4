"""Gets what the tests of remotes need beside Python: Debian's sshd.

Run by the Makefile; standard library only. Installed where it is missing, this is root and no systemd runs:
the package would have systemd start a server that others can reach. Else a line says what is missing, and
the tests that need it are skipped (with CI=true they fail).
"""

import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

PACKAGE = "openssh-server"
PLACES = "/usr/sbin:/usr/local/sbin:" + os.environ.get("PATH", "")
POLICY = Path("/usr/sbin/policy-rc.d")  # Debian asks it before a package starts a server; 101 is no
LINES = 400  # characters of a message that are passed on


def install() -> str:
    """Installs sshd without starting it; returns nothing, or what is missing and why."""
    if shutil.which("sshd", path=PLACES):
        return ""
    if not shutil.which("apt-get") or os.geteuid() != 0 or Path("/run/systemd/system").exists():
        return f"no sshd; install {PACKAGE} (and stop it, if nobody should reach this machine by SSH)"
    print(f"servers: apt-get install {PACKAGE}", flush=True)
    ours = not POLICY.exists()
    if ours:
        POLICY.write_text("#!/bin/sh\nexit 101\n", encoding="utf-8")
        POLICY.chmod(0o755)
    try:
        subprocess.run(["apt-get", "update", "-q"], capture_output=True, check=False)
        command = ["apt-get", "install", "-qy", "--no-install-recommends", PACKAGE]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    finally:
        if ours:
            with suppress(OSError):
                POLICY.unlink()
    return "" if done.returncode == 0 else (done.stderr or done.stdout).strip()[-LINES:] or "failed"


def main() -> None:
    """Installs; where that fails says so and leaves the rest to the tests."""
    if problem := install():
        print(f"servers: {problem}; the tests of remotes over SSH need it", file=sys.stderr)


if __name__ == "__main__":
    main()
