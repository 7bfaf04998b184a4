"""Standard streams that were closed when this process began (`2>&-`, some services).

The next file that is opened would get the number of a closed one, and with it what libraries and other
programs print.
"""

import os
import sys

_NAMES = ("stdin", "stdout", "stderr")


def open_streams() -> None:
    """Lets closed standard streams lead nowhere, for this process and those that it starts."""
    for number in range(len(_NAMES)):
        try:
            os.fstat(number)
        except OSError:
            null = os.open(os.devnull, os.O_RDWR)  # the lowest free number: those below are open
            os.set_inheritable(null, True)
    for number, name in enumerate(_NAMES):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w" if number else "r", encoding="utf-8"))  # noqa: SIM115
