"""Decoding of every kind of picture to the same 8-bit RGB."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from stages.extract.pictures import decode, pixel_digest, render
from stages.runtime.errors import UserError

REALDATA = Path(__file__).parents[3] / "shared" / "reference" / "realdata"


def encoded(image: Image.Image, format: str = "PNG", **options: Any) -> bytes:
    sink = io.BytesIO()
    image.save(sink, format, **options)
    return sink.getvalue()


def pixels(data: bytes) -> list[tuple[int, ...]]:
    image = decode(data)
    assert image.mode == "RGB"
    return [tuple(int(value) for value in pixel) for pixel in np.asarray(image).reshape(-1, 3)]


def test_rgb_stays_as_it_is() -> None:
    values = np.arange(24, dtype=np.uint8).reshape(2, 4, 3) * 10
    assert np.array_equal(np.asarray(decode(encoded(Image.fromarray(values)))), values)


def test_transparency_is_laid_on_white() -> None:
    image = Image.new("RGBA", (3, 1))
    for x, colour in enumerate([(200, 0, 0, 255), (200, 0, 0, 0), (0, 0, 0, 128)]):
        image.putpixel((x, 0), colour)
    assert pixels(encoded(image)) == [(200, 0, 0), (255, 255, 255), (127, 127, 127)]


def test_grey_with_alpha_and_a_transparent_colour() -> None:
    assert pixels(encoded(Image.new("LA", (1, 1), (80, 0)))) == [(255, 255, 255)]
    assert pixels(encoded(Image.new("RGB", (1, 1), (1, 2, 3)), transparency=(1, 2, 3))) == [(255, 255, 255)]


def test_palette_with_and_without_transparency() -> None:
    image = Image.new("P", (2, 1))
    image.putpalette([10, 20, 30, 40, 50, 60])
    image.putpixel((1, 0), 1)
    assert pixels(encoded(image)) == [(10, 20, 30), (40, 50, 60)]
    assert pixels(encoded(image, transparency=1)) == [(10, 20, 30), (255, 255, 255)]


def test_grey_bilevel_and_cmyk() -> None:
    assert pixels(encoded(Image.new("L", (1, 1), 77))) == [(77, 77, 77)]
    assert pixels(encoded(Image.new("1", (1, 1), 1))) == [(255, 255, 255)]
    assert pixels(encoded(Image.new("CMYK", (1, 1), (0, 255, 255, 0)), "TIFF")) == [(255, 0, 0)]


def test_sixteen_bits_keep_their_range() -> None:
    values = np.array([[0, 256, 32768, 65535]], dtype=np.uint16)
    assert [grey for grey, _, _ in pixels(encoded(Image.fromarray(values)))] == [0, 1, 128, 255]


def test_exif_rotation_is_applied_once() -> None:
    image = Image.new("RGB", (40, 20), "red")
    exif = image.getexif()
    exif[0x0112] = 6  # rotate by 90 degrees
    turned = decode(encoded(image, "JPEG", exif=exif))
    assert turned.size == (20, 40) and 0x0112 not in turned.getexif()


def test_first_frame_of_an_animation() -> None:
    frames = [Image.new("RGB", (2, 2), colour) for colour in ("red", "blue")]
    assert pixels(encoded(frames[0], "GIF", save_all=True, append_images=frames[1:]))[0] == (255, 0, 0)


def test_pixel_digest_sees_pixels_size_and_order_only() -> None:
    red, blue = Image.new("RGB", (2, 3), "red"), Image.new("RGB", (2, 3), "blue")
    assert pixel_digest([decode(encoded(red, "PNG"))]) == pixel_digest([decode(encoded(red, "BMP"))])
    digests = [[red], [blue], [red, blue], [blue, red], [Image.new("RGB", (3, 2), "red")]]
    assert len({pixel_digest(images) for images in digests}) == len(digests)
    assert pixel_digest([]) == ""


def recipe(**changes: Any) -> dict[str, Any]:
    return {"images": ["d" * 64], "operation": "original", "severity": 0, "revision": 1, **changes}


def test_recipe_of_the_original() -> None:
    data = encoded(Image.new("RGB", (2, 2), "red"))
    assert render(recipe(), lambda digest: data).getpixel((0, 0)) == (255, 0, 0)


@pytest.mark.parametrize(
    ("changes", "data", "message"),
    [
        ({"operation": "blurr"}, b"", "picture operation blurr is unknown; valid: original"),
        ({"revision": 2}, b"", "original is at revision 1, the prompts were made for 2"),
        ({}, b"no picture", "image dddddddddddd cannot be decoded"),
        ({}, encoded(Image.new("RGB", (64, 64), "red"))[:90], "image dddddddddddd cannot be decoded"),
        ({}, encoded(Image.new("F", (2, 2)), "TIFF"), "pixels of mode F have no agreed 8-bit form"),
    ],
)
def test_recipes_that_cannot_be_rendered(changes: dict[str, Any], data: bytes, message: str) -> None:
    with pytest.raises(UserError, match=message):
        render(recipe(**changes), lambda digest: data)


@pytest.mark.skipif(not REALDATA.is_dir(), reason="the reference photographs are not there")
def test_real_pictures_decode() -> None:
    files = sorted(path for path in REALDATA.rglob("*") if path.suffix in (".png", ".jpg"))
    assert len(files) > 20
    for path in files:
        image = decode(path.read_bytes())
        assert image.mode == "RGB" and min(image.size) > 0


def test_what_is_said_of_damage_is_the_same_in_every_run() -> None:
    told = []
    for _ in range(2):
        with pytest.raises(UserError) as caught:
            render(
                {"images": ["d" * 64], "operation": "original", "revision": 1, "severity": 0}, lambda _: b"x"
            )
        told.append(str(caught.value))
    assert "none of the formats PNG, JPEG" in told[0] and "0x" not in told[0] and told[0] == told[1]


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
def test_bombs_and_formats_that_run_programs_are_no_pictures() -> None:
    with pytest.raises(ValueError, match="more than 89,478,485 pixels"):
        decode(encoded(Image.new("1", (10_000, 9_000))))
    with pytest.raises(OSError, match="cannot identify"):
        decode(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\nshowpage\n")
