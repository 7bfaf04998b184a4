"""Numbers in texts: the only place where a text becomes a number.

`number` reads a text that is nothing but a number, `quantity` also says its unit; `expressions` finds the
numbers that a longer text writes in digits. Signs, exponents, fractions, roots, powers, currencies and
English number words are understood.
"""

import math
import re
from collections.abc import Iterator
from typing import NamedTuple

from vouch.metrics.text.wording import trimmed
from vouch.tables import number_words

WORDS = number_words(90)
_SCALES = {
    "dozen": 12,
    "hundred": 100,
    "thousand": 10**3,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
}
_EITHER = "|".join((*WORDS, *_SCALES))
_PARTS = "times|half|halves|thirds?|quarters?|fourths?|fifths?|sixths?|eighths?|tenths?"
WORD_NUMBER = re.compile(
    rf"(?<![\w-])(?:{'|'.join(WORDS)})(?:[\s-](?:and\s)?(?:{_EITHER})(?!\w))*+(?![\w-])(?!\s(?:{_PARTS})(?!\w))",
    re.IGNORECASE,
)
"""A number in words, except in `four times` and `three quarters`."""
_COMPARES = r"\stimes\s(?:as|the|that|its|more|\w{1,12}er)(?!\w)"
_TERM = r"[\d√π(.][\d√π.,*/^()]{0,40}(?:\^-\d{1,3})?(?:(?<=\d)[eE][+-]?\d{1,3}(?!\w))?"
_EXPRESSION = re.compile(
    r"(?<![\w.^√π/])(?<![A-Za-z]-)(?<![\w)]\*)[-−]?"
    rf"(?:(?P<mixed>\d{{1,4}}\s\d{{1,3}}/\d{{1,3}}(?![\w/.]))|(?P<term>{_TERM})(?P<more>(?:\s?[-+]\s?{_TERM}){{0,4}}))"
)
"""Digits with roots, pi, fractions and powers; the end of a match may be punctuation."""
_SCALED = re.compile(rf"\s(?:{'|'.join(_SCALES)})(?!\w)", re.IGNORECASE)
_MULTIPLE = re.compile(_COMPARES, re.IGNORECASE)


FORMULA = re.compile(r"(?<![A-Za-z]{2})\s?[-+*/^=<>≤≥±]\s?(?![A-Za-z]{2})[\w√π(]|√|π|\d[a-zα-ω](?![a-z])|\d!")
"""Signs that a number is part of a formula: `180-x`, `2√3`, `5!`."""


class Quantity(NamedTuple):
    """A number; its unit in standard form, empty if there is none; scale: factor of a word like `million`."""

    value: float
    unit: str = ""
    scale: float = 1.0


_UNITS = """
mm millimeter millimeters millimetre millimetres, cm centimeter centimeters centimetre centimetres, dm, m
meter meters metre metres, km kilometer kilometers kilometre kilometres, in inch inches ", ft foot feet
', yd yard yards, mi mile miles, mg, g gram grams, kg kilogram kilograms kilo kilos, ml, l liter liters
litre litres, ms, s sec second seconds, min minute minutes, h hr hour hours, day days, week weeks, month
months, year years, % percent, ° degree degrees deg, °c, °f, $ dollar dollars usd, € euro euros eur, £
pound pounds, ¥ yen yuan, cent cents, am, pm"""
_UNIT_OF = {
    name: names[0] for names in (line.split() for line in _UNITS.split(",") if line.strip()) for name in names
}
_QUANTITY = re.compile(
    r"(?:[a-z∠△][^\W_]{0,3}(?:_\(?[^=]{1,20})?\s?=\s?)?[≈~]?\s?(?P<sign>[-+–]?)(?P<currency>[$€£¥]?)\s?"
    r"(?P<value>[-+\d.,√π*/^()]{1,60}?(?:(?<=\d)e[-+]?\d{1,3})?)(?P<factorial>!?)"
    r"\s{0,2}(?P<unit>[%'\"]|°\s?[cf]?|(?:(?:square|cubic)\s)?[^\W\d_π]{1,16}(?:/[^\W\d_]{1,6})?\.?(?:\^?-?[23])?)?",
    re.IGNORECASE,
)
_TIGHT = re.compile(r"(?<=[\d)π√+*/^(-])\s+(?=[-+*/^√π()])|(?<=[-+*/^√(])\s+(?=[\d√π(.])")
_MIXED = re.compile(r"(?<![\d.,/])(\d{1,4})\s(\d{1,4}/\d{1,4})(?![\d/])")
_SPACED = re.compile(r"(?<![\d.,])\d{1,3}(?:\s\d{3})+(?![\d,])")
_COMMA = re.compile(r"([-+]?)(?:(\d+),(\d{1,2}|\d{4,})|(0),(\d+))(?=[*/^√π]|$)")
_NEGATIVE = re.compile(r"(?:minus|negative)\s(?=[^\W_])")
_NUMERIC = re.compile(r"[\dπ]")
_VARIABLES = frozenset("xyzbipqru")
_LARGEST_FACTORIAL = 100


def number(text: str) -> float | None:
    """The number that a text consists of, apart from a unit, a currency or `x =`; else None."""
    written = quantity(text)
    return written.value if written else None


