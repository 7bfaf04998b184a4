"""nll_min: that of the least probable token, nats (NLL_min of Tu et al. 2024, equation 1)."""

from vouch.metrics.text.tokens import Numbers, Tokens


def per_text(tokens: Tokens) -> Numbers:
    """[n] the largest negative log-likelihood, nats."""
    return tokens.largest(tokens.nll)
