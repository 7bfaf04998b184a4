"""Whether a question is in English, by its stop words.

A question needs a common English word, more of them than of other languages' common words, and mostly Latin
letters. A text without any such word (`Describe la imagen`, also `Name shapes`) is not taken for English:
without a rewrite it is left out, but a wrong one would be asked. Errors on real sets
(tests/prompts/rewrites/test_rules.py): of 1,101 Spanish and Portuguese sentences none passes, nor does any of
586 options of four words or more; of 2,120 English sentences that the rules rewrite none is refused. The list
was made with these sentences in view (`find` and `fewer` for `Find x.` and `Fewer stars?`), so expect some
short English questions to be refused elsewhere. Other languages in Latin letters were not measured.
"""

import re
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vouch.pipeline.yaml12 import load

_STOP_WORDS: Mapping[str, Any] = load(Path(__file__).parent / "stop_words.yaml")
_ENGLISH, _OTHERS = frozenset(_STOP_WORDS["english"]), frozenset(_STOP_WORDS["others"])
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
