"""What is odd about an item's texts: options like another, an answer in its question, a wrong encoding.

What is odd about one item: its texts (texts.py), its pictures, and whether the two fit.

tiny_image: a side below TINY pixels, the larger of the two patch sizes (14 and 28) of common image
encoders: not even one patch is filled. strip_image: one side is more than STRIP times the other; of 24 x 24
patches (336 pixels of 14), which show the picture as a whole, the shorter one fills not even one.
blank_image is exact: one colour and nothing else, on white ground; a picture of a white wall has noise.

Items that ask the same: circular copies, repeated items, and copies that a split can part.

Copies have the same question, hint, pictures (by their bytes) and text of the correct options. Items
without pictures count only where the source itself has put them into one group: their pictures may be
elsewhere, and a bare `What is shown?` asks something else of each.
Wrong options need not agree: some sources fill each copy up with others.

Pictures that are the same, or nearly: rescaled, recompressed, or with a detail changed.

Two pictures are near duplicates if
- their hashes (vouch/images/copies.py) differ in at most BITS of 63 bits, and
- no colour channel of a cell of their 16 x 16 grids differs by more than CELL of 255, and
- their mean brightness differs by at most LIGHT of 255, and
- their shapes, width by height, differ by no more than SHAPE.
The second rule is what makes it precise: a hash alone takes tables of the same layout, or one outline
map with another country marked, for the same. What stays are pictures that differ in less than a cell
shows, such as a changed name: these are worth a look, so nothing is dropped for it. Pictures of one
colour are left out: they have no look, and a flag of their own.

Of pairs within BITS one quarter of the hash differs in one bit at most, so each picture is looked up in
four columns, sorted by quarter and brightness, under 17 keys. Where many share a quarter, it is
compared with the NEIGHBOURS (or FLIPPED, under a key with a bit changed) next to it in brightness only,
so that the time stays near-linear.
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

from vouch.datasets.cleaning.cleaning import Picture, default_group, known_options
from vouch.images.copies import CELLS
from vouch.tables.asked import IMAGE_MARK

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


TINY = 28
STRIP = 24


def item_flags(row: Mapping[str, Any], native: Sequence[str | None], shown: Sequence[Picture]) -> set[str]:
    """row: of the items table. native: its options as the source has them. shown: its pictures."""
    texts = [row["hint"] or "", row["question"], *row["options"]]
    marked = {int(number) for number in IMAGE_MARK.findall("\n".join(texts))}
    there = set(range(1, len(shown) + 1))
    found = {
        "animated": any(picture.animated for picture in shown),
        "answer_in_question": leaks(row["question"], row["options"], row["answers"]),
        "bidi_controls": any(map(has_bidi_controls, (*texts, *row["references"]))),
        "blank_image": any(picture.blank for picture in shown),
        "damaged_text": any(map(damaged, (*texts, *row["references"]))),
        "empty_hint": row["hint"] is not None and not row["hint"].strip(),
        "exif_rotated": any(picture.rotated for picture in shown),
        "lettered_options": lettered(row["options"]),
        "line_break_in_option": any(map(has_line_break, row["options"])),
        "missing_option": len(known_options(native)) < len(native),
        "non_rgb": any(picture.mode != "RGB" for picture in shown),
        "placeholder": any(map(has_placeholder, (*texts, *row["references"]))),
        "several_images": len(shown) > 1,
        "strip_image": any(
            max(picture.width, picture.height) > STRIP * min(picture.width, picture.height)
            for picture in shown
        ),
        "tiny_image": any(min(picture.width, picture.height) < TINY for picture in shown),
        "unmarked_image": bool(marked & there and there - marked),
        "unmatched_mark": bool(marked - there),
    }
    return {*(flag for flag, holds in found.items() if holds), *option_flags(row["options"], row["answers"])}


def key_of(row: Mapping[str, Any]) -> bytes:
    """Equal for copies: 16 bytes of a row with question, hint, images, group, options, answers.

    Options without a text are told by their places.
    """
    seen = ["images", *row["images"]] if row["images"] else ["group", row["group"]]
    right = sorted(_read(row["options"][index]) or f"\0{index}" for index in row["answers"])
    asked, references = _read(row["question"]), sorted(map(_read, row["references"]))
    text = json.dumps([asked, _read(row["hint"] or ""), seen, right, references])
    return hashlib.sha256(text.encode()).digest()[:16]


def _read(text: str) -> str:
    """As a person reads it: blanks at its ends, their number and what does not show make no difference."""
    return " ".join(unicodedata.normalize("NFC", visible(text)).split())


class Copies:
    """Finds copies among the items that it is shown, one after the other."""

    def __init__(self) -> None:
        self._count = 0
        self._copies: dict[bytes, list[tuple[int, str, int]]] = defaultdict(list)

    def add(self, row: Mapping[str, Any]) -> None:
        """The next item: a row as for `key_of`, with its id."""
        if row["images"] or row["group"] != default_group(row["id"], ()):
            # tells equal options only; never written, so it may vary
            same = hash(tuple(map(_read, row["options"])))
            self._copies[key_of(row)].append((self._count, row["group"], same))
        self._count += 1

    def flags(self) -> dict[int, set[str]]:
        """Flags by the position of the item."""
        found: dict[int, set[str]] = {}
        for same in self._copies.values():
            if len(same) > 1:
                groups, orders = {group for _, group, _ in same}, Counter(options for _, _, options in same)
                found |= {number: _among(len(groups), orders, options) for number, _, options in same}
        return found


def _among(groups: int, orders: Mapping[int, int], own: int) -> set[str]:
    """Flags of one of several copies. groups: how many they stand in. orders: how many show which options."""
    found = {
        "repeated_item": orders[own] > 1,
        "circular_copy": len(orders) > 1,
        "copies_apart": groups > 1,
    }
    return {flag for flag, holds in found.items() if holds}


BITS = 7
CELL = 8
LIGHT = 3
SHAPE = 0.05
NEIGHBOURS = 32
FLIPPED = 16
_QUARTER = 16
_BRIGHTEST = 2**18  # above the sum of all cells
_EVERY = 47  # 17 of the 768 values, of all channels and from all over the grid
_SIMILAR_PAIRS = 2**19  # compared at a time


@dataclass(frozen=True)
class Use:
    """An item that shows one or several pictures. about: a digest of its question, or nothing if the item
    cannot be compared (several pictures, no options). right: of the correct options' texts, as one."""

    item: int
    group: str
    about: str
    right: str


