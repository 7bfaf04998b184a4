"""nll_last: negative log-likelihood of the token before the sequence ends, nats (NLL_P of Tu et al. 2024)."""

from vouch.metrics.text.tokens import Numbers, Tokens


def per_text(tokens: Tokens) -> Numbers:
    """[n] nats."""
    return tokens.last(tokens.nll)
