"""The request types that a model does not support, and why."""

from collections.abc import Sequence

from vouch.models.lock_entry import LOCK, OPENAI, PROGRAM_ENGINE, LockEntry
from vouch.tables.answered import Pin, Reasoning
from vouch.tables.asked import LETTERS, LIKELIHOOD, OUTPUTS

NO_LOGPROBS = "the server gives no log-probabilities"
NO_SCORES = "the server does not score given texts"


def scores_texts(url: str) -> bool:
    """Whether a server may score given texts, as far as its address tells."""
    return url != OPENAI


def not_by_program(outputs: Sequence[str]) -> str:
    """Why a program has no answers of other request types than these."""
    return f"its program gives only {', '.join(outputs)}"


def unsupported_outputs(model: LockEntry | Pin) -> dict[str, str]:
    """Request type -> why a model does not support it; empty for a model with weights.

    A server's and a program's are known by `outputs` of its entry, a server's also by what it is.
    """
    url, outputs = getattr(model.source, "url", None), model.outputs
    if model.engine == PROGRAM_ENGINE and outputs:
        return {output: not_by_program(outputs) for output in OUTPUTS if output not in outputs}
    if url is None:
        return {}
    reasons = {}
    if outputs:
        named = f"{LOCK} names only {', '.join(outputs)}"
        reasons = {output: named for output in OUTPUTS if output not in outputs}
    if not scores_texts(url):
        reasons[LIKELIHOOD] = NO_SCORES
    if isinstance(model.reasoning, Reasoning):
        thinks = "{} of a model that thinks cannot be read from a server"
        reasons |= {output: thinks.format(output) for output in (LETTERS, LIKELIHOOD)}
    return {output: reasons[output] for output in OUTPUTS if output in reasons}
