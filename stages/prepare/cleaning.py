"""What makes an entry an item: checks that refuse it, and flags for what is odd but usable.

Flags
  animated               a picture has more than one frame; the first one counts
  duplicate_options      two options have the same text
  empty_hint             the hint is there but holds no text
  empty_option           an option holds no text
  missing_option         the source lacks an option text; the list ends before it
  non_rgb                a picture's mode is not RGB
  repeated_answer_text   a wrong option has the text of a correct one
  several_images         more than one picture
  unmarked_image         some pictures have a mark such as `<image 1>` in the text, another has none
  unmatched_mark         a mark has no picture
"""

import hashlib
import io
import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from PIL import Image, UnidentifiedImageError

from stages.contracts.images import FORMATS, MAX_PIXELS
from stages.contracts.items import IMAGE_MARK
from stages.prepare.raw import RawItem, Unusable

MAX_OPTIONS = 26
MODES = ("1", "L", "LA", "La", "P", "PA", "RGB", "RGBA", "RGBa", "CMYK", "YCbCr", "LAB", "HSV", "I")


@dataclass(frozen=True)
class Picture:
    """Facts of one encoded image: row of the images table without its bytes. width, height: pixels."""

    digest: str
    format: str
    mode: str
    width: int
    height: int
    animated: bool


def digest_of(data: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def examine(data: bytes) -> Picture:
    """Decodes an image once, to be sure that it can be. Raises Unusable."""
    start = data[:512].lstrip().lower()
    if not data:
        raise Unusable("is an empty file")
    if start.startswith(b"version https://git-lfs"):
        raise Unusable("is a Git LFS pointer, not an image; run `git lfs pull` in its source")
    if start.startswith((b"<", b"\xef\xbb\xbf<")):
        raise Unusable("is a web page or other markup, not an image; download it again")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            return _decode(data)
    except Unusable:
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise Unusable(f"has more than {MAX_PIXELS:,} pixels; scale it down") from None
    except UnidentifiedImageError:
        raise Unusable(f"is not an image in any of the formats {', '.join(FORMATS)}") from None
    except Exception as error:  # Pillow's decoders raise almost anything on damaged data
        raise Unusable(f"cannot be decoded ({error or type(error).__name__}); it may be cut off") from None


def _decode(data: bytes) -> Picture:
    with Image.open(io.BytesIO(data), formats=FORMATS) as image:
        if image.width * image.height > MAX_PIXELS:
            raise Image.DecompressionBombError
        if image.mode not in MODES and not image.mode.startswith("I;16"):
            raise Unusable(f"has pixels of mode {image.mode}, which have no 8-bit form; save it as PNG")
        name, mode, (width, height) = image.format or "", image.mode, image.size
        image.load()
        frames = getattr(image, "n_frames", 1) if name != "MPO" else 1
        return Picture(digest_of(data), name, mode, width, height, frames > 1)


def check(raw: RawItem) -> None:
    """Everything that can be refused without looking at the pictures. Raises Unusable."""
    if not raw.id or not raw.id.isprintable() or raw.id != raw.id.strip():
        raise Unusable("the id is empty or holds blanks at an end, line breaks or control characters")
    texts = (raw.question, raw.hint, raw.category, raw.source_id, raw.group, *raw.options, *raw.references)
    for text in (*texts, *raw.phrasings):
        if text is not None and not _encodable(text):
            raise Unusable(f"the text {text[:40]!r} holds half a surrogate pair, which UTF-8 has no form for")
    if not raw.question.strip():
        raise Unusable("the question is empty")
    if raw.exchange and len(raw.exchange) != len(raw.images):
        raise Unusable(f"has {len(raw.images)} images, but {len(raw.exchange)} entries for their exchange")
    if raw.kind == "text":
        if not raw.references:
            raise Unusable("an open question needs at least one reference answer")
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
    """The options before the first missing one, as the option reader of Kostumov et al. (2024) has it."""
    known = []
    for option in options:
        if option is None:
            break
        known.append(option)
    return known


def clean(raw: RawItem, pictures: Sequence[Picture]) -> dict[str, Any]:
    """The row of the items table for an entry that `check` let pass and its pictures."""
    options = known_options(raw.options)
    answers = sorted(set(raw.answers))
    images = [picture.digest for picture in pictures]
    return {
        "id": raw.id,
        "group": raw.group if raw.group is not None else default_group(raw.question, images),
        "question": raw.question,
        "phrasings": list(raw.phrasings),
        "hint": raw.hint,
        "options": options,
        "answers": answers,
        "references": list(raw.references),
        "images": images,
        "category": raw.category,
        "kind": raw.kind,
        "turns": list(raw.turns),
        "source_id": raw.source_id or raw.id,
        "flags": sorted({*raw.flags, *_text_flags(raw, options, answers), *_picture_flags(raw, pictures)}),
    }


def default_group(question: str, images: Sequence[str]) -> str:
    """One group for the same question about the same pictures: 32 hexadecimal digits."""
    return digest_of(json.dumps([question, *images]).encode())[:32]


def _text_flags(raw: RawItem, options: Sequence[str], answers: Sequence[int]) -> set[str]:
    correct = {options[index] for index in answers}
    found = {
        "duplicate_options": len(set(options)) < len(options),
        "empty_hint": raw.hint is not None and not raw.hint.strip(),
        "empty_option": any(not option.strip() for option in options),
        "missing_option": len(options) < len(raw.options),
        "repeated_answer_text": any(o in correct for i, o in enumerate(options) if i not in answers),
    }
    return {flag for flag, holds in found.items() if holds}


def _picture_flags(raw: RawItem, pictures: Sequence[Picture]) -> set[str]:
    text = "\n".join((raw.hint or "", raw.question, *known_options(raw.options)))
    marked = {int(number) for number in IMAGE_MARK.findall(text)}
    there = set(range(1, len(pictures) + 1))
    found = {
        "animated": any(picture.animated for picture in pictures),
        "non_rgb": any(picture.mode != "RGB" for picture in pictures),
        "several_images": len(pictures) > 1,
        "unmarked_image": bool(marked & there and there - marked),
        "unmatched_mark": bool(marked - there),
    }
    return {flag for flag, holds in found.items() if holds}
