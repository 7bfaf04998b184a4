"""Texts without the dress of Unicode and LaTeX, and the numbers they write.

Here alone a text becomes a number: sign, point, exponent, fraction, root, power, currency, unit, words.
"""

import math
import re
import unicodedata
from collections.abc import Iterator
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import NamedTuple

BOX = "▣"
r"""Stands before what a text boxes: `\boxed{...}`, `<answer>...`, `[[...]]`, a last line `#### 14`."""
_TO_TWENTY = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
sixteen seventeen eighteen nineteen twenty"""
_TENS = "thirty forty fifty sixty seventy eighty ninety"
WORDS = {word: value for value, word in enumerate(_TO_TWENTY.split())}
WORDS |= {word: 10 * value for value, word in enumerate(_TENS.split(), start=3)}
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
"""A number in words, but for `four times` and `three quarters`."""
_COMPARES = r"\stimes\s(?:as|the|that|its|more|\w{1,12}er)(?!\w)"
_TERM = r"[\d√π(.][\d√π.,*/^()]{0,40}(?:\^-\d{1,3})?(?:(?<=\d)[eE][+-]?\d{1,3}(?!\w))?"
_EXPRESSION = re.compile(
    r"(?<![\w.^√π/])(?<![A-Za-z]-)(?<![\w)]\*)[-−]?"
    rf"(?:(?P<mixed>\d{{1,4}}\s\d{{1,3}}/\d{{1,3}}(?![\w/.]))|(?P<term>{_TERM})(?P<more>(?:\s?[-+]\s?{_TERM}){{0,4}}))"
)
"""Digits with roots, pi, fractions and powers; what stands at its end may be punctuation."""
_SCALED = re.compile(rf"\s(?:{'|'.join(_SCALES)})(?!\w)", re.IGNORECASE)
_MULTIPLE = re.compile(_COMPARES, re.IGNORECASE)

_RAISED = re.compile(r"(?<=[\w)\]])[⁰¹²³⁴-⁹⁺⁻]{1,8}")
_APART = re.compile(r"(?<=\d)(?=[¼-¾⅐-⅞])")
_LOWERED = re.compile(r"(?<=\d)(?=[₀-₉])")
_THIN = re.compile("(?<=\\d)[\u00a0\u2009\u202f](?=\\d{3}(?!\\d))")
_OF_NUMBERS = re.compile("[⁰¹²³⁴-⁹⁺⁻¼-¾⅐-⅞₀-₉⁄−′″\u00a0\u2009\u202f]")
_SIGNS = str.maketrans({"⁄": "/", "−": "-", "′": "'"})


def wide(text: str) -> str:
    """NFKC, so that full-width letters and brackets are plain ones; but 10² is 10^2, and 1½ is 1 1/2."""
    if text.isascii():
        return text
    if not _OF_NUMBERS.search(text):
        return unicodedata.normalize("NFKC", text)
    text = _RAISED.sub(lambda raised: "^" + raised.group(), text)
    text = _THIN.sub("", _APART.sub(" ", _LOWERED.sub("_", text))).replace("″", '"')
    return unicodedata.normalize("NFKC", text).translate(_SIGNS)


_ARGUMENT = r"(?:\{([^{}]{0,60})\}|([\dπa-zA-Z]))"
_ROOT = re.compile(rf"(?:\\sqrt\s{{0,3}}(?:\[\s?(\d)\s?\]\s{{0,3}})?|√\s{{0,3}}(?=\{{)){_ARGUMENT}")
_FRACTION = re.compile(rf"(?:(?<=(\d))\s{{0,2}})?\\[dtc]?frac\s{{0,3}}{_ARGUMENT}\s{{0,3}}{_ARGUMENT}")
_SCRIPT = re.compile(r"([\^_])\s{0,3}\{([^{}]{0,60})\}")
_FONT = re.compile(
    r"\\(?:text|mbox|operatorname|emph|unit|boldsymbol|bm|math(?:rm|bf|it|sf|bb|tt)|text(?:bf|it|rm|sf|tt|normal))"
    r"\s{0,3}\{~?([^{}]{0,200})\}"
)
_NESTED = 6
_SIMPLE = re.compile(r"-?\d+(?:\.\d+)?|[a-zA-Zπ]|\([^()]*\)")
_SUMMED = re.compile(r".[-+/ ]|[+/ ]")
_SLASH = "\\"
_ELSE = ("$", "√", "sqrt(", "####", "[[", "<answer>", "{", "^o")
_COMMAND = re.compile(r"\\([a-zA-Z]+|.|\n)")
_BOXES = ("boxed", "fbox", "framebox")
_BOX_OPENS = re.compile(r"\s{0,3}[{\d]")
_THOUSAND = re.compile(r"\s?\d{3}(?!\d)")
_SPACES = (
    *("left", "right", "big", "Big", "bigg", "Bigg", "bigl", "bigr", "Bigl", "Bigr"),
    *("displaystyle", "textstyle", "quad", "qquad", "bf", "rm", "it", ",", ";", ":", " ", "\n"),
)
_MEANS = dict.fromkeys(_SPACES, " ") | {each: each for each in "%$&#_{}"}
_MEANS |= dict.fromkeys("!()[]", "") | {"pi": "π", "times": "*", "cdot": "*", "div": "/"}
_MEANS |= {"approx": "≈", "simeq": "≈", "circ": "°", "degree": "°", "degrees": "°"}
_MEANS |= {"textdollar": "$", "dollar": "$", "pounds": "£", "euro": "€", "texteuro": "€"}
_DEGREES = re.compile(r"(?:\{\})?[*^]\s{0,3}(?:\{\s{0,3}°\s{0,3}\}|°)")
_DRESS = [
    (sign, re.compile(pattern), replacement)
    for sign, pattern, replacement in (
        ("<answer>", r"<answer>", f" {BOX} "),
        ("[[", r"\[\[(?=[^\[\]]{1,60}\]\])", f" {BOX} "),
        ("]]", r"(?<=\S)\]\]", " "),
        ("</answer>", r"</answer>", " "),
        ("$$", r"\$\$", " "),
        (
            "$",
            r"(?<!\\)\$(?=[-+.\d\\])([^$\n]{1,200}?)\s?\\{0,2}\s?\$(?![\d.])",
            r"\1",
        ),  # a formula, not a price
        ("{,}", r"(?<=\d)\{,\}(?=\d{3}(?!\d))", ""),
        ("~", r"(?<=\d)~(?=[\\A-Za-z])", " "),
    )
]
_LAST = [
    (sign, re.compile(pattern), replacement)
    for sign, pattern, replacement in (
        ("^o", r"(?<=\d)\^o(?!\w)", "°"),
        ("sqrt", r"\\sqrt\s{0,3}(?=[\w(])|(?<![A-Za-z\\])sqrt(?=\()", "√"),
        ("$", r"\$(?!-?\.?\d)", ""),
        # GSM8K's last line: a mark or a number; any other #### is a heading.
        (
            "####",
            r"(?m:^)[ \t]{0,4}####[ \t]{1,3}(?=[*(]{0,3}"
            r"(?:[A-Za-z]|[-$€£¥]{0,2}[\d√π.][\d√π.,/^]{0,30}\s?[%°]?)[.)*]{0,4}\s*\Z)",
            f" {BOX} ",
        ),
    )
]
_TIMES_TEN = re.compile(r"(?<=\d)\s?[x×*]\s?10\s?(?:\^\s?[{(]?\s?|(?=[-−]))([-−]?\d{1,3})(?!\d)(?:\s?[})])?")
_MATH = re.compile(
    r"(?<=[\w)°])[ \t]{0,2}([*/^])[ \t]{0,2}(?=[\w(√π])|(?:(?<=[\d)°π])[ \t]{1,2})?(√)[ \t]{0,2}"
)


def undressed(text: str) -> str:
    """Plain Unicode, straight apostrophes, and LaTeX as plain text: `\\frac{1}{2}` is 1/2."""
    if not text.isascii():
        text = wide(text).replace("’", "'")
    slashed = _SLASH in text
    if slashed or any(sign in text for sign in _ELSE):
        for sign, pattern, replacement in _DRESS:
            if sign in text:
                text = pattern.sub(replacement, text)
        if slashed:
            text = _COMMAND.sub(_command, text)
            text = _DEGREES.sub("°", text) if "°" in text else text
        if slashed or "{" in text:
            text = _flat(text)
        for sign, pattern, replacement in _LAST:
            if sign in text:
                text = pattern.sub(replacement, text)
        text = _MATH.sub(r"\1\2", text)
    return _TIMES_TEN.sub(r"e\1", text) if "10" in text else text


def _command(found: re.Match[str]) -> str:
    """A command without arguments as the sign that it writes."""
    name, text = found[1], found.string
    if name in _BOXES:
        return f" {BOX} " if _BOX_OPENS.match(text, found.end()) else found.group()
    if (
        name in ",;:"
        and text[found.start() - 1 : found.start()].isdigit()
        and _THOUSAND.match(text, found.end())
    ):
        return ""
    return _MEANS.get(name, found.group())


def _flat(text: str) -> str:
    """Without commands that have arguments, from the innermost out."""
    for _ in range(_NESTED):
        before = text
        if _SLASH in text:
            text = _FONT.sub(r"\1", text)
        if "{" in text:
            text = _SCRIPT.sub(lambda script: script[1] + _whole(script[2]), text)
        if "sqrt" in text or "√" in text:
            text = _ROOT.sub(_root, text)
        if "frac" in text:
            text = _FRACTION.sub(_fraction, text)
        if text == before:
            break
    return text


def _whole(part: str) -> str:
    """In brackets where what stands around it would take a part of it."""
    part = part.strip()
    return part if _SIMPLE.fullmatch(part) else f"({part})"


def _root(found: re.Match[str]) -> str:
    inner = found[2] if found[2] is not None else found[3]
    if found[1] and found[1] != "2":
        return f"({inner.strip()})^(1/{found[1]})"
    return f"√{_whole(inner)}"


def _fraction(found: re.Match[str]) -> str:
    over, under = (found[at] if found[at] is not None else found[at + 1] for at in (2, 4))
    over = over.strip()
    mixed = found[1] is not None and over.isdecimal() and under.strip().isdecimal()
    return f"{' ' if mixed else ''}{f'({over})' if _SUMMED.search(over) else over}/{_whole(under)}"


_STOPS = " \t\r\n.,;:!?。、־׳״"
_OPEN, _CLOSE = "([{<“‘«【「", ")]}>”’»】」"
_PARTNER = dict(zip(_OPEN, _CLOSE, strict=True))
_QUOTED = "\"'`*_"
_BLANKS = re.compile(r"(?<!\d)\s+|\s+(?!\d)")
_TUPLE = re.compile(r"[(\[{](?=[^()\[\]{}]*\d)[^()\[\]{}]*,[^()\[\]{}]*[)\]}]")


def trimmed(text: str) -> str:
    """Without punctuation around it that means nothing: of .25, 5', (3, -4), [0, 1), C* and ... it stays."""
    found = text.strip()
    while True:
        inner = _unwrapped(_stopped(found))
        if inner == found or not inner:
            return found
        found = inner


