"""ent_first: entropy before the first token, a share of the largest possible (Ent_F of Tu et al. 2024)."""

from vouch.metrics.text.tokens import Numbers, Tokens


def per_text(tokens: Tokens) -> Numbers:
    """[n] 0 ... 1."""
    return tokens.first(tokens.entropy)
