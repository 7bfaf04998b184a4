"""Flags of items: first those of an item by itself (`item_flags`), then those that only a comparison shows.

vouch/tables/asked.py says what each flag means.
"""

import hashlib
import html
import json
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from string import ascii_lowercase
from typing import Any

import numpy as np

from vouch.datasets.raw import known_options
from vouch.datasets.read.images import ImageFacts, digest_of
from vouch.images.copies import CELLS
from vouch.tables.asked import IMAGE_MARK

TINY = 28  # pixels, the larger of the two patch sizes (14 and 28) of common image encoders
STRIP = 24  # times the other side; scaled to 24 x 24 patches, the shorter side fills less than one patch
_FORMS = str.maketrans("’‘`“”–—‐−", "'''\"\"----")
_LONG_WORD = re.compile(r"[^\W\d_]{4}")
_WORD = re.compile(r"[^\W\d_]+")
_PAIRS = re.compile(r"(?:(\w)\1)+")
_CODE = 3  # up to this many capital letters may be a code
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
    """A text as a reader sees it: texts that look the same become equal.

    Invisible characters are removed; full width forms and HTML entities become the characters that they mean.
    Nothing else is changed: `m²` is not `m2`.
    """
    if text.isascii() and "&" not in text:
        return text
    for _ in range(2):  # `&amp;lt;`
        text = _ENTITY.sub(lambda entity: html.unescape(entity[0]), text)
    return _WIDE.sub(lambda wide: unicodedata.normalize("NFKC", wide[0]), _INVISIBLE.sub("", text))


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
    """A form that is equal for texts that differ only in blanks, dashes, quotes, a last full stop or case.

    Case is ignored only in texts with at least four letters in a row, and there only in words in normal case:
    all lower case, all capitals, or capitalised. Case matters in codes: words in any other case (`XAXa`),
    pairs of one letter (`AABB`, `Aa`), and up to three capitals (`CO`). Digits and signs always matter.
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

    It does only if the text of the one correct option, and of no other, is in the question as whole words;
    if it is informative (docs/cleaning.md: not a colour, number or side); and if no other option shares an
    uncommon word with it, so that the question cannot mean all options. The hint is not searched: a passage
    contains its answer by design.
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


def damaged(text: str) -> bool:
    """Whether a text was decoded with the wrong encoding.

    UTF-8 that was read as Windows-1252 or Latin-1 turns each letter beyond ASCII into two to four (`Ã©` for
    é). Such runs are found by reversing the error: as bytes of those encodings they are valid UTF-8. In real
    text a capital with a closing quote can look the same (`„MENÜ“`); a single such pair does not count,
    unless it begins with Â or â, which hardly ever end a word. Replacement characters, NUL and control
    characters of 128 to 159 always count.
    """
    if text.isascii():
        return "\0" in text
    return bool(_LOST.search(text)) or any(_undone(match[0]) for match in _RUN.finditer(text))


def _undone(run: str) -> bool:
    try:
        whole = bytes(_BYTES[character] for character in run).decode("utf-8")
    except UnicodeDecodeError:
        return False
    return len(whole) > 1 or run[0] in _SURE or run[1] not in _QUOTES


def item_flags(row: Mapping[str, Any], native: Sequence[str | None], shown: Sequence[ImageFacts]) -> set[str]:
    """All flags of an item except those that need other items.

    row: of the items table. native: its options as the source has them. shown: its images.
    """
    texts = [row["hint"] or "", row["question"], *row["options"]]
    answered = [*texts, *row["references"]]
    referred = {int(number) for number in IMAGE_MARK.findall("\n".join(texts))}
    numbers = set(range(1, len(shown) + 1))
    sides = [sorted((image.width, image.height)) for image in shown]
    flags = {
        "animated": any(image.animated for image in shown),
        "answer_in_question": leaks(row["question"], row["options"], row["answers"]),
        "bidi_controls": any(map(_BIDI.search, answered)),
        "blank_image": any(image.blank for image in shown),
        "damaged_text": any(map(damaged, answered)),
        "empty_hint": row["hint"] is not None and not row["hint"].strip(),
        "exif_rotated": any(image.rotated for image in shown),
        "lettered_options": lettered(row["options"]),
        "line_break_in_option": any(map(_BREAK.search, row["options"])),
        "missing_option": len(known_options(native)) < len(native),
        "non_rgb": any(image.mode != "RGB" for image in shown),
        "placeholder": any(map(_PLACEHOLDER.search, answered)),
        "several_images": len(shown) > 1,
        "strip_image": any(longer > STRIP * shorter for shorter, longer in sides),
        "tiny_image": any(shorter < TINY for shorter, _ in sides),
        "unmarked_image": bool(referred & numbers and numbers - referred),
        "unmatched_mark": bool(referred - numbers),
    }
    return {*(flag for flag, holds in flags.items() if holds), *option_flags(row["options"], row["answers"])}


# Copies have the same question, hint, images (by their bytes) and text of the correct options. Near
# duplicates are images whose hashes (vouch/images/copies.py), grids of mean colours, brightness and shapes
# are within the bounds below; docs/cleaning.md has the rules and what they find.
#
# If two hashes differ in at most BITS bits, one of their quarters differs in at most one bit. So each image
# is looked up under 17 keys in four columns, sorted by quarter and brightness. If many share a quarter, an
# image is compared only with the NEIGHBOURS next to it in brightness (FLIPPED under a key with a changed
# bit): the time stays near linear.

BITS = 7  # of the hash's 63
CELL = 8  # of 255, in any channel of a cell of the grid
LIGHT = 3  # of 255
SHAPE = 0.05  # of width by height
NEIGHBOURS = 32
FLIPPED = 16
_QUARTER = 16
_BRIGHTEST = 2**18  # above the sum of all cells
_EVERY = 47  # 17 of the 768 values, of all channels and from all over the grid
_SIMILAR_PAIRS = 2**19  # compared at a time


def default_group(name: str, images: Sequence[str]) -> str:
    """The group of all questions about the same images (by their digests), or of an item without any.

    Equal wordings make no group: `Is there a dog?` may be asked about many images that the source lacks.
    """
    return digest_of(json.dumps(sorted(set(images)) or [name]).encode())[:32]


def key_of(row: Mapping[str, Any]) -> bytes:
    """16 bytes that are equal for copies: of question, hint, images (or group), answers and references.

    Options without a text are distinguished by their index.
    """
    seen = ["images", *row["images"]] if row["images"] else ["group", row["group"]]
    correct = sorted(_normal(row["options"][index]) or f"\0{index}" for index in row["answers"])
    asked, references = _normal(row["question"]), sorted(map(_normal, row["references"]))
    text = json.dumps([asked, _normal(row["hint"] or ""), seen, correct, references])
    return hashlib.sha256(text.encode()).digest()[:16]


def _normal(text: str) -> str:
    """A text as a person reads it: without invisible characters and superfluous blanks."""
    return " ".join(unicodedata.normalize("NFC", visible(text)).split())


class Copies:
    """Finds copies among items that are added one after the other."""

    def __init__(self) -> None:
        self._count = 0
        self._copies: dict[bytes, list[tuple[int, str, int]]] = defaultdict(list)

    def add(self, row: Mapping[str, Any]) -> None:
        """Adds the next item: a row as for `key_of`, with its id."""
        if row["images"] or row["group"] != default_group(row["id"], ()):
            # a hash may differ between runs; this one only compares options and is never stored
            same_options = hash(tuple(map(_normal, row["options"])))
            self._copies[key_of(row)].append((self._count, row["group"], same_options))
        self._count += 1

    def flags(self) -> dict[int, set[str]]:
        """Flags by the index of the item."""
        flags: dict[int, set[str]] = {}
        for copies in self._copies.values():
            if len(copies) < 2:
                continue
            groups = len({group for _, group, _ in copies})
            orders = Counter(options for _, _, options in copies)
            shared = {"circular_copy"} if len(orders) > 1 else set()
            shared |= {"copies_apart"} if groups > 1 else set()
            for index, _, options in copies:
                flags[index] = shared | ({"repeated_item"} if orders[options] > 1 else set())
        return flags


@dataclass(frozen=True)
class Use:
    """An item that shows an image.

    asks: digest of its question, empty if the item cannot be compared (several images, no options).
    answer: the texts of the correct options, joined.
    """

    item: int
    group: str
    asks: str
    answer: str


def near_pairs(images: Sequence[ImageFacts]) -> np.ndarray:
    """[p, 2] indices i < j of near duplicates, sorted."""
    chosen = np.array([n for n, image in enumerate(images) if not image.blank], dtype=np.int64)
    if len(chosen) < 2:
        return np.empty((0, 2), dtype=np.int64)
    hashes = np.array([images[n].look.hash for n in chosen], dtype=np.uint64)
    cells = np.frombuffer(b"".join(images[n].look.cells for n in chosen), np.uint8).reshape(len(chosen), -1)
    few = np.ascontiguousarray(cells[:, ::_EVERY])
    shapes = np.array([images[n].width / images[n].height for n in chosen])
    brightness = cells.sum(axis=1, dtype=np.int64)
    pairs = [np.empty((0, 2), dtype=np.int64)]
    for left, right in _candidates(hashes, brightness):
        close = np.bitwise_count(hashes[left] ^ hashes[right]) <= BITS
        close &= np.abs(shapes[left] - shapes[right]) <= SHAPE * np.minimum(shapes[left], shapes[right])
        for values in (few, cells):  # most pairs already differ in the few
            left, right = left[close], right[close]
            close = np.abs(values[left].astype(np.int16) - values[right]).max(axis=1, initial=0) <= CELL
        pairs.append(np.stack([left[close], right[close]], axis=1))
    return chosen[np.unique(np.sort(np.concatenate(pairs), axis=1), axis=0)]


def _candidates(hashes: np.ndarray, brightness: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Indices of images worth comparing, a bounded number of pairs at a time."""
    for quarter in range(0, 64, _QUARTER):
        keys = ((hashes >> np.uint64(quarter)) & np.uint64(2**_QUARTER - 1)).astype(np.int64)
        sortable = keys * _BRIGHTEST + brightness
        order = np.argsort(sortable, kind="stable")
        ordered, keys, bright = sortable[order], keys[order], brightness[order]
        top = np.minimum(bright + LIGHT * CELLS * CELLS * 3, _BRIGHTEST - 1)
        for mask in (0, *(1 << bit for bit in range(_QUARTER))):
            partner = (keys ^ mask) * _BRIGHTEST
            # each pair once, from its darker member
            start = np.searchsorted(ordered, partner + bright) if mask else np.arange(1, len(order) + 1)
            stop = np.searchsorted(ordered, partner + top, "right")
            yield from _expanded(order, start, np.clip(stop - start, 0, FLIPPED if mask else NEIGHBOURS))


