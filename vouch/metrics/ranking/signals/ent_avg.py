"""ent_avg: mean entropy before the tokens, a share of the largest possible (Ent_avg of Tu et al. 2024)."""

from vouch.metrics.text.tokens import Numbers, Tokens


def per_text(tokens: Tokens) -> Numbers:
    """[n] 0 ... 1."""
    return tokens.mean(tokens.entropy)
