"""How a tool of this folder ends, and its log of JSON lines, with which it goes on after it was stopped."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from vouch.pipeline.errors import UserError

TAIL = 20  # lines of a command that failed


def ended(name: str, main: Callable[[], int], again: str) -> int:
    """What main returns; 130 where it was stopped, 1 where what it ran failed. again: what to do then.

    SIGTERM is heard like Ctrl-C, so that temporary folders and mounts go. Other exceptions are bugs of the
    tool and stay tracebacks.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return main()
    except KeyboardInterrupt:
        print(f"{name}: stopped; {again}", file=sys.stderr)
        return 130
    except UserError as error:
        print(f"{name}: {error}", file=sys.stderr)
    except AssertionError as error:  # of tests.checkouts.checkout: a command failed, and what it said
        first, *said = str(error).strip().splitlines() or ["a check failed"]
        print("\n".join([*said[-TAIL:], f"{name}: {first}; correct it, then {again}"]), file=sys.stderr)
    except subprocess.TimeoutExpired as error:
        what = error.cmd if isinstance(error.cmd, str) else " ".join(map(str, error.cmd))
        print(f"{name}: {what}: took more than {error.timeout:.0f} s; {again}", file=sys.stderr)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        print(f"{name}: {where}{error.strerror or error}; correct it, then {again}", file=sys.stderr)
    return 1


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The whole lines of a log, none where it is not there; half of one that a killed run left is no line."""
    found = []
    for line in path.read_bytes().splitlines() if path.exists() else []:
        try:
            record = json.loads(line)
        except ValueError:  # not UTF-8 is one as well
            continue
        if isinstance(record, dict):  # half a line may be a number
            found.append(record)
    return found


def add_line(path: Path, record: dict[str, Any]) -> None:
    """Adds a line. After half a line it begins a new one, or both would be lost."""
    line = json.dumps(record, sort_keys=True) + "\n"
    with path.open("ab+") as file:
        if file.tell():
            file.seek(-1, 2)
            line = line if file.read(1) == b"\n" else f"\n{line}"
        file.write(line.encode())
