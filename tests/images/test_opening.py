"""Every kind of image decoded to the same 8-bit RGB."""

import io
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.datasets.test_bad_sources import chunk, png
from tests.refusals import refused
from vouch.datasets.raw import Unusable
from vouch.datasets.read.images import examine
from vouch.images import opening
from vouch.images.copies import look
from vouch.images.opening import decode, pixel_digest, render

REALDATA = Path(__file__).parents[3] / "shared" / "reference" / "realdata"
NOISE = Image.fromarray(np.random.default_rng(0).integers(0, 256, (97, 150), np.uint8))


def encoded(image: Image.Image, format: str = "PNG", **options: Any) -> bytes:
    sink = io.BytesIO()
    image.save(sink, format, **options)
    return sink.getvalue()


def pixels(data: bytes) -> list[tuple[int, ...]]:
    image = decode(data)
    assert image.mode == "RGB"
    return [tuple(int(value) for value in pixel) for pixel in np.asarray(image).reshape(-1, 3)]


def words(*values: int) -> bytes:
    return b"\0" + struct.pack(f">{len(values)}H", *values)


def clear(*values: int) -> bytes:
    """The chunk of a PNG that names its transparent colour."""
    return chunk(b"tRNS", struct.pack(f">{len(values)}H", *values))


def tiff(values: list[int], kind: str) -> bytes:
    return encoded(Image.fromarray(np.array([values], dtype=kind)), "TIFF")


def of_palette(**options: Any) -> bytes:
    image = Image.frombytes("P", (2, 1), b"\0\1")
    image.putpalette([10, 20, 30, 40, 50, 60])
    return encoded(image, **options)


def clear_red() -> bytes:
    image = Image.new("RGBA", (3, 1))
    for x, colour in enumerate([(200, 0, 0, 255), (200, 0, 0, 0), (0, 0, 0, 128)]):
        image.putpixel((x, 0), colour)
    return encoded(image)


