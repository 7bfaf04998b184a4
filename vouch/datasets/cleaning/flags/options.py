"""Options that are missing, empty, or the same as another.

Equal texts are certain. A respelling counts only if nothing but blanks, the form of dashes and quotes,
a last full stop, or the case of a whole word separates two texts: `H2O` and `h2o`, `AA` and `aa`
(genotypes), `m2` and `m²`, `-3` and `3`, `I` and `i` are different options. So case is ignored only in
texts with four letters in a row at least, and digits and signs never are. A numeral is no respelling
of its digit (`four` and `4` may both be right answers to a question about spelling), nor is a plural.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

_FORMS = str.maketrans("’‘`“”–—‐−", "'''\"\"----")
_WORD = re.compile(r"[^\W\d_]{4}")


@lru_cache(maxsize=4096)
def respelling(text: str) -> str:
    """Equal for texts that differ only as the module's docstring allows."""
    plain = " ".join(unicodedata.normalize("NFC", text).translate(_FORMS).split())
    if len(plain) > 1:
        plain = plain.removesuffix(".").rstrip()
    return plain.casefold() if _WORD.search(plain) else plain


def flags(options: Sequence[str], answers: Sequence[int], missing: bool) -> set[str]:
    """Flags of the options shown. answers: indices into them. missing: the source lacks one."""
    spelt = [respelling(option) for option in options]
    found = {"empty_option": not all(map(str.strip, options)), "missing_option": missing}
    if len(set(spelt)) < len(options):
        found |= _alike(options, spelt, answers)
    return {flag for flag, holds in found.items() if holds}


def _alike(options: Sequence[str], spelt: Sequence[str], answers: Sequence[int]) -> dict[str, bool]:
    """Which flags hold where two options are spelt alike at least."""
    right = {options[index] for index in answers}
    spelt_right = {spelt[index] for index in answers}
    wrong = [index for index in range(len(options)) if index not in answers]
    distinct = len(set(options))
    return {
        "duplicate_options": distinct < len(options),
        "repeated_answer_text": any(options[index] in right for index in wrong),
        "respelled_answer": any(spelt[i] in spelt_right and options[i] not in right for i in wrong),
        "respelled_options": len(set(spelt)) < distinct,
    }
