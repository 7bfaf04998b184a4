"""Writes requirements.lock from requirements.in: every package pinned, for every platform.

Run by `make lock` inside the environment. The CUDA libraries are left out: a CUDA build of torch names
their exact versions itself, and a CPU build must not bring gigabytes of them.
"""

import re
import subprocess
import sys
from pathlib import Path

CUDA = re.compile(r"^(nvidia-|cuda-|triton==)")
HEAD = "# Written by `make lock` from requirements.in. Pip installs it; see docs/dependencies.md.\n"


def main() -> None:
    """Resolves with uv and keeps the lines that are not CUDA libraries."""
    command = ["uv", "pip", "compile", "--universal", "--fork-strategy", "fewest", "--python-version", "3.11"]
    command += ["--no-header", "--no-annotate", "--quiet", "requirements.in"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"requirements.in: {done.stderr.strip()}")
    lines = [line for line in done.stdout.splitlines() if line and not CUDA.match(line)]
    Path("requirements.lock").write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
