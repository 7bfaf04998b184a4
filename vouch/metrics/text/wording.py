"""Texts made comparable: plain Unicode instead of LaTeX and markup, one form for every number.

`undressed` replaces LaTeX by plain text, `trimmed` removes punctuation that means nothing, `boxed` finds what
a text puts in a box. `plain` is the form in which answers are compared: parsers, answer metrics, the
agreement of samples and the library all use it.
"""

import re
import unicodedata
from decimal import Decimal, localcontext
from fractions import Fraction

from vouch.tables.thoughts import apart

BOX = "▣"
r"""Marks where boxed text begins: `\boxed{...}`, `<answer>...`, `[[...]]`, a last line `#### 14`."""
_RAISED = re.compile(r"(?<=[\w)\]])[⁰¹²³⁴-⁹⁺⁻]{1,8}")
_APART = re.compile(r"(?<=\d)(?=[¼-¾⅐-⅞])")
_LOWERED = re.compile(r"(?<=\d)(?=[₀-₉])")
_THIN = re.compile("(?<=\\d)[\u00a0\u2009\u202f](?=\\d{3}(?!\\d))")
_OF_NUMBERS = re.compile("[⁰¹²³⁴-⁹⁺⁻¼-¾⅐-⅞₀-₉⁄−′″\u00a0\u2009\u202f]")
_SIGNS = str.maketrans({"⁄": "/", "−": "-", "′": "'"})


def wide(text: str) -> str:
    """The text in NFKC, so that full-width letters and brackets are plain; 10² is 10^2, and 1½ is 1 1/2."""
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


_WESTERN = (("’", "'"), ("،", ","), ("؛", ";"), ("؟", "?"), ("।", "."))


def undressed(text: str) -> str:
    """Plain Unicode, straight apostrophes, western stops, and LaTeX as plain text: `\\frac{1}{2}` is 1/2."""
    if not text.isascii():
        text = wide(text)
        for sign, western in _WESTERN:
            if sign in text:
                text = text.replace(sign, western)
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
    """The text with commands that have arguments resolved, from the innermost outwards."""
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
    """The part; in brackets if an operator next to it would otherwise bind to only a piece of it."""
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


_STOPS = " \t\r\n.,;:!?。、־׳״،؛؟।"
_OPEN, _CLOSE = "([{<“‘«【「", ")]}>”’»】」"
_PARTNER = dict(zip(_OPEN, _CLOSE, strict=True))
_QUOTED = "\"'`*_"
_BLANKS = re.compile(r"(?<!\d)\s+|\s+(?!\d)")
_TUPLE = re.compile(r"[(\[{](?=[^()\[\]{}]*\d)[^()\[\]{}]*,[^()\[\]{}]*[)\]}]")


def trimmed(text: str) -> str:
    """The text without meaningless punctuation around it; it stays in .25, 5', (3, -4), [0, 1), C* and ..."""
    bare = text.strip()
    while True:
        inner = _unwrapped(_stopped(bare))
        if inner == bare or not inner:
            return bare
        bare = inner


def _stopped(text: str) -> str:
    bare = text.strip(_STOPS)
    if bare == text or not bare:
        return bare
    start = text.index(bare)
    if bare[0].isdigit() and text[start - 1 : start] == ".":
        bare = f".{bare}"
    return f"{bare}!" if bare.isdecimal() and text[start + len(bare) :] == "!" and start == 0 else bare


def _unwrapped(text: str) -> str:
    """The text without a pair of brackets, quotes or asterisks around it, or one without its partner."""
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
    """The text without blanks, except for those between two digits."""
    return _BLANKS.sub("", text)


def boxed(text: str) -> str:
    """The content of an undressed text's last box, at most 300 characters; empty if there is no box."""
    start = text.rfind(BOX)
    if start < 0:
        return ""
    rest = text[start + 1 : start + 300].lstrip()
    if not rest.startswith("{"):
        return re.split(r"\n|\s{2}|\.\s", rest, maxsplit=1)[0].strip()
    depth = 0
    for end, char in enumerate(rest):
        depth += (char == "{") - (char == "}")
        if depth == 0:
            return rest[1:end].strip()
    return ""


_DECIMAL = re.compile(
    r"[-+]?(?=[\d.])(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?:e[-+]?\d{1,3})?", re.ASCII | re.IGNORECASE
)

_RATIO = re.compile(r"(?P<sign>-?)(?:(?P<whole>\d{1,6})\s)?(?P<over>\d{1,9})/(?P<under>\d{1,9})", re.ASCII)
_RAISED_TO = re.compile(r"(?P<base>\d{1,6}(?:\.\d{1,6})?)\^(?P<power>-?\d{1,2})", re.ASCII)


def exact(text: str) -> str:
    """Like `canonical`, also for a fraction, a mixed number or a power: 0.5 for `1/2`, 25 for `5^2`."""
    if (match := _RATIO.fullmatch(text)) and int(match["under"]):
        value = Fraction(int(match["over"]), int(match["under"])) + int(match["whole"] or 0)
    elif (match := _RAISED_TO.fullmatch(text)) and (Fraction(match["base"]) or int(match["power"]) > 0):
        value = Fraction(match["base"]) ** int(match["power"])
    else:
        return canonical(text)
    value = -value if text.startswith("-") else value
    with localcontext() as context:
        context.prec = 60
        decimal = Decimal(value.numerator) / Decimal(value.denominator)
    return canonical(f"{decimal:f}") if Fraction(decimal) == value else str(value)


def canonical(text: str) -> str:
    """The text; if it is a decimal, in one form: 0.5 for `.50`, 1000 for `1,000` and `1e3`."""
    if not text[-1:].isdecimal() or not _DECIMAL.fullmatch(text):
        return text
    value = Decimal(text.replace(",", "")).normalize() or Decimal(0)
    return f"{value:f}" if -20 < value.adjusted() < 40 else str(value).lower()


LONGEST = 500
"""Characters of an answer that the outcomes keep."""
EDGES = " \t\r\n.,;:!?\"'`*_()[]{}<>“”‘’«»。、，；：！？（）【】「」־׳״،؛؟।"
_ARTICLE = re.compile(r"(?:a|an|the) (?=\S)")


def plain(text: str) -> str:
    """The text without thoughts, in lower case, with single spaces, no meaningless punctuation around it, no
    leading English article; numbers have one form, and a text without letters has no blanks."""
    written = as_written(apart(text).answer)
    return exact(written if any(map(str.isalpha, written)) else tight(written))


def as_written(text: str) -> str:
    """The plain form of a text, but with decimals as they are written."""
    words = trimmed(" ".join(wide(text).casefold().split()))
    return _ARTICLE.sub("", words, count=1) if _ARTICLE.match(words) else words


def short(text: str) -> str:
    """The plain text, shortened if it is long; empty if it is only punctuation."""
    answer = plain(text)
    return answer[:LONGEST] if answer.strip(EDGES) else ""
