"""Ctrl-C while a program is still importing: one line (or none) and status 130 instead of a traceback.

Imports take most of a short stage. An exception in the middle of one would show files of libraries, so until
the program begins its work the signal ends the process at once: nothing was written yet.
"""

import os
import signal
import sys

STATUS = 130  # 128 + SIGINT, as shells report it
STAGE = "vouch: interrupted; run it again, finished answers are kept"


class _ExitOnInterrupt:
    """A signal handler that ends the process at once. line: printed on stderr before, if not empty."""

    def __init__(self, line: str) -> None:
        self._line = line

    def __call__(self, _number: int, _frame: object) -> None:
        if self._line:
            os.write(2, f"{self._line}\n".encode())
        os._exit(STATUS)


def end_quietly(line: str = "") -> None:
    """Ends this process on Ctrl-C, with `line` on stderr, until `begin`. No effect if Ctrl-C is ignored, as
    in jobs that a shell runs in the background."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _ExitOnInterrupt(line))


def begin() -> None:
    """From now on Ctrl-C raises KeyboardInterrupt, as usual."""
    if isinstance(signal.getsignal(signal.SIGINT), _ExitOnInterrupt):
        signal.signal(signal.SIGINT, signal.default_int_handler)


def is_program(*names: str) -> bool:
    """True in the named programs, and while `python -m` imports the packages above its module."""
    return os.path.basename(sys.argv[0] if sys.argv else "") in ("-m", *names)
