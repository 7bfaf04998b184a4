"""Copies of questions and near duplicates of images."""

import io
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from vouch.datasets.flags import (
    BITS,
    CELL,
    Copies,
    Use,
    default_group,
    near_pairs,
    similar_flags,
)
from vouch.datasets.read.images import ImageFacts, examine
from vouch.images.copies import Look, look
from vouch.images.opening import as_rgb


def flags(rows):
    copies = Copies()
    for row in rows:
        copies.add(row)
    return copies.flags()


def row(options, answer, question="Which?", images=("p",), group="g", hint=None):
    names = {"id": "q", "question": question, "images": list(images), "group": group, "hint": hint}
    return {**names, "options": options, "answers": [answer], "references": []}


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        (
            [row(["x", "y", "z"], 0), row(["z", "x", "y"], 1), row(["x", "y", "z"], 0), row(["y", "x"], 0)],
            {
                0: {"circular_copy", "repeated_item"},
                1: {"circular_copy"},
                2: {"circular_copy", "repeated_item"},
            },
        ),
        ([row(["x", "y", "n"], 0), row(["y", "x", "m"], 1)], {0: {"circular_copy"}, 1: {"circular_copy"}}),
        ([row(["x", "y"], 0), row(["y", "x"], 1, images=("q",))], {}),
        ([row(["x", "y"], 0), row(["y", "x"], 1, question="What?")], {}),
        ([row(["x", "y"], 0), row(["y", "x"], 1, hint="see")], {}),
        ([row(["x", "y"], 0), row(["y", "x"], 0)], {}),
        (
            [row(["x", "y"], 0), row(["y", "x"], 1, group="h")],
            {0: {"circular_copy", "copies_apart"}, 1: {"circular_copy", "copies_apart"}},
        ),
        # without images only a group of the source counts
        (
            [row(["x", "y"], 0, images=()), row(["y", "x"], 1, images=())],
            {0: {"circular_copy"}, 1: {"circular_copy"}},
        ),
        ([row(["x", "y"], n, images=(), group=default_group("q", ())) for n in (0, 0)], {}),
        # options without a text are told by their position
        ([row(["", ""], 0), row(["", ""], 1)], {}),
        ([row(["", ""], 1), row(["", ""], 1)], {0: {"repeated_item"}, 1: {"repeated_item"}}),
    ],
)
def test_copies_of_a_question(rows, found):
    """The same question about the same image; wrong options may differ."""
    assert flags(rows) == found


@pytest.mark.parametrize(
    "question",
    ["Tom\u200b and Jerry?", "Tom  and Jerry?\n", "Tom ａｎｄ Jerry？", "&#84;om and Jerry&quest;"],
)
def test_what_a_person_reads_as_the_same_is_a_copy(question):
    rows = [row(["x & y", "z"], 0, question="Tom and Jerry?"), row(["x &amp; y", "z"], 0, question=question)]
    assert flags(rows) == {0: {"repeated_item"}, 1: {"repeated_item"}}
    assert flags([rows[0], {**rows[1], "options": ["z", "x & y"], "answers": [1]}])[0] == {"circular_copy"}


GOLDEN = 0x2B1F4863CD13CE19


def photo(seed):
    """Something like a photograph: a few soft blobs on a slope."""
    rng = np.random.default_rng(seed)
    coarse = Image.fromarray(rng.integers(0, 256, (6, 8, 3), dtype=np.uint8))
    return coarse.resize((160, 120), Image.Resampling.BICUBIC)


def saved(image, form="PNG", **options):
    data = io.BytesIO()
    image.save(data, form, **options)
    return examine(data.getvalue())


def looking(look, width=100, height=100):
    return ImageFacts("", "PNG", "RGB", width, height, False, False, look)


COPIES = {
    "half": lambda image: saved(image.resize((80, 60), Image.Resampling.LANCZOS)),
    "jpeg": lambda image: saved(image, "JPEG", quality=60),
    "scaled and compressed": lambda image: saved(image.resize((112, 84)), "JPEG", quality=75),
    "webp": lambda image: saved(image, "WEBP", quality=70),
    "one pixel": lambda image: saved(_dotted(image)),
    "with alpha": lambda image: saved(image.convert("RGBA")),
}


