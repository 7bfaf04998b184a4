"""Whether a question is in English, the only language of the rules: a test by stop words.

English holds a common English word, more of them than of other languages' common words, and mostly Latin
letters. A text without any such word (`Describe la imagen`, `Determine a area do triangulo`, and also
`Name shapes`) is not taken for English: a question without a rewrite is left out, a wrong one would be asked.

Error, measured on real sets (tests/prompts/rewrites/test_language.py): in Spanish and Portuguese none of
1,101 sentences passes, and none of 586 options of four words or more; of 2,120 English sentences that the
rules rewrite none is refused. The list was made with these sentences in view (`find` and `fewer` for `Find
x.` and `Fewer stars?`), so elsewhere expect some short English questions to be refused. Other languages in
Latin letters are in no set that was measured.
"""

import re
import unicodedata
from pathlib import Path

from vouch.pipeline.yaml12 import load

_LISTS = load(Path(__file__).parent / "stop_words.yaml")
_ENGLISH, _OTHERS = frozenset(_LISTS["english"]), frozenset(_LISTS["others"])
_WORD = re.compile(r"[^\W\d_]+")
_SPANISH = re.compile("[¿¡]")


def is_english(text: str) -> bool:
    """Whether a text reads as English."""
    words = [word.lower() for word in _WORD.findall(text)]
    letters = "".join(words)
    latin = sum(char.isascii() or unicodedata.name(char, "").startswith("LATIN") for char in letters)
    if _SPANISH.search(text) or 2 * latin < len(letters):
        return False
    english = sum(word in _ENGLISH for word in words)
    return english > sum(word in _OTHERS for word in words)
