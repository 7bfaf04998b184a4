"""Confidence that a model states in its answer (verbalised confidence: Tian et al. 2023, Xiong et al. 2024).

Only answers to prompts of a template or variant called `verbalised` are read so: elsewhere a percentage may
be the answer. What states the confidence is taken out of the text before anything else reads it.
"""

import re

VERBALISED = "verbalised"
_NUMBER = r"(?<!\d)(?<!\d[.,])(\d{1,3}(?:[.,]\d{1,6})?)(?!\d)"
_SIGN = r"(%|\uff05|percent\b|per cent\b)"
_WORDS = "confidence|confident|certainty|certain|probability|likelihood"
_RULES = (
    re.compile(
        rf"(?:{_WORDS})\b(?: ?\([^)\n]{{0,20}}\))?[^\d\n]{{0,40}}?{_NUMBER}\s?{_SIGN}?", re.IGNORECASE
    ),
    re.compile(rf"{_NUMBER}\s?{_SIGN}", re.IGNORECASE),
    re.compile(rf"(?<=,)\s?{_NUMBER}()(?=\W{{0,8}}$)"),
)
"""After a word for it, with a sign, or at the end after a comma: the first that finds any, its last find."""
_BEFORE, _AFTER = " \t\n,;:-(\u2013\u2014", " \t)."


def asks_confidence(template: str | None) -> bool:
    """Whether a template, by its name and variant, asks how sure the model is."""
    return f"_{template}".endswith(f"_{VERBALISED}")


def stated(text: str) -> tuple[str, float | None]:
    """The text without its confidence, and that as a share; as it is and None where it states none."""
    for rule in _RULES:
        finds = list(rule.finditer(text))
        if not finds:
            continue
        found = finds[-1]
        value = float(found[1].replace(",", "."))
        share = value if not found[2] and value <= 1 else value / 100
        if share > 1:
            return text, None
        before, after = text[: found.start()].rstrip(_BEFORE), text[found.end() :].lstrip(_AFTER)
        return f"{before} {after}".strip(), share
    return text, None