def near_pairs(pictures: Sequence[Picture]) -> np.ndarray:
    """[p, 2] positions i < j of near duplicates, sorted."""
    chosen = np.array([n for n, picture in enumerate(pictures) if not picture.blank], dtype=np.int64)
    if len(chosen) < 2:
        return np.empty((0, 2), dtype=np.int64)
    hashes = np.array([pictures[n].look.hash for n in chosen], dtype=np.uint64)
    cells = np.frombuffer(b"".join(pictures[n].look.cells for n in chosen), np.uint8).reshape(len(chosen), -1)
    few = np.ascontiguousarray(cells[:, ::_EVERY])
    shapes = np.array([pictures[n].width / pictures[n].height for n in chosen])
    brightness = cells.sum(axis=1, dtype=np.int64)
    found = [np.empty((0, 2), dtype=np.int64)]
    for left, right in _candidates(hashes, brightness):
        close = np.bitwise_count(hashes[left] ^ hashes[right]) <= BITS
        close &= np.abs(shapes[left] - shapes[right]) <= SHAPE * np.minimum(shapes[left], shapes[right])
        for values in (few, cells):  # most pairs fall at the few
            left, right = left[close], right[close]
            close = np.abs(values[left].astype(np.int16) - values[right]).max(axis=1, initial=0) <= CELL
        found.append(np.stack([left[close], right[close]], axis=1))
    return chosen[np.unique(np.sort(np.concatenate(found), axis=1), axis=0)]


def _candidates(hashes: np.ndarray, brightness: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Positions of pictures worth comparing, a bounded number of pairs at a time."""
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
    """The pairs that ranges [start, start + count) of `order` stand for."""
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


def similar_flags(pictures: Mapping[str, Picture], uses: Mapping[str, Sequence[Use]]) -> dict[int, set[str]]:
    """Flags by the position of the item. pictures, uses: by the picture's digest."""
    found: dict[int, set[str]] = defaultdict(set)
    all_users = list(uses.values())
    for users in all_users:
        if len({use.group for use in users}) > 1:
            _mark(found, users, "shared_image")
        _mark(found, _conflicting(users), "conflicting_answer")
    for i, j in near_pairs([pictures[digest] for digest in uses]).tolist():
        first, second = all_users[i], all_users[j]
        if len({use.group for use in (*first, *second)}) > 1:
            _mark(found, (*first, *second), "near_duplicate_image")
        _mark(found, _conflicting((*first, *second)), "conflicting_answer")
    return found


def _mark(found: dict[int, set[str]], users: Sequence[Use], flag: str) -> None:
    for use in users:
        found[use.item].add(flag)


def _conflicting(users: Sequence[Use]) -> list[Use]:
    """Those that ask the same of the same picture as another one, and have another answer."""
    answers: dict[str, set[str]] = defaultdict(set)
    for use in users:
        if use.about:
            answers[use.about].add(use.right)
    return [use for use in users if use.about and len(answers[use.about]) > 1]
