"""nll_min_eos: nll_min with the token that ends the sequence."""

from vouch.metrics.text.tokens import Numbers, Tokens


def per_text(tokens: Tokens) -> Numbers:
    """[n] nats."""
    return tokens.with_end().largest(tokens.nll)
