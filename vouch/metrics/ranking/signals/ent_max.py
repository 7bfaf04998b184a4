"""ent_max: the largest entropy before a token, a share of the most possible (Ent_max of Tu et al. 2024)."""

from vouch.metrics.text.tokens import Numbers, Tokens


def per_text(tokens: Tokens) -> Numbers:
    """[n] 0 ... 1."""
    return tokens.largest(tokens.entropy)
