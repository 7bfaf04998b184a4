"""ent_avg_eos: ent_avg with the token that ends the sequence."""

from vouch.metrics.text.tokens import Numbers, Tokens


def per_text(tokens: Tokens) -> Numbers:
    """[n] 0 ... 1."""
    return tokens.with_end().mean(tokens.entropy)
