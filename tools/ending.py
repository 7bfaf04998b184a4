"""How a tool of this folder ends: with a line for a person where somebody stopped it or something failed."""

import signal
import subprocess
import sys
from collections.abc import Callable

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
