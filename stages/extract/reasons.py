"""Why others' code failed, as it is told and kept with answers."""

import re

_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+")


def reason(error: BaseException) -> str:
    """An error in one line, without addresses in memory: they differ from run to run."""
    return _ADDRESS.sub("", " ".join(str(error).split()))[:200]
