"""Flags of one item: what is odd about its texts, its images, and whether the two fit.

`item_flags` sets them all; vouch/tables/asked.py says what each flag means. tiny_image: a side is below TINY
pixels, the larger of the two patch sizes (14 and 28) of common image encoders, so the image does not fill one
patch. strip_image: one side is more than STRIP times the other; scaled to 24 x 24 patches (336 pixels of 14),
the shorter side does not fill one patch. blank_image is exact: all pixels have one colour, on white ground. A
photograph of a white wall has noise.
"""

import html
import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache
from string import ascii_lowercase
from typing import Any

from vouch.datasets.raw import known_options
from vouch.datasets.read.images import ImageFacts
from vouch.tables.asked import IMAGE_MARK

TINY = 28  # pixels
STRIP = 24
_FORMS = str.maketrans("’‘`“”–—‐−", "'''\"\"----")
_LONG_WORD = re.compile(r"[^\W\d_]{4}")
_WORD = re.compile(r"[^\W\d_]+")
_PAIRS = re.compile(r"(?:(\w)\1)+")
_CODE = 3  # up to so many capital letters may be a code
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

# Windows-1252 has no characters for five bytes; decoders replace them by control characters.
_BYTES = {bytes([b]).decode("cp1252", "ignore") or chr(b): b for b in range(128, 256)}
_BYTES.update({chr(b): b for b in range(128, 256) if chr(b) not in _BYTES})
_RUN = re.compile("[" + re.escape("".join(sorted(_BYTES))) + "]{2,}")
_LOST = re.compile("[\ufffd\x00\x80-\x9f]")
_QUOTES = frozenset("‘’“”‚„‹›«»")
_SURE = frozenset("Ââ")