def _stopped(text: str) -> str:
    bare = text.strip(_STOPS)
    if bare == text or not bare:
        return bare
    start = text.index(bare)
    if bare[0].isdigit() and text[start - 1 : start] == ".":
        bare = f".{bare}"
    return f"{bare}!" if bare.isdecimal() and text[start + len(bare) :] == "!" and start == 0 else bare


def _unwrapped(text: str) -> str:
    """Without a pair of brackets, quotes or asterisks around it, or one of them without its partner."""
    if len(text) < 2 or _TUPLE.fullmatch(text):
        return text
    first, last = text[0], text[-1]
    if first in _QUOTED or last in _QUOTED:
        if first == last and first not in text.strip(first):
            return text.strip(first)
        if first in '"`*_' and first not in text[1:]:
            return text[1:]
        alone = last in '"`_' and last not in text[:-1]
        return text[:-1] if alone and not (last == '"' and text[-2].isdigit()) else text
    if _PARTNER.get(first) == last and _paired(text, first, last):
        return text[1:-1]
    if first in _OPEN and first != "<" and not any(one in _CLOSE for one in text):
        return text[1:]
    return text[:-1] if last in _CLOSE and last != ">" and not any(one in _OPEN for one in text) else text


def _paired(text: str, opens: str, closes: str) -> bool:
    """Whether the last bracket closes the first."""
    depth = 0
    for char in text[:-1]:
        depth += (char == opens) - (char == closes)
        if not depth:
            return False
    return True


