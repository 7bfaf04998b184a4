"""What is odd about an item's texts: options like another, an answer in its question, a wrong encoding."""

import html
import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from string import ascii_lowercase

_FORMS = str.maketrans("’‘`“”–—‐−", "'''\"\"----")
_LONG_WORD = re.compile(r"[^\W\d_]{4}")
_WORD = re.compile(r"[^\W\d_]+")
_PAIRS = re.compile(r"(?:(\w)\1)+")
_CODE = 3  # letters; capitals of so many may be a code
_PLACEHOLDER = re.compile(r"\[\[\s*[^\W\d][\w .:-]*\]\]")
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

# Windows-1252 has no characters for five bytes; where it met them, decoders put the control character.
_BYTES = {bytes([b]).decode("cp1252", "ignore") or chr(b): b for b in range(128, 256)}
_BYTES.update({chr(b): b for b in range(128, 256) if chr(b) not in _BYTES})
_RUN = re.compile("[" + re.escape("".join(sorted(_BYTES))) + "]{2,}")
_LOST = re.compile("[\ufffd\x00\x80-\x9f]")
_QUOTES = frozenset("‘’“”‚„‹›«»")
_SURE = frozenset("Ââ")


# Characters without a form (Default_Ignorable_Code_Point of Unicode), and full and half width forms of others
_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff]"
)
_WIDE = re.compile("[\u3000\uff01-\uffee]+")
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_BIDI = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_BREAK = re.compile("[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_LABEL = re.compile(
    r"[\s*(\[]*(?:(?:option|answer|choice)\s+)?([a-z]|[0-9]{1,2}|[ivx]{2,5})"
    r"\s*(?:[.):\]*]+|、|\s[-–—]\s)(?!\d)",
    re.IGNORECASE,
)
_ROMAN = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x")


def visible(text: str) -> str:
    """Equal for texts that a reader cannot tell apart: without what does not show, full width forms and HTML
    entities as the characters that they stand for. Nothing else is changed: `m²` is not `m2`."""
    if text.isascii() and "&" not in text:
        return text
    for _ in range(2):  # `&amp;lt;`
        text = _ENTITY.sub(lambda entity: html.unescape(entity[0]), text)
    return _WIDE.sub(lambda wide: unicodedata.normalize("NFKC", wide[0]), _UNSEEN.sub("", text))


def has_bidi_controls(text: str) -> bool:
    """Whether characters turn the direction of a text: it shows otherwise than a model reads it."""
    return _BIDI.search(text) is not None


def has_line_break(text: str) -> bool:
    """Whether a text has several lines, or ends in a line break."""
    return _BREAK.search(text) is not None


def lettered(options: Sequence[str]) -> bool:
    """Whether options bring their own letters or numbers: all of them, and all those that so many have."""
    labels = [match[1] for option in options if (match := _LABEL.match(visible(option)))]
    if len(options) < 2 or len(labels) < len(options) or not all(map(str.strip, options)):
        return False
    found = sorted(label.casefold() for label in labels)
    count = len(options)
    numbers = sorted(str(number) for number in range(1, count + 1))
    return found in (list(ascii_lowercase[:count]), numbers, sorted(_ROMAN[:count]))


@lru_cache(maxsize=4096)
def respelling(text: str) -> str:
    """Equal for texts that differ in blanks, dashes, quotes, a last full stop, or the case of words only, or
    in nothing that shows (`visible`).

    `H2O` and `h2o`, `AA` and `aa` (genotypes), `m2` and `m²`, `-3` and `3`, `I` and `i` are different
    options. So case is ignored only in texts with four letters in a row at least, and there only in words
    that look like words: all small, all capitals, or with a first capital. It counts in codes: words in any
    other case (`XAXa`), pairs of one letter (`AABB`, `Aa`), capitals of up to three letters (`CO`, `DNA`).
    Digits and signs always count. A numeral is no respelling of its digit (`four` and `4` may both be right
    answers to a question about spelling), nor is a plural.
    """
    plain = " ".join(unicodedata.normalize("NFC", visible(text)).translate(_FORMS).split())
    if len(plain) > 1:
        plain = plain.removesuffix(".").rstrip()
    return _WORD.sub(_without_case, plain) if _LONG_WORD.search(plain) else plain


