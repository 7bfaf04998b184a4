"""mmmu: the rule of the authors of MMMU-Pro (Yue et al. 2024), but for their random guess.

After the last `Answer:` the only option whose letter occurs; else letters in brackets, else letters before a
space, else before a full stop, else, in texts of more than five words, option texts. Of several the one that
stands last; letters inside words count, as they do there. Where they would guess at random, nothing is found.
"""

from collections.abc import Callable

from vouch.metrics.text.marks import Choices, Named

_CUE = "Answer:"
_STRIPPED = (",", ".", "!", "?", ";", ":", "'")
_FEW_WORDS = 5


def parse(text: str, choices: Choices) -> Named:
    """The option by the first of the steps that finds one."""
    place = text.rfind(_CUE)
    if place >= 0:
        tail = text[place + len(_CUE) :]
        after = [index for index, mark in enumerate(choices.marks) if mark in tail]
        if len(after) == 1:
            return (after[0],)
    for character in _STRIPPED:
        text = text.strip(character)
    text = f" {text} "
    for sought, ranked in (("({})", "({})"), ("{} ", " {} "), ("{}.", " {} ")):
        found = _last(text, choices.marks, sought.format, ranked.format)
        if found is not None:
            return (found,)
    if len(text.split()) > _FEW_WORDS:
        found = _last(text.lower(), choices.texts, str.lower, str.lower)
        if found is not None:
            return (found,)
    return None


def _last(
    text: str, names: tuple[str, ...], sought: Callable[[str], str], ranked: Callable[[str], str]
) -> int | None:
    """Of the names that occur in one form the one that stands last in the other; the first of equals."""
    there = [index for index, name in enumerate(names) if sought(name) in text]
    return max(there, key=lambda index: text.rfind(ranked(names[index])), default=None)
