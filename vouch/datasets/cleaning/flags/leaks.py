"""The answer stands in its own question.

That is common and harmless where the question lists its options (`... a cat or a dog?`), asks for yes
or no, or names a colour or a number of something else (`the man with the red hat`). So it counts only if
- the text of the one correct option stands in the question as whole words, and no other option does;
- it is a phrase of two words or a word of five letters at least, and not made up of the words that
  questions use of other things: colours, numbers, sides, yes and no, of pictures and of the options;
- no other option shares a telling word with it, so that the question cannot mean the options as a kind
  (`Which light is brighter?` with the options `the left light` and `the right light`).
The hint is not searched: a passage to be read holds its answer by design.
"""

import re
from collections.abc import Sequence

_WORDS = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_PLAIN_TEXT = """a an the of in on at to by and or not is are was were be been it its this that these
those there one two three four five six seven eight nine ten eleven twelve first second third fourth fifth
red orange yellow green blue purple pink brown black white gray grey golden silver violet
left right top bottom upper lower middle center centre front behind above below beside inside outside
north south east west northern southern eastern western
yes no true false none neither both all either unknown
image picture photo photograph figure diagram graph table chart option answer question
more less most least larger smaller higher lower greater bigger same different equal
man woman boy girl person people"""
_PLAIN = frozenset(_PLAIN_TEXT.split())
_LETTERS = 5


def words(text: str) -> list[str]:
    """The words of a text without case and punctuation."""
    return [word.casefold() for word in _WORDS.findall(text)]


def leaks(question: str, options: Sequence[str], answers: Sequence[int]) -> bool:
    """Whether the question holds the correct option's text, as the module's docstring says."""
    if len(answers) != 1 or len(options) < 2:
        return False
    right = words(options[answers[0]])
    telling = [word for word in right if word not in _PLAIN and not word.isdigit()]
    if not telling or (len(telling) < 2 and len(telling[0]) < _LETTERS):
        return False
    asked = words(question)
    if not _within(right, asked):
        return False
    others = [words(option) for index, option in enumerate(options) if index not in answers]
    shared = sum(bool(set(telling) & set(text)) for text in others)
    return shared == 0 and not any(text and _within(text, asked) for text in others)


def _within(part: Sequence[str], whole: Sequence[str]) -> bool:
    size = len(part)
    return any(list(whole[start : start + size]) == list(part) for start in range(len(whole) - size + 1))
