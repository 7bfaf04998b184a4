"""Checks of one entry and the facts and flags of its images."""

import io

import pytest
from PIL import Image

from tests.datasets.test_bad_sources import png
from vouch.datasets.first_pass import check, clean
from vouch.datasets.flags import default_group, item_flags
from vouch.datasets.raw import RawItem, Unusable, known_options
from vouch.datasets.read.images import examine


def raw(**changes):
    values = {"id": "q", "where": "here", "question": "Which?", "options": ["x", "y", "z"], "answers": [0]}
    return RawItem(**{**values, **changes})


def flags_of(item, pictures):
    return sorted(item_flags(clean(item, [one.digest for one in pictures]), item.options, pictures))


def noise(mode="RGB", size=(40, 30)):
    return Image.effect_noise(size, 90).convert(mode)


def encoded(mode="RGB", form="PNG", size=(5, 4), **options):
    data = io.BytesIO()
    Image.new(mode, size).save(data, form, **options)
    return data.getvalue()


LINE_BREAKS = ["a\nB. b", "a\n", "a\r\nb", "a\u2028b", "a\vb"]


@pytest.mark.parametrize(
    ("changes", "flags"),
    [
        ({}, []),
        ({"hint": None}, []),
        ({"hint": "see"}, []),
        ({"hint": ""}, ["empty_hint"]),
        ({"hint": " \n"}, ["empty_hint"]),
        ({"options": ["x", "y", "y"]}, ["duplicate_options"]),
        ({"options": ["x", "y", "x"]}, ["duplicate_options", "repeated_answer_text"]),
        ({"options": ["x", "x", "z"], "answers": [0, 1]}, ["duplicate_options"]),
        ({"options": ["x", "y", None]}, ["missing_option"]),
        ({"options": ["x", "y", None, "y"]}, ["missing_option"]),
        ({"options": ["x", "", "z"]}, ["empty_option"]),
        ({"question": "See <image 1>"}, ["unmatched_mark"]),
        ({"options": ["x", "<image2>", "z"]}, ["unmatched_mark"]),
        ({"hint": "<image_1>"}, ["unmatched_mark"]),
        ({"options": ["A. a dog", "B. a cat"]}, ["lettered_options"]),
        *(({"options": [text, "c"]}, ["line_break_in_option"]) for text in LINE_BREAKS),
        ({"options": ["a\x85b", "c"]}, ["damaged_text", "line_break_in_option"]),
        ({"options": ["שאלה", "a\u200db"]}, []),
        ({"question": "\u202ewhich?"}, ["bidi_controls"]),
        ({"hint": "a\u200e"}, ["bidi_controls"]),
        ({"question": "\u061ca [[name]]"}, ["bidi_controls", "placeholder"]),
        ({"question": "Which is [[1, 2], [3, 4]]?"}, []),
        ({"options": ["a\u2067", "b"]}, ["bidi_controls"]),
        ({"kind": "text", "options": [], "answers": [], "references": ["\u202d42"]}, ["bidi_controls"]),
    ],
)
def test_flags_of_the_text(changes, flags):
    item = raw(**changes)
    check(item)
    assert flags_of(item, []) == flags


def saved(image, form="PNG", **options):
    data = io.BytesIO()
    image.save(data, form, **options)
    return examine(data.getvalue())


def test_flags_of_the_images():
    rgb, grey = saved(noise()), saved(noise("L"))
    assert flags_of(raw(), [rgb]) == []
    assert flags_of(raw(), [rgb, grey]) == ["non_rgb", "several_images"]
    assert flags_of(raw(question="<image1> or <image2>?"), [rgb, rgb]) == ["several_images"]
    assert flags_of(raw(question="<image 2>?"), [rgb, rgb]) == ["several_images", "unmarked_image"]
    assert flags_of(raw(question="<image 3>?"), [rgb, rgb]) == ["several_images", "unmatched_mark"]
    for orientation, flags in ((1, []), (3, ["exif_rotated"]), (6, ["exif_rotated"])):
        exif = Image.Exif()
        exif[0x0112] = orientation
        assert flags_of(raw(), [saved(noise(), "JPEG", exif=exif)]) == flags
    frames = io.BytesIO()
    noise().save(frames, "GIF", save_all=True, append_images=[noise()])
    assert flags_of(raw(), [examine(frames.getvalue())]) == ["animated", "non_rgb"]
    assert flags_of(raw(), [saved(noise(size=(28, 28)))]) == []
    assert flags_of(raw(), [saved(noise(size=(90, 27)))]) == ["tiny_image"]
    assert flags_of(raw(), [saved(Image.new("RGB", (40, 30), "red"))]) == ["blank_image"]
    for size in ((20_000, 100), (30, 1500), (28 * 24 + 1, 28)):
        assert flags_of(raw(), [saved(noise(size=size))]) == ["strip_image"]
    for size in ((2000, 500), (28 * 24, 28), (100, 1000)):
        assert flags_of(raw(), [saved(noise(size=size))]) == []
    assert flags_of(raw(), [saved(noise("I;16"))]) == ["non_rgb"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [  # further ones: tests/datasets/test_prepare.py
        ({"id": ""}, "id is empty"),
        ({"category": "all"}, "the category is `all`, which stands for all items together"),
        ({"id": " q"}, "blanks at an end"),
        ({"id": "a\nb"}, "line breaks"),
        ({"options": ["x", "\udc00"]}, "surrogate"),
        ({"question": "w " * 10**6}, r"2,000,00\d characters, more than 1,000,000; shorten"),
        ({"options": ["x", None, "z"]}, "at least 2"),
        ({"answers": [0, 99999999999]}, "is not an index of its options"),
        ({"kind": "text", "options": [], "answers": []}, "reference answer"),
    ],
)
def test_refused(changes, reason):
    with pytest.raises(Unusable, match=reason):
        check(raw(**changes))


