"""nll_avg: mean negative log-likelihood of the tokens, nats (NLL_avg, equation 2 of Tu et al. 2024)."""

from vouch.metrics.text.tokens import Numbers, Tokens


def per_text(tokens: Tokens) -> Numbers:
    """[n] nats."""
    return tokens.mean(tokens.nll)
