"""ent_last: entropy before the last token, a share of the largest possible (Ent_P of Tu et al. 2024)."""

from vouch.metrics.text.tokens import Numbers, Tokens


def per_text(tokens: Tokens) -> Numbers:
    """[n] 0 ... 1."""
    return tokens.last(tokens.entropy)