def tight(text: str) -> str:
    """Without blanks, but for those between two digits."""
    return _BLANKS.sub("", text)


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


FORMULA = re.compile(r"(?<![A-Za-z]{2})\s?[-+*/^=<>≤≥±]\s?(?![A-Za-z]{2})[\w√π(]|√|π|\d[a-zα-ω](?![a-z])|\d!")
"""What makes of a number a part of something else: `180-x`, `2√3`, `5!`."""


class Quantity(NamedTuple):
    """A number; what it counts, a unit in its standard form, else nothing; and what `million` multiplied."""

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
    """The number that a text consists of, but for a unit, a currency or `x =`; else None."""
    found = quantity(text)
    return found.value if found else None


def quantity(text: str) -> Quantity | None:
    """The same with its unit."""
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
    found = _QUANTITY.fullmatch(text)
    if found is None:
        return None
    value = evaluated(
        _COMMA.sub(_pointed, found["value"]) if _COMMA.match(found["value"]) else found["value"]
    )
    if value is None:
        return None
    if found["factorial"]:
        if value != int(value) or not 0 <= value <= _LARGEST_FACTORIAL:
            return None
        value = float(math.factorial(int(value)))
    name = found["unit"] or found["currency"]
    if name in _VARIABLES and found.end("value") == found.start("unit"):
        return None
    scale = float(_SCALES.get(name, 1))
    return Quantity(value * scale * (-1 if found["sign"] in ("-", "–") else 1), _unit(name), scale)


