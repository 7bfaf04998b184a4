"""What makes an entry an item: checks that refuse it, and its row; flags/ says what is odd.

The defects table: everything cleaning looked for, counted, with examples.
"""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from PIL import UnidentifiedImageError

from vouch.datasets.raw import RawItem, Unusable
from vouch.images.copies import Look, look, reduced, sideways
from vouch.images.opening import Unfit, alone, as_rgb, mode_of, opened, rotated
from vouch.tables.asked import EXAMPLES, FORMATS, KNOWN

MAX_OPTIONS = 26
MAX_RATIO = 200  # of a picture's sides: a model that scales the shorter one up would fill memory
MAX_NAME = 1_000  # characters of an id or a category: tables, pages and messages repeat it
MAX_TEXT = 1_000_000  # characters of an entry; of many more a chat template has no memory for its copies
ALL = "all"  # in METRICS the category of all items


@dataclass(frozen=True)
class Picture:
    """Facts of one encoded image. width, height: pixels, before EXIF rotation, which `rotated` tells of.

    sideways: whether that makes the width the height.
    """

    digest: str
    format: str
    mode: str
    width: int
    height: int
    animated: bool
    rotated: bool
    look: Look
    sideways: bool = False

    @property
    def shown_height(self) -> int:
        """Pixels, after EXIF rotation."""
        return self.width if self.sideways else self.height

    @property
    def blank(self) -> bool:
        """Whether all pixels have one colour."""
        return self.look.blank