def test_what_passes():
    check(raw(options=[str(i) for i in range(26)], answers=[25], category="All"))
    check(raw(kind="text", options=[], answers=[], references=["42"]))


def test_options_end_before_the_first_missing_one_and_answers_are_a_set():
    assert clean(raw(options=["x", "y", None, "z"]), [])["options"] == ["x", "y"]
    assert clean(raw(answers=[2, 0, 2]), [])["answers"] == [0, 2]
    assert known_options([None, "x"]) == known_options([]) == []
    assert known_options([None, None]) == ["", ""], "their number is known"


def test_default_group_is_the_images_or_the_item_itself():
    assert default_group("q1", ["a", "b"]) == default_group("q2", ["b", "a", "b"])
    assert len({default_group(*given) for given in (("1", "a"), ("1", "b"), ("2", "a"), ("1", ""))}) == 3
    assert default_group('q", "a', []) != default_group("q", ["a"])
    assert clean(raw(id="1"), [])["group"] != clean(raw(id="2"), [])["group"]
    assert clean(raw(group="mine"), [])["group"] == "mine"


def test_modes_and_formats():
    for mode in ("1", "L", "LA", "P", "RGB", "RGBA", "I;16"):
        facts = examine(encoded(mode))
        assert (facts.format, facts.mode, facts.width, facts.height) == ("PNG", mode, 5, 4)
    for form in ("JPEG", "WEBP", "GIF", "BMP", "TIFF"):
        assert examine(encoded(form=form)).format == form


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\n  <svg/>", "markup"),
        (b"version https://git-lfs.github.com/spec/v1\noid", "LFS"),
        (encoded("F", "TIFF"), "mode F"),
        pytest.param(
            png(10_000, 10_000),
            "more than 89,478,485 pixels",  # Pillow only warns, which `prepare` hides
            marks=pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning"),
        ),
    ],
)
def test_not_an_image(data, reason):
    with pytest.raises(Unusable, match=reason):
        examine(data)


@pytest.mark.parametrize("how", [{}, {"progressive": True}, {"restart_marker_rows": 2}, {"subsampling": 0}])
def test_large_jpegs_are_refused_as_where_all_pixels_are_decoded(how):
    """Fewer pixels are made of them, but of all the data; what lacks the mark of its end alone is whole."""
    file = io.BytesIO()
    Image.effect_noise((700, 501), 60).convert("RGB").save(file, "JPEG", quality=80, **how)
    whole = file.getvalue()
    broken = [whole[: len(whole) * share // 100] for share in range(5, 100, 10)]
    broken += [whole[: len(whole) - cut] for cut in (3, 4, 20, 500)]
    broken += [whole[:place] + b"\xff\xd9" + whole[place:] for place in (700, 5_000, len(whole) - 900)]
    refused = 0
    assert examine(whole[:-2]).look == examine(whole[:-1]).look == examine(whole).look
    for data in broken:
        try:
            with Image.open(io.BytesIO(data)) as image:
                image.load()
        except OSError:
            refused += 1
            with pytest.raises(Unusable):
                examine(data)
        else:
            assert examine(data).width == 700
    assert refused > 10


def test_blank_is_exact_for_large_jpegs():
    plain = Image.new("RGB", (640, 480), "white")
    assert saved(plain, "JPEG").blank and saved(Image.new("L", (1000, 900), 77), "JPEG").blank
    dotted, nearly = plain.copy(), plain.copy()
    dotted.putpixel((301, 200), (0, 0, 0))
    nearly.paste((253, 253, 253), (0, 0, 640, 8))
    for image in (dotted, nearly):
        assert not saved(image, "JPEG", quality=98).blank


def test_blank_jpegs_are_found_whatever_fills_up_their_last_blocks():
    for side in (225, 231):
        filled = Image.new("RGB", (232, 232), "black")
        filled.paste("white", (0, 0, side, side))
        file = io.BytesIO()
        filled.save(file, "JPEG", quality=100, subsampling=0)
        data = file.getvalue()
        size = data.index(b"\xff\xc0\x00\x11\x08") + 5  # height and width, in whole blocks as before
        data = data[:size] + side.to_bytes(2) * 2 + data[size + 4 :]
        with Image.open(io.BytesIO(data)) as image:
            blank = all(low == high for low, high in image.getextrema())
        assert examine(data).blank == blank and (blank or side == 231)