def _unit(name: str) -> str:
    """In its standard form, with 2 or 3 behind it where it is squared or cubed."""
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
    """The number that English words write: `twenty-one`, `two hundred and five`."""
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
    """Where a text writes numbers in digits, and their values. scaled: with `million` behind them."""
    at, end = begin, len(text) if end is None else end
    while found := _EXPRESSION.search(text, at, end):
        start, close, value = _valued(text, found, scaled)
        if value is not None:
            yield start, close, value
        at = max(close, found.start() + 1)


def expression(text: str, at: int) -> tuple[int, int, float] | None:
    """The number that is written in digits from here on."""
    found = _EXPRESSION.match(text, at)
    start, close, value = _valued(text, found, True) if found else (at, at, None)
    return None if value is None else (start, close, value)


def _valued(text: str, found: re.Match[str], scaled: bool) -> tuple[int, int, float | None]:
    """A sum counts as one number where it holds a root or pi, else its first term."""
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
    """Without punctuation at the end and brackets that others close."""
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
    """The value of digits, `+-*/^`, roots, pi and brackets; None for what is no such expression."""
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


_DECIMAL = re.compile(
    r"[-+]?(?=[\d.])(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?:e[-+]?\d{1,3})?", re.ASCII | re.IGNORECASE
)


_RATIO = re.compile(r"(?P<sign>-?)(?:(?P<whole>\d{1,6})\s)?(?P<over>\d{1,9})/(?P<under>\d{1,9})", re.ASCII)
_RAISED_TO = re.compile(r"(?P<base>\d{1,6}(?:\.\d{1,6})?)\^(?P<power>-?\d{1,2})", re.ASCII)


def exact(text: str) -> str:
    """The same of a fraction, a mixed number or a power as well: 0.5 for `1/2`, 25 for `5^2`."""
    if (found := _RATIO.fullmatch(text)) and int(found["under"]):
        value = Fraction(int(found["over"]), int(found["under"])) + int(found["whole"] or 0)
    elif (found := _RAISED_TO.fullmatch(text)) and (Fraction(found["base"]) or int(found["power"]) > 0):
        value = Fraction(found["base"]) ** int(found["power"])
    else:
        return canonical(text)
    value = -value if text.startswith("-") else value
    with localcontext() as context:
        context.prec = 60
        decimal = Decimal(value.numerator) / Decimal(value.denominator)
    return canonical(f"{decimal:f}") if Fraction(decimal) == value else str(value)


def canonical(text: str) -> str:
    """A text, but a decimal in one form: 0.5 for `.50`, 1000 for `1,000` and `1e3`."""
    if not text[-1:].isdecimal() or not _DECIMAL.fullmatch(text):
        return text
    value = Decimal(text.replace(",", "")).normalize() or Decimal(0)
    return f"{value:f}" if -20 < value.adjusted() < 40 else str(value).lower()


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