def quantity(text: str) -> Quantity | None:
    """The number that a text consists of, with its unit; else None."""
    text = trimmed(text).lower()
    if not text or len(text) > 100:
        return None
    if (words := _NEGATIVE.match(text)) and (positive := quantity(text[words.end() :])):
        return positive._replace(value=-positive.value)
    if text[0].isalpha() and (value := spelled(text)) is not None:
        return Quantity(value)
    if not _NUMERIC.search(text):
        return None
    if " " in text:
        text = _SPACED.sub(lambda groups: re.sub(r"\s", "", groups.group()), text)
        text = _TIGHT.sub("", _MIXED.sub(r"(\1+\2)", text))
    match = _QUANTITY.fullmatch(text)
    if match is None:
        return None
    value = evaluated(
        _COMMA.sub(_pointed, match["value"]) if _COMMA.match(match["value"]) else match["value"]
    )
    if value is None:
        return None
    if match["factorial"]:
        if value != int(value) or not 0 <= value <= _LARGEST_FACTORIAL:
            return None
        value = float(math.factorial(int(value)))
    name = match["unit"] or match["currency"]
    if name in _VARIABLES and match.end("value") == match.start("unit"):
        return None
    scale = float(_SCALES.get(name, 1))
    return Quantity(value * scale * (-1 if match["sign"] in ("-", "–") else 1), _unit(name), scale)


def _unit(name: str) -> str:
    """The standard form of a unit, followed by 2 or 3 if it is squared or cubed."""
    name = name.replace("^", "").replace("° ", "°").rstrip(".")
    for word, power in (("square ", "2"), ("cubic ", "3")):
        if name.startswith(word):
            name = name.removeprefix(word) + power
    power = name[-1:] if name[-1:] in ("2", "3") else ""
    unit = _UNIT_OF.get(name.removesuffix(power), "")
    return unit + power if unit else ""


def _pointed(comma: re.Match[str]) -> str:
    return f"{comma[1]}{comma[2] or comma[4]}.{comma[3] or comma[5]}"


def spelled(text: str) -> float | None:
    """The number that English words spell: `twenty-one`, `two hundred and five`."""
    first = text.lower().partition(" ")[0].partition("-")[0]
    if first not in WORDS and first not in _SCALES:
        return None
    total = group = 0
    last = _SCALES["hundred"]
    for word in text.lower().replace("-", " ").split():
        if word in _SCALES:
            scale = _SCALES[word]
            total, group = (
                (total, (group or 1) * scale) if scale == 100 else (total + (group or 1) * scale, 0)
            )
            last = scale
        elif word in WORDS:
            value = WORDS[word]
            if last < 20 or (last < 100 and (last % 10 or not 0 < value < 10)):
                return None
            group, last = group + value, value
        elif word != "and" or last < 100:
            return None
    return float(total + group)


def expressions(
    text: str, begin: int = 0, end: int | None = None, scaled: bool = True
) -> Iterator[tuple[int, int, float]]:
    """Start, end and value of each number in digits. scaled: a `million` after it belongs to it."""
    at, end = begin, len(text) if end is None else end
    while match := _EXPRESSION.search(text, at, end):
        start, close, value = _valued(text, match, scaled)
        if value is not None:
            yield start, close, value
        at = max(close, match.start() + 1)


def expression(text: str, at: int) -> tuple[int, int, float] | None:
    """Start, end and value of the number in digits that begins here; None if there is none."""
    match = _EXPRESSION.match(text, at)
    start, close, value = _valued(text, match, True) if match else (at, at, None)
    return None if value is None else (start, close, value)


def _valued(text: str, found: re.Match[str], scaled: bool) -> tuple[int, int, float | None]:
    """Start, end and value; a sum is one number if it holds a root or pi, else only its first term is."""
    begin = found.start()
    if found["mixed"]:
        return begin, found.end(), number(found.group())
    if found["more"] and ("√" in found.group() or "π" in found.group()):
        start, close, value = _term(found.group(), begin)
        if value is not None:
            return start, close, value
    start, close, value = _term(text[begin : found.end("term")], begin)
    if value is None or text[close : close + 1] != " ":
        return start, close, value
    if scaled and (scale := _SCALED.match(text, close)):
        return start, scale.end(), value * _SCALES[scale.group().strip().lower()]
    return start, close, None if _MULTIPLE.match(text, close) else value


def _term(written: str, start: int) -> tuple[int, int, float | None]:
    """Start, end and value of a term, without punctuation at its end and unmatched brackets."""
    if written.isdecimal():
        return start, start + len(written), float(written)
    whole = written
    written = written.rstrip(".,*/^(-")
    while written.startswith("(") and written.count("(") > written.count(")"):
        written, start = written[1:], start + 1
    while written.endswith((")", ".", ",")) and written.count(")") >= written.count("(") + (
        written[-1] == ")"
    ):
        written = written[:-1]
    return start, max(start + len(written), start + (not whole)), evaluated(written.replace(" ", ""))


_GROUPED = re.compile(r"(?<![\d.,])[1-9]\d{0,2}(?:,\d{3})+(?![\d,])")
_POWER_OF_TEN = re.compile(r"-?(?:\d{1,30}(?:\.\d{0,30})?|\.\d{1,30})[eE][+-]?\d{1,3}")
_RANGE = re.compile(r"[\d.]{1,20}(?:-[\d.]{1,20}){1,9}|")


def evaluated(text: str) -> float | None:
    """The value of digits, `+-*/^`, roots, pi and brackets; None if the text is no such expression."""
    text = text.replace("−", "-")
    if "," in text:
        text = _GROUPED.sub(lambda groups: groups.group().replace(",", ""), text)
    if _POWER_OF_TEN.fullmatch(text):
        value = float(text)
        return value if math.isfinite(value) else None
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
        negative = text[at + 1] == "-"
        other, at = _atom(text, at + 1 + negative)
        other = -other if negative else other
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
