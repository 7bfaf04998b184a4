"""instructs: an instruction does not end like a question."""

from vouch.prompts.rewrites.checking import outputs

KINDS = ("lr_i",)


def problem(original: str, rewrite: str) -> str:
    """See vouch/prompts/rewrites/checking.py."""
    return "asks where it should instruct" if outputs(rewrite) else ""
