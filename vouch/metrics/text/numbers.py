"""Texts without the dress of LaTeX, and the numbers they write: digits, fractions, roots, words; units."""

import math
import re
import unicodedata

BOX = "▣"
r"""Stands before what a text boxes: `\boxed{...}`, `<answer>...`, `[[...]]`, a last line `#### 14`."""
_TO_TEN = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_TEENS = (
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
)
WORDS = {word: value for value, word in enumerate((*_TO_TEN, *_TEENS, "twenty"))}
EXPRESSION = re.compile(
    r"(?<![\w.^√π/])(?<![A-Za-z]-)(?<![\w)]\*)[-−]?[\d√π(.][\d√π.,*/^()]{0,40}(?:(?<=\d)[eE][+-]?\d{1,3}(?!\w))?"
)
"""Digits with roots, pi, fractions and powers; what stands at its end may be punctuation."""
_DRESS = [
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"\\(?:boxed|fbox|framebox)\s{0,3}(?=[{\d])|<answer>|\[\[(?=[^\[\]]{1,60}\]\])", f" {BOX} "),
        (r"</answer>|(?<=\S)\]\]", " "),
        (r"\\(?:left|right|displaystyle|quad|qquad|,|;|!|:|\s)", " "),
        (r"\^\s{0,3}(?:\{\s{0,3})?\\circ(?:\s{0,3}\})?|\*?\\degree", "°"),
        (r"\\pi(?![a-z])", "π"),
        (r"\\(?:times|cdot)(?![a-z])", "*"),
        (r"\\(?:approx|simeq)(?![a-z])", "≈"),
        (r"\\([%$&#_])", r"\1"),
        (r"\\(?:text|textbf|mathrm|mathbf|textit|mbox|mathit|operatorname)\s{0,3}\{([^{}]{0,200})\}", r"\1"),
        (r"(?:\\sqrt|√)\s{0,3}\{\s{0,3}([^{}]{1,60}?)\s{0,3}\}", r"√\1"),
        (r"\\sqrt\s{0,3}(?=[\w(])", "√"),
        (r"\\[dt]?frac\s{0,3}\{([^{}]{1,60})\}\s{0,3}\{([^{}]{1,60})\}", r"\1/\2"),
        (r"\\[dt]?frac\s{0,3}(\d)\s{0,3}(\d)", r"\1/\2"),
        (r"\\[()\[\]]|\$(?!\d)", ""),
        # GSM8K's last line: a mark or a number; any other #### is a heading.
        (
            r"(?m:^)[ \t]{0,4}####[ \t]{1,3}(?=[*(]{0,3}"
            r"(?:[A-Za-z]|[-$€£¥]{0,2}[\d√π.][\d√π.,/^]{0,30}\s?[%°]?)[.)*]{0,4}\s*\Z)",
            f" {BOX} ",
        ),
    )
]
_TENS = re.compile(r"(?<=\d)\s?[x×*]\s?10\s?(?:\^\s?\{?\s?|(?=[-−]))([-−]?\d{1,3})(?!\d)(?:\s?\})?")
_MATH = re.compile(r"(?<=[\w)°])[ \t]{0,2}([*/^√])[ \t]{0,2}(?=[\w(√π])|(√)[ \t]{0,2}")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_POWER_OF_TEN = re.compile(r"-?\d{1,30}(?:\.\d{0,30})?[eE][+-]?\d{1,3}")
_RANGE = re.compile(r"[\d.]{1,20}-[\d.]{1,20}|")
_QUANTITY = re.compile(
    r"(?:[a-z∠△]{1,4}\s?=\s?)?[$€£¥≈~]{0,2}\s?(?P<value>[-−+\d.,√π*/^()]{1,40}?)"
    r"(?P<unit>\s?(?:[%°]|[^\W\d_π]{1,16}(?:/[^\W\d_]{1,6})?\^?[²³23]?)?)",
    re.IGNORECASE,
)


def undressed(text: str) -> str:
    """NFKC, straight apostrophes, and LaTeX as plain text: `\\frac{1}{2}` is 1/2."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).replace("’", "'").replace("−", "-")
    if "\\" in text or "$" in text or "√" in text or "####" in text or "[[" in text or "<answer>" in text:
        for pattern, replacement in _DRESS:
            text = pattern.sub(replacement, text)
        text = _MATH.sub(r"\1\2", text)
    return _TENS.sub(r"e\1", text) if "10" in text else text


def boxed(text: str) -> str:
    """What the last box of an undressed text holds, at most 300 characters; empty where there is none."""
    place = text.rfind(BOX)
    if place < 0:
        return ""
    rest = text[place + 1 : place + 300].lstrip()
    if not rest.startswith("{"):
        return re.split(r"\n|\s{2}|\.\s", rest, maxsplit=1)[0].strip()
    depth = 0
    for end, char in enumerate(rest):
        depth += (char == "{") - (char == "}")
        if depth == 0:
            return rest[1:end].strip()
    return ""


def number(text: str) -> float | None:
    """The number that a text consists of, but for a unit, a currency or `x =`; else None."""
    text = text.strip().lower()
    if "√" in text or "π" in text or "(" in text:
        text = text.replace(" ", "")
    if text in WORDS:
        return float(WORDS[text])
    found = _QUANTITY.fullmatch(text)
    return evaluated(found["value"]) if found else None


def evaluated(text: str) -> float | None:
    """The value of digits, `+-*/^`, roots, pi and brackets; None for what is no such expression."""
    text = _THOUSANDS.sub("", text.replace("−", "-"))
    if _POWER_OF_TEN.fullmatch(text):
        return float(text)
    if _RANGE.fullmatch(text) or len(text) > 60 or not any(c.isdigit() or c == "π" for c in text):
        return None
    try:
        value, end = _sum(text, 0)
    except (ValueError, IndexError, OverflowError, ZeroDivisionError):
        return None
    return value if end == len(text) and math.isfinite(value) else None


def _sum(text: str, at: int) -> tuple[float, int]:
    value, at = _product(text, at)
    while at < len(text) and text[at] in "+-":
        other, end = _product(text, at + 1)
        value, at = value + other if text[at] == "+" else value - other, end
    return value, at


def _product(text: str, at: int) -> tuple[float, int]:
    sign = -1.0 if text[at] == "-" else 1.0
    value, at = _power(text, at + (text[at] in "+-"))
    while at < len(text) and text[at] not in "+-)":
        divides = text[at] == "/"
        other, at = _power(text, at + (text[at] in "*/"))
        value = value / other if divides else value * other
    return sign * value, at


def _power(text: str, at: int) -> tuple[float, int]:
    value, at = _atom(text, at)
    if at < len(text) and text[at] == "^":
        other, at = _atom(text, at + 1)
        value = value**other if abs(other) <= 100 else math.inf
        if isinstance(value, complex):
            raise ValueError(text)
    return value, at


def _atom(text: str, at: int) -> tuple[float, int]:
    if text[at] == "(":
        value, at = _sum(text, at + 1)
        if text[at] != ")":
            raise ValueError(text)
        return value, at + 1
    if text[at] == "√":
        value, at = _atom(text, at + 1)
        return math.sqrt(value), at
    if text[at] == "π":
        return math.pi, at + 1
    end = at
    while end < len(text) and (text[end].isdigit() or text[end] == "."):
        end += 1
    return float(text[at:end]), end
