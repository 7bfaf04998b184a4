"""Why others' code failed, as it is told and kept with answers."""

import re

_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+")


def raised_for_us(error: BaseException) -> bool:
    """Whether an exception is an error, not a person or a system that ends the process.

    Rust code that panics, as tokenizers do over a regular expression without end, is an error of a model's
    file, though Python counts it among the others.
    """
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"


def reason(error: BaseException) -> str:
    """An error in one line, without addresses in memory: they differ from run to run."""
    return _ADDRESS.sub("", " ".join(str(error).split()))[:200]