WHITE, RED = (255, 255, 255), (255, 0, 0)
FORMS: dict[str, tuple[bytes, str, list[int | tuple[int, ...]]]] = {
    "colour of 8 bits": (png(2, 1, 8, 2, bytes(range(7))), "RGB", [(1, 2, 3), (4, 5, 6)]),
    "colour with alpha of 8 bits": (clear_red(), "RGBA", [(200, 0, 0), WHITE, 127]),
    "grey with alpha of 8 bits": (encoded(Image.new("LA", (1, 1), (80, 0))), "LA", [WHITE]),
    "colour of 8 bits, one is clear": (
        encoded(Image.new("RGB", (1, 1), (1, 2, 3)), transparency=(1, 2, 3)), "RGB", [WHITE]
    ),
    "palette": (of_palette(), "P", [(10, 20, 30), (40, 50, 60)]),
    "palette, one is clear": (of_palette(transparency=1), "P", [(10, 20, 30), WHITE]),
    "grey of 8 bits": (encoded(Image.new("L", (1, 1), 77)), "L", [77]),
    "black and white": (encoded(Image.new("1", (1, 1), 1)), "1", [WHITE]),
    "four inks": (encoded(Image.new("CMYK", (1, 1), (0, 255, 255, 0)), "TIFF"), "CMYK", [RED]),
    "grey": (png(3, 1, 16, 0, words(0, 256, 65535)), "I;16", [0, 1, 255]),
    "grey, one value is clear": (png(3, 1, 16, 0, words(0, 257, 32768), clear(257)), "I;16", [0, 255, 128]),
    "grey, black is clear": (png(3, 1, 16, 0, words(0, 1, 65535), clear(0)), "I;16", [255, 0, 255]),
    "grey, no pixel is clear": (png(3, 1, 16, 0, words(0, 514, 771), clear(5)), "I;16", [0, 2, 3]),
    "grey with alpha": (png(2, 1, 16, 4, words(514, 65535, 514, 0)), "RGBA;16", [2, 255]),
    "colour": (png(1, 1, 16, 2, words(0, 512, 65535)), "RGB;16", [(0, 2, 255)]),
    "colour with alpha": (png(1, 1, 16, 6, words(0, 512, 65535, 0)), "RGBA;16", [WHITE]),
    "colour, one is clear": (
        png(2, 1, 16, 2, words(65535, 512, 0, 0, 0, 0), clear(65535, 512, 0)), "RGB;16", [WHITE, (0, 0, 0)]
    ),
    "colour, one is clear by its lower bytes": (
        png(3, 1, 16, 2, words(1000, 2000, 3000, 1001, 2000, 3000, 1000, 2000, 3001), clear(1000, 2000, 3000)),
        "RGB;16", [WHITE, (3, 7, 11), (3, 7, 11)]
    ),
    "two bits, one value is clear": (png(4, 1, 2, 0, b"\0\x1b", clear(1)), "L", [0, 255, 170, 255]),
    "four bits, one value is clear": (png(2, 1, 4, 0, b"\0\x5a", clear(5)), "L", [255, 170]),
    "one bit, black is clear": (png(8, 1, 1, 0, b"\0\xaa", clear(0)), "1", [255] * 8),
    "eight bits, one value is clear": (png(2, 1, 8, 0, b"\0\5\x09", clear(5)), "L", [255, 9]),
    "tiff of 16 bits": (tiff([0, 32768, 65535], "uint16"), "I;16", [0, 128, 255]),
    "tiff of 32 bits within 16": (tiff([0, 32768, 65535], "int32"), "I", [0, 128, 255]),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
def test_what_is_checked_is_what_a_model_gets(name: str) -> None:
    """8-bit RGB of every form; what is clear stands on white, 16 bits keep their range."""
    data, mode, wanted = FORMS[name]
    found = examine(data)
    assert pixels(data) == [(one,) * 3 if isinstance(one, int) else one for one in wanted]
    assert found.mode == mode and found.look == look(decode(data))


@pytest.mark.parametrize(
    "data",
    [
        tiff(values, "int32")
        for values in ([0, 100_000], [-1000, 3000], [70_000] * 2, [65_535, 65_536], [0, 255])
    ],
)
def test_values_without_an_agreed_range_are_refused_on_both_sides(data: bytes) -> None:
    """Clipped, they would be a white or a black sheet."""
    message = r"has 32-bit values of .* to .*, which have no standard 8-bit form; save it as 8-bit PNG"
    with pytest.raises(Unusable, match=message):
        examine(data)
    with refused(f"image d+ {message}"):
        render(recipe(), lambda digest: data)


@pytest.mark.parametrize("how", [{}, {"progressive": True}, {"restart_marker_rows": 2}, {"subsampling": 0}])
@pytest.mark.parametrize("mode", ["RGB", "L", "CMYK"])
def test_a_jpeg_without_the_mark_of_its_end_is_whole(mode: str, how: dict[str, Any]) -> None:
    """Of such a file all pixels are known, of one that is cut further not."""
    whole = encoded(NOISE.convert(mode), "JPEG", **how)
    for data in (whole[:-1], whole[:-2], whole[:-2] + b"\xff" * 3):
        assert decode(data).tobytes() == decode(whole).tobytes()
        assert examine(data).look == examine(whole).look
    for data in (whole[: len(whole) - cut] for cut in (9, 300, len(whole) // 2)):
        with pytest.raises(Unusable, match="truncated"):
            examine(data)
        with pytest.raises(OSError, match="truncated"):
            decode(data)


def test_a_progressive_jpeg_that_ends_between_two_scans_is_cut() -> None:
    whole = encoded(NOISE, "JPEG", progressive=True)
    scans = [place for place in range(len(whole)) if whole.startswith(b"\xff\xda", place)]
    assert len(scans) > 3
    for place in scans[1:]:
        table = whole.rfind(b"\xff\xc4", 0, place)
        with pytest.raises(Unusable, match="truncated"):
            examine(whole[:table])


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
    return {"images": ["d" * 64], "steps": [], **changes}


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P", "I;16", "L"])
def test_strips_have_the_pixels_of_the_whole(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    noise = Image.effect_noise((31, 20), 90)
    image = noise.convert("RGB") if mode == "RGBA" else noise
    image = image.convert(mode)
    if mode in ("RGBA", "LA"):
        image.putalpha(Image.effect_noise((31, 20), 90))
    data = encoded(image, **({"transparency": 7} if mode == "P" else {}))
    whole, looked, digest = decode(data), examine(data), pixel_digest([decode(data)])
    monkeypatch.setattr(opening, "_STRIP", 31 * 3)
    assert decode(data).tobytes() == whole.tobytes()
    assert examine(data) == looked and pixel_digest([decode(data)]) == digest


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"no image", "cannot be decoded .in none of the formats PNG, JPEG"),
        (encoded(Image.new("RGB", (64, 64), "red"))[:90], "cannot be decoded"),
        (
            encoded(Image.new("F", (2, 2)), "TIFF"),
            "has the pixel mode F, which has no standard 8-bit form; save",
        ),
    ],
)
def test_damage_is_told_in_the_same_words_in_every_run(data: bytes, message: str) -> None:
    told = set()
    for _ in range(2):
        with refused(f"image dddddddddddd {message}") as caught:
            render(recipe(), lambda digest: data)
        told.add(str(caught.value))
    assert len(told) == 1 and "0x" not in told.pop()


@pytest.mark.skipif(not REALDATA.is_dir(), reason="the reference photographs are not there")
def test_real_images_decode() -> None:
    files = sorted(path for path in REALDATA.rglob("*") if path.suffix in (".png", ".jpg"))
    assert len(files) > 20
    for path in files:
        image = decode(path.read_bytes())
        assert image.mode == "RGB" and min(image.size) > 0


def test_want_of_memory_is_no_damaged_image(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(self: Image.Image) -> None:
        raise MemoryError

    monkeypatch.setattr("PIL.PngImagePlugin.PngImageFile.load", load)
    with pytest.raises(MemoryError):
        render(recipe(), lambda _: encoded(Image.new("RGB", (4, 4))))


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
def test_bombs_and_formats_that_run_programs_are_no_images() -> None:
    with pytest.raises(ValueError, match="more than 89,478,485 pixels"):
        decode(encoded(Image.new("1", (10_000, 9_000))))
    with pytest.raises(OSError, match="cannot identify"):
        decode(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\nshowpage\n")
