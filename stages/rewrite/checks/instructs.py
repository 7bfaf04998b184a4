"""instructs: an instruction does not end like a question."""

KINDS = ("lr_i",)


def problem(original: str, rewrite: str) -> str:
    """See stages/rewrite/checking.py."""
    return "asks where it should instruct" if rewrite.rstrip("\"'”’ ").endswith("?") else ""
