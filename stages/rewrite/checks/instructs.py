"""instructs: an instruction does not end like a question."""

from stages.rewrite.checking import asks

KINDS = ("lr_i",)


def problem(original: str, rewrite: str) -> str:
    """See stages/rewrite/checking.py."""
    return "asks where it should instruct" if asks(rewrite) else ""
