"""ent_max_eos: ent_max with the token that ends the sequence."""

from vouch.metrics.text.tokens import Numbers, Tokens


def per_text(tokens: Tokens) -> Numbers:
    """[n] 0 ... 1."""
    return tokens.with_end().largest(tokens.entropy)