def _dotted(image):
    image = image.copy()
    image.putpixel((3, 3), (0, 0, 0))
    return image


@pytest.mark.parametrize("how", COPIES)
def test_copies_are_found(how):
    pictures = [saved(photo(n)) for n in range(15)] + [COPIES[how](photo(n)) for n in range(15)]
    pairs = near_pairs(pictures)
    assert pairs.tolist() == [[n, n + 15] for n in range(15)]


def test_smaller_copies_of_pages_of_text_are_found():
    """They have more detail than a sample of their pixels shows."""
    letters = np.random.default_rng(2).integers(97, 123, (8, 30, 70), dtype=np.uint8)
    pages = []
    for lines in letters:
        page = Image.new("RGB", (640, 480), "white")
        text = "\n".join(bytes(line).decode().replace("e", " ") for line in lines)
        ImageDraw.Draw(page).text((10, 10), text, fill="black", font=ImageFont.load_default_imagefont())
        pages.append(page)
    small = [page.resize((213, 160), Image.Resampling.LANCZOS) for page in pages]
    pairs = near_pairs([saved(page) for page in (*pages, *small)])
    assert pairs.tolist() == [[n, n + 8] for n in range(8)]


@pytest.mark.parametrize("size", [(641, 483), (1023, 701), (255, 227)])
def test_jpegs_of_any_size_look_as_all_of_their_pixels_do(size):
    """Their last means stand for fewer pixels where a side is odd; of hard edges a shift would show."""
    tiles = Image.fromarray(np.random.default_rng(5).integers(0, 256, (19, 23, 3), dtype=np.uint8))
    image = tiles.resize(size, Image.Resampling.NEAREST)
    whole, reduced = saved(image).look, saved(image, "JPEG", quality=95, subsampling=0).look
    cells = [np.frombuffer(look.cells, np.uint8).astype(int) for look in (whole, reduced)]
    assert np.abs(cells[0] - cells[1]).max() <= 2 and (whole.hash ^ reduced.hash).bit_count() <= 2


def test_different_images_are_not():
    image = photo(1)
    ground = Image.new("RGB", (160, 120), "white")
    others = [
        image.rotate(180),
        image.transpose(Image.Transpose.FLIP_LEFT_RIGHT),
        image.crop((20, 20, 140, 110)),
        image.resize((160, 160)),
        Image.fromarray(255 - np.asarray(image)),
        ground,
        Image.new("RGB", (160, 120), "grey"),
    ]
    for box in ((20, 20, 50, 50), (40, 20, 70, 50), (20, 60, 50, 90)):
        plain = ground.copy()
        ImageDraw.Draw(plain).rectangle(box, fill="red")
        others.append(plain)
    blue = ground.copy()
    ImageDraw.Draw(blue).rectangle((20, 20, 50, 50), fill="blue")
    pictures = [saved(item) for item in (image, *others, blue)]
    assert near_pairs(pictures).tolist() == []


def test_same_pairs_as_comparing_all_with_all():
    rng = np.random.default_rng(3)
    cells = rng.integers(100, 120, (60, 768), dtype=np.uint8)
    hashes = rng.integers(0, 2**63, 60, dtype=np.uint64)
    pictures = []
    for n in range(600):
        base = n % 60
        mask = sum(1 << int(bit) for bit in rng.choice(63, rng.integers(0, 6), replace=False))
        width = 4 + n % 2
        noise = rng.integers(-width, width + 1, 768)
        look = Look(int(hashes[base]) ^ mask, (cells[base] + noise).astype(np.uint8).tobytes(), False)
        pictures.append(looking(look))
    expected = []
    values = np.stack([np.frombuffer(item.look.cells, np.uint8) for item in pictures]).astype(int)
    for i in range(600):
        for j in range(i + 1, 600):
            bits = (pictures[i].look.hash ^ pictures[j].look.hash).bit_count()
            if bits <= BITS and abs(values[i] - values[j]).max() <= CELL:
                expected.append([i, j])
    assert len(expected) > 20
    assert near_pairs(pictures).tolist() == expected