def _expanded(
    order: np.ndarray, start: np.ndarray, count: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The pairs of each image with those at [start, start + count) of `order`."""
    busy = np.flatnonzero(count)
    ends = np.cumsum(count[busy])
    done = 0
    while done < len(busy):
        before = int(ends[done - 1]) if done else 0
        upto = max(done + 1, int(np.searchsorted(ends, before + _SIMILAR_PAIRS, "right")))
        rows = busy[done:upto]
        repeated = np.repeat(rows, count[rows])
        offsets = np.arange(len(repeated)) - np.repeat(np.cumsum(count[rows]) - count[rows], count[rows])
        yield order[repeated], order[start[repeated] + offsets]
        done = upto


def similar_flags(images: Mapping[str, ImageFacts], uses: Mapping[str, Sequence[Use]]) -> dict[int, set[str]]:
    """Flags by the index of the item. images, uses: by the image's digest."""
    flags: dict[int, set[str]] = defaultdict(set)
    all_users = list(uses.values())
    for users in all_users:
        _compare(users, "shared_image", flags)
    for i, j in near_pairs([images[digest] for digest in uses]).tolist():
        _compare([*all_users[i], *all_users[j]], "near_duplicate_image", flags)
    return flags


def _compare(users: Sequence[Use], flag: str, flags: dict[int, set[str]]) -> None:
    """Adds the flags of items whose images look the same. flag: the one for items in different groups."""
    if len({use.group for use in users}) > 1:
        for use in users:
            flags[use.item].add(flag)
    for use in _conflicting(users):
        flags[use.item].add("conflicting_answer")


def _conflicting(users: Sequence[Use]) -> list[Use]:
    """The uses whose answer differs from that of another use with the same question about the same image."""
    answers: dict[str, set[str]] = defaultdict(set)
    for use in users:
        if use.asks:
            answers[use.asks].add(use.answer)
    return [use for use in users if use.asks and len(answers[use.asks]) > 1]
