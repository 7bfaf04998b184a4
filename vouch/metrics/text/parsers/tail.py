"""tail: where reasoning ends: `the answer is (B)`; the last such sentence counts.

English, Chinese, Spanish, Portuguese, Japanese and Hebrew: the languages of WorldMedQA-V (Matos et al. 2024),
and Chinese. A word for `option` and an article may stand between, and LaTeX's box around the mark.
"""

import re
from functools import lru_cache

from vouch.metrics.text.marks import OPENING, Choices, Named, pattern, place
from vouch.metrics.text.wording import wide

_CUES = (
    # English
    r"\b(?:answer|option|choice)(?:\s{1,4}\w{1,12}){0,4}\s{1,4}(?:is|would be|must be)\b",
    r"\b(?:answer|choice)\W{0,4}[:=]",
    r"\\boxed\s?(?=\{)",
    # Chinese
    r"(?:答案|选项|選項|选择|選擇)\s{0,4}(?:应该|應該|应)?(?:是|为|為|选|選|:)",
    r"(?:故|因此|所以|应|應|正确|正確)\s{0,4}(?:选|選)(?:择|擇)?",
    # Spanish, Portuguese
    r"\b(?:respuesta|opción|alternativa|resposta|opção)(?:\s{1,4}\w{1,12}){0,2}\s{1,4}(?:es|sería|é|seria)\b",
    r"\b(?:respuesta|resposta)(?:\s{1,4}\w{1,12}){0,2}\W{0,4}[:=]",
    # Japanese
    r"(?:答え|答|正解|正答|解答|回答)\s{0,4}(?:は|:)",
    # Hebrew
    r"תשובה(?:\s{1,4}הנכונה|\s{1,4}הסופית)?\s{0,4}(?:היא|הינה|[:\-])",
)
_BETWEEN = (
    r"(?:(?:the|la|el|a|o)\s{1,4})?"
    r"(?:(?:option|choice|letter|opción|letra|opção|alternativa|אפשרות|תשובה|סעיף)\b|选项|選項|選択肢)?"
)
_GAP = r"[\s:*_]{0,8}"


@lru_cache
def _rule(marks: tuple[str, ...]) -> re.Pattern[str]:
    boxed = r"(?:\\boxed\s?\{|\\text\s?\{|\$){0,3}"
    cues = "|".join(_CUES)
    return re.compile(rf"(?i:{cues}){_GAP}(?i:{_BETWEEN}){_GAP}{boxed}{OPENING}{pattern(marks)}")


def parse(text: str, choices: Choices) -> Named:
    """The option that the last of these sentences names."""
    named = _rule(choices.marks).findall(wide(text)) if choices.marks else []
    return (place(named[-1], choices.marks),) if named else None