def test_many_that_share_a_hash_do_not_hide_a_copy():
    rng = np.random.default_rng(4)
    cells = rng.integers(0, 256, (3000, 768), dtype=np.uint8)
    pictures = [looking(Look(77, row.tobytes(), False)) for row in (*cells, cells[123])]
    assert near_pairs(pictures).tolist() == [[123, 3000]]
    of_other_shapes = [replace(item, width=100 * n) for n, item in enumerate(pictures, start=1)]
    assert near_pairs(of_other_shapes).tolist() == []
    assert near_pairs([]).shape == near_pairs(pictures[:1]).shape == (0, 2)


def test_flags_tell_groups_and_answers_apart():
    first, near, other = saved(photo(1)), COPIES["jpeg"](photo(1)), saved(photo(2))
    pictures = {"first": first, "near": near, "other": other}

    def use(item, group, about="", right=""):
        return Use(item, group, about, right)

    near_flag, conflict = "near_duplicate_image", "conflicting_answer"
    for uses, found in (
        ({"first": [use(0, "g")], "other": [use(1, "h")]}, {}),
        ({"first": [use(0, "g")], "near": [use(1, "g")]}, {}),
        ({"first": [use(0, "g", "q", "x")], "near": [use(1, "h", "q", "x")]}, {near_flag}),
        ({"first": [use(0, "g", "q", "x")], "near": [use(1, "h", "r", "y")]}, {near_flag}),
        ({"first": [use(0, "g", "q", "x")], "near": [use(1, "h", "q", "y")]}, {near_flag, conflict}),
        ({"first": [use(0, "g", "q", "x"), use(1, "h", "q", "y")]}, {"shared_image", conflict}),
        ({"first": [use(0, "g", "q", "x"), use(1, "g", "r", "y")]}, {}),
    ):
        assert similar_flags(pictures, uses) == (dict.fromkeys((0, 1), found) if found else {})


def test_looks_are_golden():
    """The same bits on every machine: whole numbers only."""
    rng = np.random.default_rng(0)
    image = Image.fromarray(rng.integers(0, 256, (50, 70, 3), dtype=np.uint8))
    found = look(image)
    assert found.hash == GOLDEN and not found.blank and len(found.cells) == 768
    grey = look(as_rgb(Image.new("L", (9, 9), 7)))
    assert grey.hash == 0 and grey.blank


def test_turned_and_transparent_images_are_seen_as_models_see_them():
    exif = Image.Exif()
    exif[0x0112] = 3
    upright, rotated = saved(photo(5)), saved(photo(5).rotate(180), "PNG", exif=exif)
    assert rotated.rotated and rotated.look == upright.look
    clear = Image.new("RGBA", (60, 40), (0, 0, 0, 0))
    ImageDraw.Draw(clear).rectangle((5, 5, 20, 20), fill=(255, 0, 0, 255))
    solid = Image.new("RGB", (60, 40), "white")
    ImageDraw.Draw(solid).rectangle((5, 5, 20, 20), fill="red")
    assert look(as_rgb(clear)) == look(solid)
    deep = Image.fromarray(np.asarray(photo(6).convert("L")).astype(np.uint16) * 257)
    assert deep.mode.startswith("I") and look(as_rgb(deep)) == look(as_rgb(photo(6).convert("L")))


def test_copies_of_real_images(shared):
    """Recompressed and scaled copies of photographs, diagrams and figures; no image is taken for another."""
    paths = [
        path
        for name in ("ai2d_mini", "ccbench_samples", "mmbench_samples", "puzzlevqa", "scienceqa_test")
        for path in sorted((shared("realdata") / name / "images").rglob("*.*"))[:12]
    ]
    pictures = []
    for path in paths:
        with Image.open(path) as image:
            pictures.append(image.convert("RGB"))
    first = [saved(picture) for picture in pictures]
    before = {tuple(pair) for pair in near_pairs(first).tolist()}
    count = len(pictures)
    copies = {
        0.93: [saved(picture, "JPEG", quality=75) for picture in pictures],
        0.96: [saved(one.resize((one.width // 2, one.height // 2))) for one in pictures],
    }
    for least, second in copies.items():
        pairs = {tuple(pair) for pair in near_pairs([*first, *second]).tolist()}
        assert sum((n, n + count) in pairs for n in range(count)) >= least * count
        others = {tuple(sorted((i, j - count))) for i, j in pairs if i < count <= j and j - count != i}
        assert others <= before