def digest_of(data: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def examine(data: bytes, digest: str | None = None) -> Picture:
    """Decodes an image once, to be sure that it can be. digest: of the data, if known. Raises Unusable."""
    start = data[:512].lstrip().lower()
    if not data:
        raise Unusable("is an empty file")
    if start.startswith(b"version https://git-lfs"):
        raise Unusable("is a Git LFS pointer, not an image; run `git lfs pull` in its source")
    if start.startswith((b"<", b"\xef\xbb\xbf<")):
        raise Unusable("is a web page or other markup, not an image; download it again")
    try:
        return _decode(data, digest or digest_of(data))
    except Unusable:
        raise
    except Unfit as error:
        raise Unusable(str(error)) from None
    except UnidentifiedImageError:
        raise Unusable(f"is not an image in any of the formats {', '.join(FORMATS)}") from None
    except Exception as error:  # Pillow's decoders raise almost anything on damaged data
        raise Unusable(f"cannot be decoded ({error or type(error).__name__}); it may be cut off") from None


def _decode(data: bytes, digest: str, whole: bool = False) -> Picture:
    """whole: every pixel, also where means of a few are enough; the file is read to its end in any case."""
    with opened(data) as image:
        if max(image.size) > MAX_RATIO * min(image.size):
            raise Unusable(
                f"has {image.width:,} x {image.height:,} pixels, a line; cut out what is to be seen"
            )
        name, mode, (width, height) = image.format or "", mode_of(image), image.size
        with alone(width * height):
            size = None if whole else reduced(image)
            seen, by_exif, aside = look(as_rgb(image), size), rotated(image), sideways(image)
            # looking for a second frame moves on
            moves = name != "MPO" and getattr(image, "is_animated", False)
    if seen is None:
        return _decode(data, digest, whole=True)
    return Picture(digest, name, mode, width, height, moves, by_exif, seen, aside)


def check(raw: RawItem) -> None:
    """Everything that can be refused without looking at the pictures. Raises Unusable."""
    if not raw.id or not raw.id.isprintable() or raw.id != raw.id.strip():
        raise Unusable("the id is empty or holds blanks at an end, line breaks or control characters")
    for what, name in (("id", raw.id), ("id in its source", raw.source_id), ("category", raw.category)):
        if len(name) > MAX_NAME:
            raise Unusable(f"the {what} has {len(name):,} characters, more than {MAX_NAME:,}; shorten it")
    texts = (raw.question, raw.hint, raw.category, raw.source_id, raw.group, *raw.options, *raw.references)
    given = [text for text in (*texts, *raw.phrasings) if text is not None]
    if not _encodable("".join(given)):
        text = next(text for text in given if not _encodable(text))
        raise Unusable(f"the text {text[:40]!r} holds half a surrogate pair, which UTF-8 has no form for")
    if (length := sum(map(len, given))) > MAX_TEXT:
        raise Unusable(f"its texts have {length:,} characters, more than {MAX_TEXT:,}; shorten them")
    if not raw.question.strip():
        raise Unusable("the question is empty")
    if raw.category == ALL:
        raise Unusable(f"the category is `{ALL}`, the name of all items together; give it another name")
    if raw.exchange and len(raw.exchange) != len(raw.images):
        raise Unusable(f"has {len(raw.images)} images, but {len(raw.exchange)} entries for their exchange")
    if raw.kind == "text":
        if not raw.references:
            raise Unusable("an open question needs at least one reference answer")
        if not any(reference.strip() for reference in raw.references):
            raise Unusable("no reference answer holds a text; write one")
    else:
        _check_options(known_options(raw.options), raw.answers)


def _check_options(options: Sequence[str], answers: Sequence[int]) -> None:
    if len(options) < 2:
        raise Unusable(f"a choice needs at least 2 options, usable: {len(options)}")
    if len(options) > MAX_OPTIONS:
        raise Unusable(f"has {len(options)} options, more than the {MAX_OPTIONS} letters")
    if not answers:
        raise Unusable("has no correct option")
    for answer in answers:
        if not 0 <= answer < len(options):
            raise Unusable(f"answer index {answer!s:.20} lies outside the options, 0 to {len(options) - 1}")


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def known_options(options: Sequence[str | None]) -> list[str]:
    """The options before the first missing one, as the option reader of Kostumov et al. (2024) has it.

    Where all are missing, only their number is known: as many blank ones.
    """
    if all(option is None for option in options):
        return [""] * len(options)
    missing = options.index(None) if None in options else len(options)
    return [option for option in options[:missing] if option is not None]


def clean(raw: RawItem, pictures: Sequence[Picture], group: str | None = None) -> dict[str, Any]:
    """The row of an entry that `check` let pass and its pictures; flags come in the second pass.

    group: for an entry that names none, in place of `default_group`.
    """
    images = [picture.digest for picture in pictures]
    own = group if raw.group is None else raw.group
    return {
        "id": raw.id,
        "group": default_group(raw.id, images) if own is None else own,
        "question": raw.question,
        "phrasings": list(raw.phrasings),
        "hint": raw.hint,
        "options": known_options(raw.options),
        "answers": sorted(set(raw.answers)),
        "references": list(raw.references),
        "images": images,
        "category": raw.category,
        "kind": raw.kind,
        "turns": list(raw.turns),
        "source_id": raw.source_id or raw.id,
    }


def default_group(name: str, images: Sequence[str]) -> str:
    """One group for all questions about the same pictures; an item without one is by itself.

    Its words do not group it: `Is there a dog in the image?` is asked of many pictures that the source lacks.
    name: the item's id. images: digests of their bytes. Returned are 32 hexadecimal digits.
    """
    return digest_of(json.dumps(sorted(set(images)) or [name]).encode())[:32]


BROKEN, UNUSABLE, SKEW = "broken_image", "unusable_entry", "answer_position_skew"
LEVEL = 0.001
"""Skew is reported where its p-value is below this: datasets are many, and large ones show any trifle."""
LEAST = 5
"""Least expected number in a cell for the statistic to follow its distribution."""


class Findings:
    """Counts flags while items and rejected entries pass by."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = defaultdict(int)
        self._examples: dict[str, list[str]] = defaultdict(list)
        self._answers: dict[int, Counter[int]] = defaultdict(Counter)
        self._items = self._rejected = 0

    def items(self, table: pa.Table) -> None:
        """Counts the flags and the answers' places of rows of the items table."""
        self._items += table.num_rows
        columns = (table[name].to_pylist() for name in ("id", "flags", "answers"))
        options = pc.list_value_length(table["options"]).to_pylist()
        for name, flags, answers, count in zip(*columns, options, strict=True):
            for flag in flags:
                self._count(flag, name)
            if len(answers) == 1:
                self._answers[count][answers[0]] += 1

    def reject(self, name: str, broken: bool) -> None:
        """Counts an entry that became no item. name: its id, or its place. broken: a picture is why."""
        self._rejected += 1
        self._count(BROKEN if broken else UNUSABLE, name)

    def _count(self, defect: str, name: str) -> None:
        self._counts[defect] += 1
        if len(self._examples[defect]) < EXAMPLES:
            self._examples[defect].append(name)

    def rows(self) -> list[dict[str, Any]]:
        """Rows of the defects table, in the order of KNOWN."""
        return [self._row(name) | (self._skew() if name == SKEW else {}) for name in KNOWN]

    def _row(self, name: str) -> dict[str, Any]:
        all_of_them = self._items + (self._rejected if name in (BROKEN, UNUSABLE) else 0)
        count = self._counts.get(name, 0)
        return {
            "defect": name,
            "items": count,
            "share": count / all_of_them if all_of_them else 0.0,
            "examples": self._examples.get(name, []),
            "treatment": KNOWN[name].treatment,
            "p_value": None,
            "detail": "",
        }

    def _skew(self) -> dict[str, Any]:
        """Whether correct answers stand at some letter more often than chance allows: what its row says.

        Items with k options are one multinomial each k; Pearson's statistics and degrees of freedom add up.
        Items count alone, so rotated copies, which even out the letters by design, can only hide a skew.
        """
        seen, expected = Counter[int](), defaultdict[int, float](float)
        statistic, freedom = 0.0, 0
        for options, counts in sorted(self._answers.items()):
            even = counts.total() / options
            for place in range(options):
                seen[place] += counts[place]
                expected[place] += even
            if even >= LEAST and options > 1:
                statistic += sum((counts[place] - even) ** 2 / even for place in range(options))
                freedom += options - 1
        if not freedom:
            return {"detail": "too few items to tell"}
        from scipy.special import chdtrc  # loading it takes as long as a small dataset

        n = seen.total()
        top = max(sorted(seen), key=lambda place: seen[place] - expected[place])
        share, even = seen[top] / n, expected[top] / n
        p_value = float(chdtrc(freedom, statistic))
        beyond = max(0, round(n * (share - even))) if p_value < LEVEL else 0
        detail = (
            f"{ascii_uppercase[top]} is the answer of {100 * share:.1f} %, by chance {100 * even:.1f} %; "
            f"chi-square {statistic:.1f} on {freedom} degrees of freedom"
        )
        return {"items": beyond, "share": beyond / self._items, "p_value": p_value, "detail": detail}
