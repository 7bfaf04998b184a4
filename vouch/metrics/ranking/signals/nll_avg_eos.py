"""nll_avg_eos: nll_avg with the token that ends the sequence."""

from vouch.metrics.text.tokens import Numbers, Tokens


def per_text(tokens: Tokens) -> Numbers:
    """[n] nats."""
    return tokens.with_end().mean(tokens.nll)
