"""What a study would cost at servers that charge for tokens: an estimate, from the prices in models.lock."""

from collections.abc import Sequence

from vouch.cli.counts import Count
from vouch.models.pins.config import LockEntry
from vouch.models.server.settings import OPENAI
from vouch.tables.prompts import LETTERS, LIKELIHOOD, TEXT

TEXT_TOKENS = 80  # of a prompt's words
PICTURE = (1024, 768)  # pixels that a picture is taken to have; each prompt is taken to show one
OPTIONS = 4  # that a prompt is taken to have


def cost(entry: LockEntry, counts: Sequence[Count], cap: int) -> tuple[int, int, int, float]:
    """Requests, tokens in and out, and their price, by an entry with prices.

    Letters are one token, and so is each request that scores a prompt or one of its options, of servers that
    do; texts `cap` tokens after the thought. A model that thinks is asked for texts alone.
    """
    prices, thought = entry.prices, entry.thought_tokens
    assert prices

    def asked(output: str) -> int:
        return sum(one.outputs.get(output, 0) for one in counts)

    texts = asked(TEXT) + sum(one.samples for one in counts)
    scored = entry.source.kind == "server" and entry.source.url != OPENAI
    short = 0 if thought else asked(LETTERS) + scored * (1 + OPTIONS) * asked(LIKELIHOOD)
    requests = short + texts
    read = requests * (TEXT_TOKENS + prices.picture_tokens(*PICTURE))
    written = short + texts * (cap + thought)
    return requests, read, written, (read * prices.input + written * prices.output) / 1e6
