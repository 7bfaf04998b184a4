"""unnegated: wherever else, negations stay as many as they are."""

from vouch.prompts.rewrites.checking import NEGATION

KINDS = ("clean", "lr_i", "lr_c", "lr_v", "ls_m")


def problem(original: str, rewrite: str) -> str:
    """See vouch/prompts/rewrites/checking.py."""
    before, after = len(NEGATION.findall(original)), len(NEGATION.findall(rewrite))
    return "" if before == after else f"{'loses' if after < before else 'brings in'} a negation"
