"""nll_first: negative log-likelihood of the first token, nats (NLL_F of Tu et al. 2024)."""

from vouch.metrics.text.tokens import Numbers, Tokens


def per_text(tokens: Tokens) -> Numbers:
    """[n] nats."""
    return tokens.first(tokens.nll)
