"""Rules that read an option out of a generated text, PARSERS; `score.parsers` says which, in order.

To add one, add an entry: parse(text, choices) -> options or None. None: the rule finds nothing, the next one
is tried. A tuple: 0-based places of the options that the text names, as shown. Most rules name one; an index
that no option has is an answer, and a wrong one. The empty tuple: the model declines to answer. A rule never
raises and takes time linear in the text.
"""

from collections.abc import Callable, Sequence

from vouch.metrics.text.parsers import marks, published, words
from vouch.metrics.text.parsers.marks import Choices, Named

PARSERS: dict[str, Callable[[str, Choices], Named]] = {
    "contains": published.contains,
    "first_mark": published.first_mark,
    "letter": marks.letter,
    "mmmu": published.mmmu,
    "option_text": words.option_text,
    "refusal": words.refusal,
    "tail": marks.tail,
}

DEFAULT_PARSERS = ("tail", "letter", "option_text", "refusal", "first_mark")


def read(text: str, choices: Choices, parsers: Sequence[str]) -> tuple[str | None, tuple[int, ...]]:
    """The first rule that finds something, and what; (None, ()) where none does."""
    for name in parsers:
        named = PARSERS[name](text, choices)
        if named is not None:
            return name, named
    return None, ()
