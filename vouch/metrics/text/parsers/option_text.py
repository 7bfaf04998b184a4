"""option_text: the text is that of exactly one option, but for case, spaces, punctuation and an article."""

from vouch.metrics.text.parsers import Choices, Named
from vouch.metrics.text.wording import plain


def parse(text: str, choices: Choices) -> Named:
    """The only option with this text."""
    said = plain(text)
    same = tuple(index for index, option in enumerate(choices.texts) if plain(option) == said)
    return same if said and len(same) == 1 else None