def _without_case(match: re.Match[str]) -> str:
    word = match[0]
    small = word.casefold()
    usual = word in (small, word.capitalize()) or (word.isupper() and len(word) > _CODE)
    first = match.start() == 0 and len(word) == 1  # `A kite`
    return small if first or (usual and len(word) > 1 and not _PAIRS.fullmatch(small)) else word


def option_flags(options: Sequence[str], answers: Sequence[int]) -> set[str]:
    """Flags of options that are empty, or the same as another. answers: indices into them."""
    if options and not any(map(str.strip, options)):
        return {"letters_only"}
    spelt = [respelling(option) for option in options]
    found = {"empty_option": not all(map(str.strip, options))}
    if len(set(spelt)) < len(options):
        right, spelt_right = ({texts[index] for index in answers} for texts in (options, spelt))
        wrong = [index for index in range(len(options)) if index not in answers]
        distinct = len(set(options))
        found |= {
            "duplicate_options": distinct < len(options),
            "repeated_answer_text": any(options[i] in right for i in wrong),
            "respelled_answer": any(spelt[i] in spelt_right and options[i] not in right for i in wrong),
            "respelled_options": len(set(spelt)) < distinct,
        }
    return {flag for flag, holds in found.items() if holds}


def leaks(question: str, options: Sequence[str], answers: Sequence[int]) -> bool:
    """Whether the answer stands in its own question.

    That is common and harmless where the question lists its options (`... a cat or a dog?`), asks for yes
    or no, or names a colour or a number of something else (`the man with the red hat`). So it counts only
    if
    - the text of the one correct option stands in the question as whole words, and no other option does;
    - it is a phrase of two words or a word of five letters at least, and not made up of the words that
      questions use of other things: colours, numbers, sides, yes and no, of pictures and of the options;
    - no other option shares a telling word with it, so that the question cannot mean the options as a kind
      (`Which light is brighter?` with the options `the left light` and `the right light`).
    The hint is not searched: a passage to be read holds its answer by design.
    """
    if len(answers) != 1 or len(options) < 2:
        return False
    right = _words(options[answers[0]])
    telling = [word for word in right if word not in _PLAIN and not word.isdigit()]
    if not telling or (len(telling) < 2 and len(telling[0]) < _LETTERS):
        return False
    asked = _words(question)
    if not _within(right, asked):
        return False
    others = [_words(option) for index, option in enumerate(options) if index not in answers]
    return not any(set(telling) & set(text) or (text and _within(text, asked)) for text in others)


def _words(text: str) -> list[str]:
    """The words of a text without case and punctuation."""
    return [word.casefold() for word in _WORDS.findall(text)]


def _within(part: list[str], whole: list[str]) -> bool:
    return any(whole[start : start + len(part)] == part for start in range(len(whole) - len(part) + 1))


def has_placeholder(text: str) -> bool:
    """Whether a mark of the form `[[name]]` stands where a tool should have put something."""
    return _PLACEHOLDER.search(text) is not None


def damaged(text: str) -> bool:
    """Whether a text was decoded with the wrong encoding.

    UTF-8 that was read as Windows-1252 or Latin-1 turns each letter beyond ASCII into two to four (`Ã©` for
    é, `â€™` for ’). Such runs are found by undoing it: the characters, as bytes of those encodings, are
    valid UTF-8. Real text hardly ever is; where it is (`„MENÜ“`, `“IRMÃ”`: a capital and a closing quote)
    one pair alone does not count, unless it begins with one of the characters that hardly end a word, Â and
    â. A replacement character, NUL (text read as UTF-16 has many), and a control
    character of the range 128 to 159 always count.
    """
    if text.isascii():
        return "\0" in text
    return bool(_LOST.search(text)) or any(_undone(match[0]) for match in _RUN.finditer(text))


def _undone(run: str) -> bool:
    data = bytes(_BYTES[character] for character in run)
    try:
        whole = data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return len(whole) > 1 or run[0] in _SURE or run[1] not in _QUOTES
