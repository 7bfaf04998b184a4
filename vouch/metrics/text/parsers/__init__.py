"""Rules that read an option out of a generated text, PARSERS; `score.parsers` says which, in order.

To add one, add an entry: parse(text, choices) -> options or None. None: the rule finds nothing, the next one
is tried. A tuple: 0-based places of the options that the text names, as shown. Most rules name one; an index
that no option has is an answer, and a wrong one. The empty tuple: the model declines to answer. A rule never
raises and takes time linear in the text.
"""

from collections.abc import Callable, Sequence

from vouch.metrics.text.marks import Choices, Named
from vouch.metrics.text.parsers import letter, mmmu, refusal, simple, tail

PARSERS: dict[str, Callable[[str, Choices], Named]] = {
    "contains": simple.contains,
    "first_mark": simple.first_mark,
    "letter": letter.parse,
    "mmmu": mmmu.parse,
    "option_text": simple.option_text,
    "refusal": refusal.parse,
    "tail": tail.parse,
}


def read(text: str, choices: Choices, parsers: Sequence[str]) -> tuple[str | None, tuple[int, ...]]:
    """The first rule that finds something, and what; (None, ()) where none does."""
    for name in parsers:
        named = PARSERS[name](text, choices)
        if named is not None:
            return name, named
    return None, ()
