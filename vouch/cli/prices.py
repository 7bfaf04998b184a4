"""What a study would cost at servers that charge for tokens: an estimate, from the prices in models.lock."""

from collections.abc import Sequence

from vouch.cli.counts import Count
from vouch.models.pins.config import Prices
from vouch.models.requests.config import Config
from vouch.tables.prompts import LETTERS, TEXT

TEXT_TOKENS = 80  # of a prompt's words
PICTURE = (1024, 768)  # pixels that a picture is taken to have; each prompt is taken to show one


def cost(
    prices: Prices, counts: Sequence[Count], config: Config, cap: int, thought: int = 0
) -> tuple[int, int, int, float]:
    """Requests, tokens in and out, and their price.

    Letters are one token, texts `cap` of them; thought: tokens before each text.
    """
    texts = sum(one.outputs.get(TEXT, 0) for one in counts)
    texts *= 1 + sum(sampling.samples for sampling in config.sampling)
    letters = 0 if thought else sum(one.outputs.get(LETTERS, 0) for one in counts)
    requests = letters + texts
    read = requests * (TEXT_TOKENS + prices.picture_tokens(*PICTURE))
    written = letters + texts * (cap + thought)
    return requests, read, written, (read * prices.input + written * prices.output) / 1e6