# Invisible characters (Default_Ignorable_Code_Point of Unicode), and full and half width forms of others
_INVISIBLE = re.compile(
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
    """A text as a reader sees it, so that it is equal for texts that look the same.

    Invisible characters are removed; full width forms and HTML entities become the characters that they stand
    for. Nothing else is changed: `m²` is not `m2`.
    """
    if text.isascii() and "&" not in text:
        return text
    for _ in range(2):  # `&amp;lt;`
        text = _ENTITY.sub(lambda entity: html.unescape(entity[0]), text)
    return _WIDE.sub(lambda wide: unicodedata.normalize("NFKC", wide[0]), _INVISIBLE.sub("", text))


def has_bidi_controls(text: str) -> bool:
    """Whether control characters change the direction of a text: models read it in another order."""
    return _BIDI.search(text) is not None


def has_line_break(text: str) -> bool:
    """Whether a text has several lines, or ends in a line break."""
    return _BREAK.search(text) is not None


def lettered(options: Sequence[str]) -> bool:
    """Whether every option begins with its own letter or number, and together they count from the first."""
    labels = [match[1] for option in options if (match := _LABEL.match(visible(option)))]
    if len(options) < 2 or len(labels) < len(options) or not all(map(str.strip, options)):
        return False
    sorted_labels = sorted(label.casefold() for label in labels)
    count = len(options)
    numbers = sorted(str(number) for number in range(1, count + 1))
    return sorted_labels in (list(ascii_lowercase[:count]), numbers, sorted(_ROMAN[:count]))


@lru_cache(maxsize=4096)
def respelling(text: str) -> str:
    """Equal for texts that differ only in blanks, dashes, quotes, a last full stop or the case of words.

    `H2O` and `h2o`, `AA` and `aa` (genotypes), `m2` and `m²`, `-3` and `3`, `I` and `i` are different
    options. So case is ignored only in texts with at least four letters in a row, and there only in words in
    normal
    case: all small, all capitals, or with a first capital. Case matters in codes: words in any other case
    (`XAXa`), pairs of one letter (`AABB`, `Aa`), and up to three capitals (`CO`, `DNA`). Digits and signs
    always matter. A numeral is not a respelling of its digit (`four` and `4` can be different answers to a
    question about spelling), nor is a plural.
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
    """Flags of options that are empty or duplicates. answers: indices of the correct options."""
    if options and not any(map(str.strip, options)):
        return {"letters_only"}
    spelt = [respelling(option) for option in options]
    flags = {"empty_option": not all(map(str.strip, options))}
    if len(set(spelt)) < len(options):
        correct, spelt_correct = ({texts[index] for index in answers} for texts in (options, spelt))
        wrong = [index for index in range(len(options)) if index not in answers]
        distinct = len(set(options))
        flags |= {
            "duplicate_options": distinct < len(options),
            "repeated_answer_text": any(options[i] in correct for i in wrong),
            "respelled_answer": any(spelt[i] in spelt_correct and options[i] not in correct for i in wrong),
            "respelled_options": len(set(spelt)) < distinct,
        }
    return {flag for flag, holds in flags.items() if holds}


def leaks(question: str, options: Sequence[str], answers: Sequence[int]) -> bool:
    """Whether the question contains its own answer.

    That is common and harmless where the question lists its options (`... a cat or a dog?`), asks for yes or
    no, or names a colour or a number of something else (`the man with the red hat`). So it counts only if
    - the text of the one correct option is in the question as whole words, and no other option is;
    - it is a phrase of at least two words or a word of at least five letters, and has a word that questions
    do not
      use anyway: colours, numbers, sides, yes and no, words for images and options are such common words;
    - no other option shares an uncommon word with it, so that the question cannot mean all options
      (`Which light is brighter?` with the options `the left light` and `the right light`).
    The hint is not searched: a passage contains its answer by design.
    """
    if len(answers) != 1 or len(options) < 2:
        return False
    correct = _words(options[answers[0]])
    uncommon = [word for word in correct if word not in _PLAIN and not word.isdigit()]
    if not uncommon or (len(uncommon) < 2 and len(uncommon[0]) < _LETTERS):
        return False
    asked = _words(question)
    if not _within(correct, asked):
        return False
    others = [_words(option) for index, option in enumerate(options) if index not in answers]
    return not any(set(uncommon) & set(text) or (text and _within(text, asked)) for text in others)


def _words(text: str) -> list[str]:
    """The words of a text without case and punctuation."""
    return [word.casefold() for word in _WORDS.findall(text)]


def _within(part: list[str], whole: list[str]) -> bool:
    return any(whole[start : start + len(part)] == part for start in range(len(whole) - len(part) + 1))


def has_placeholder(text: str) -> bool:
    """Whether a text has a placeholder `[[name]]` that a tool should have replaced."""
    return _PLACEHOLDER.search(text) is not None


def damaged(text: str) -> bool:
    """Whether a text was decoded with the wrong encoding.

    UTF-8 that was read as Windows-1252 or Latin-1 turns each letter beyond ASCII into two to four (`Ã©` for
    é, `â€™` for ’). Such runs are found by reversing the error: as bytes of those encodings, the characters
    are valid UTF-8. That hardly ever happens in real text. Where it does (`„MENÜ“`, `“IRMÃ”`: a capital and a
    closing quote), a single pair does not count, unless it begins with Â or â, which hardly ever end a word.
    A replacement character, NUL (text read as UTF-16 has many) and a control character of the range 128 to
    159 always count.
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


def item_flags(row: Mapping[str, Any], native: Sequence[str | None], shown: Sequence[ImageFacts]) -> set[str]:
    """All flags of an item but those that compare items.

    row: of the items table. native: its options as the source has them. shown: its images.
    """
    texts = [row["hint"] or "", row["question"], *row["options"]]
    referred = {int(number) for number in IMAGE_MARK.findall("\n".join(texts))}
    numbers = set(range(1, len(shown) + 1))
    flags = {
        "animated": any(image.animated for image in shown),
        "answer_in_question": leaks(row["question"], row["options"], row["answers"]),
        "bidi_controls": any(map(has_bidi_controls, (*texts, *row["references"]))),
        "blank_image": any(image.blank for image in shown),
        "damaged_text": any(map(damaged, (*texts, *row["references"]))),
        "empty_hint": row["hint"] is not None and not row["hint"].strip(),
        "exif_rotated": any(image.rotated for image in shown),
        "lettered_options": lettered(row["options"]),
        "line_break_in_option": any(map(has_line_break, row["options"])),
        "missing_option": len(known_options(native)) < len(native),
        "non_rgb": any(image.mode != "RGB" for image in shown),
        "placeholder": any(map(has_placeholder, (*texts, *row["references"]))),
        "several_images": len(shown) > 1,
        "strip_image": any(
            max(image.width, image.height) > STRIP * min(image.width, image.height) for image in shown
        ),
        "tiny_image": any(min(image.width, image.height) < TINY for image in shown),
        "unmarked_image": bool(referred & numbers and numbers - referred),
        "unmatched_mark": bool(referred - numbers),
    }
    return {*(flag for flag, holds in flags.items() if holds), *option_flags(row["options"], row["answers"])}
