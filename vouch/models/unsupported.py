"""The request types that a model does not support, and why."""

from vouch.models.lock_entry import LOCK, OPENAI, LockEntry
from vouch.tables.answered import Pin, Reasoning
from vouch.tables.asked import LETTERS, LIKELIHOOD, OUTPUTS

NO_LOGPROBS = "the server gives no log-probabilities"
NO_SCORES = "the server does not score given texts"


def scores_texts(url: str) -> bool:
    """Whether a server may score given texts, as far as its address tells."""
    return url != OPENAI


def unsupported_outputs(model: LockEntry | Pin) -> dict[str, str]:
    """Request type -> why a model does not support it; empty for a model with weights.

    A server's are known by `outputs` of its entry, and by what it is.
    """
    url = getattr(model.source, "url", None)
    if url is None:
        return {}
    reasons = {}
    if model.outputs:
        named = f"{LOCK} names only {', '.join(model.outputs)}"
        reasons = {output: named for output in OUTPUTS if output not in model.outputs}
    if not scores_texts(url):
        reasons[LIKELIHOOD] = NO_SCORES
    if isinstance(model.reasoning, Reasoning):
        thinks = "{} of a model that thinks cannot be read from a server"
        reasons |= {output: thinks.format(output) for output in (LETTERS, LIKELIHOOD)}
    return {output: reasons[output] for output in OUTPUTS if output in reasons}
