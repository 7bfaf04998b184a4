"""Every kind of image decoded to the same 8-bit RGB, and recipes of operations on images."""

import io
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.datasets.test_bad_sources import chunk, png
from vouch.datasets.raw import Unusable
from vouch.datasets.read.images import examine
from vouch.images import opening
from vouch.images.copies import look
from vouch.images.opening import decode, pixel_digest, render
from vouch.pipeline.errors import UserError


def drawn(width: int = 64, height: int = 48) -> Image.Image:
    """Bars in red, a slope down in green and one across in blue."""
    down, across = np.mgrid[:height, :width]
    values = np.stack([across // 8 % 2 * 200, down * 255 // height, across * 255 // width], axis=2)
    return Image.fromarray(values.astype(np.uint8))


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


def words(*values: int) -> bytes:
    return b"\0" + struct.pack(f">{len(values)}H", *values)


def clear(*values: int) -> bytes:
    """The chunk of a PNG that names its transparent colour."""
    return chunk(b"tRNS", struct.pack(f">{len(values)}H", *values))


def tiff(values: list[int], kind: str) -> bytes:
    return encoded(Image.fromarray(np.array([values], dtype=kind)), "TIFF")


WHITE = (255, 255, 255)
DEEP: dict[str, tuple[bytes, str, list[int | tuple[int, ...]]]] = {
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


@pytest.mark.parametrize("name", DEEP)
def test_what_is_checked_is_what_a_model_gets(name: str) -> None:
    """Samples of other than 8 bits, and clear colours among them, which stand on white."""
    data, mode, wanted = DEEP[name]
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
    with pytest.raises(UserError, match=f"image d+ {message}"):
        render(recipe(), lambda digest: data)


@pytest.mark.parametrize("how", [{}, {"progressive": True}, {"restart_marker_rows": 2}, {"subsampling": 0}])
@pytest.mark.parametrize("mode", ["RGB", "L", "CMYK"])
def test_a_jpeg_without_the_mark_of_its_end_is_whole(mode: str, how: dict[str, Any]) -> None:
    """Of such a file all pixels are known, of one that is cut further not."""
    whole = encoded(Image.effect_noise((150, 97), 60).convert(mode), "JPEG", **how)
    for data in (whole[:-1], whole[:-2], whole[:-2] + b"\xff" * 3):
        assert decode(data).tobytes() == decode(whole).tobytes()
        assert examine(data).look == examine(whole).look
    for data in (whole[: len(whole) - cut] for cut in (9, 300, len(whole) // 2)):
        with pytest.raises(Unusable, match="truncated"):
            examine(data)
        with pytest.raises(OSError, match="truncated"):
            decode(data)


def test_a_progressive_jpeg_that_ends_between_two_scans_is_cut() -> None:
    whole = encoded(Image.effect_noise((150, 97), 60), "JPEG", progressive=True)
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


def step(operation: str, severity: int = 0, revision: int = 1) -> dict[str, Any]:
    return {"operation": operation, "severity": severity, "revision": revision}


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


def test_recipe_of_the_original() -> None:
    data = encoded(Image.new("RGB", (2, 2), "red"))
    assert render(recipe(), lambda digest: data).getpixel((0, 0)) == (255, 0, 0)


def test_two_images_side_by_side() -> None:
    sources = {"l": Image.new("RGB", (2, 3), "red"), "r": Image.new("RGB", (1, 3), "blue")}
    sources |= {"low": Image.new("RGB", (1, 2), "blue")}

    def joined(*names: str) -> Image.Image:
        return render(recipe(images=names, steps=[step("side_by_side")]), lambda name: encoded(sources[name]))

    image = joined("l", "r")
    assert image.size == (3, 3)
    assert [image.getpixel((x, 1)) for x in range(3)] == [(255, 0, 0), (255, 0, 0), (0, 0, 255)]
    assert joined("r", "l").getpixel((0, 0)) == (0, 0, 255)
    with pytest.raises(UserError, match="joins images of one height, these have 3 and 2 pixels"):
        joined("l", "low")


def merged(left: Image.Image, right: Image.Image, *before: dict[str, Any]) -> Image.Image:
    sources = {"l": encoded(left), "r": encoded(right)}
    return render(recipe(images=["l", "r"], steps=[*before, step("merged")]), sources.__getitem__)


def test_merged_images_have_their_average_height_and_a_line_between_them() -> None:
    whole = merged(Image.new("RGB", (20, 10), "red"), Image.new("RGB", (30, 31), "blue"))
    assert whole.size == (40 + 10 + 19, 20), "20 x 2 and 30 x 20/31, and the line"
    row = [whole.getpixel((x, 7)) for x in range(whole.width)]
    black, white = (0, 0, 0), (255, 255, 255)
    assert row == [(255, 0, 0)] * 40 + [black] + [white] * 8 + [black] + [(0, 0, 255)] * 19
    assert all(whole.getpixel((45, y)) == white for y in range(20))


def test_merged_images_keep_their_bytes_at_their_revision() -> None:
    assert pixel_digest([merged(drawn(), drawn(30, 31))])[:16] == "d716c62019645428"
    same = np.asarray(merged(drawn(), drawn()))
    assert np.array_equal(same[:, :64], np.asarray(drawn())), "of one height nothing is scaled"
    assert np.array_equal(same[:, 74:], np.asarray(drawn()))


@pytest.mark.parametrize("join", ["side_by_side", "merged"])
@pytest.mark.parametrize("before", [("rotate", 0), ("blur", 5), ("brighten", 2), ("blank", 0)])
def test_steps_before_a_joining_one_work_on_each_image(join: str, before: tuple[str, int]) -> None:
    """What is done before joining leaves left and right in their places and does not reach across."""
    sources = {"l": encoded(drawn()), "r": encoded(Image.new("RGB", (64, 48), "red"))}
    alone = [
        np.asarray(render(recipe(images=[name], steps=[step(*before)]), sources.__getitem__))
        for name in sources
    ]
    steps = [step(*before), step(join)]
    whole = np.asarray(render(recipe(images=["l", "r"], steps=steps), sources.__getitem__))
    width = alone[0].shape[1]
    assert np.array_equal(whole[:, :width], alone[0]) and np.array_equal(whole[:, -width:], alone[1])
    assert whole.shape[1] == 2 * width + (10 if join == "merged" else 0)


def test_steps_are_done_in_their_order() -> None:
    sources = {"l": encoded(drawn()), "r": encoded(Image.new("RGB", (64, 48), "red"))}

    def made(*steps: dict[str, Any]) -> Image.Image:
        return render(recipe(images=["l", "r"], steps=steps), sources.__getitem__)

    assert made(step("rotate"), step("side_by_side")).size == (96, 64)
    assert made(step("side_by_side"), step("rotate")).size == (48, 128)
    twice = render(recipe(steps=[step("rotate"), step("rotate")]), lambda _: sources["l"])
    assert np.array_equal(np.asarray(twice), np.asarray(drawn())[::-1, ::-1])


NOTHING = encoded(Image.new("RGB", (2, 3)))


@pytest.mark.parametrize(
    ("changes", "data", "message"),
    [
        (
            {"steps": [step("blurr")]},
            NOTHING,
            "image operation blurr is unknown; did you mean blur",
        ),
        ({"steps": [step("rotate", 0, 2)]}, NOTHING, "rotate is at revision 1, the prompts were made for 2"),
        ({"steps": [step("merged")]}, NOTHING, "merged joins two images, the recipe has 1; run"),
        ({"images": ["d", "e"]}, NOTHING, "recipe of 2 images gives 2 images instead of one; run"),
        ({"images": []}, NOTHING, "recipe of 0 images gives 0 images"),
        ({}, b"no picture", "image dddddddddddd cannot be decoded"),
        ({}, encoded(Image.new("RGB", (64, 64), "red"))[:90], "image dddddddddddd cannot be decoded"),
        (
            {},
            encoded(Image.new("F", (2, 2)), "TIFF"),
            "image dddddddddddd has the pixel mode F, which has no standard 8-bit form; save",
        ),
    ],
)
def test_recipes_that_cannot_be_rendered(changes: dict[str, Any], data: bytes, message: str) -> None:
    with pytest.raises(UserError, match=message):
        render(recipe(**changes), lambda digest: data)


def shown(operation: str, severity: int = 0) -> Image.Image:
    """The image after an operation."""
    data = encoded(drawn())
    return render(recipe(steps=[step(operation, severity)]), lambda digest: data)


def test_an_image_is_turned_clockwise() -> None:
    before, after = drawn(), shown("rotate")
    assert after.size == (48, 64)
    assert after.getpixel((47, 0)) == before.getpixel((0, 0)), "the top left corner goes to the top right"
    assert after.getpixel((0, 0)) == before.getpixel((0, 47))


def test_light_is_added_and_stops_at_white() -> None:
    before, after = (np.asarray(one, dtype=int) for one in (drawn(), shown("brighten", 3)))
    assert np.array_equal(after, np.minimum(before + 76, 255))


def test_nothing_is_left_on_a_blank_sheet() -> None:
    sheet = shown("blank")
    assert sheet.size == (64, 48) and sheet.getcolors() == [(64 * 48, (128, 128, 128))]


def test_a_blur_grows_with_its_severity_and_hurts_small_and_large_images_alike() -> None:
    def lost(side: int, severity: int) -> float:
        half = Image.new("L", (side, side), 0)
        half.paste(255, (0, 0, side // 2, side))
        data = encoded(half)
        blurred = render(recipe(steps=[step("blur", severity)]), lambda digest: data)
        row = np.asarray(blurred, dtype=float)[side // 2, :, 0]
        return float(((row > 10) & (row < 245)).mean())

    large = [lost(1024, severity) for severity in range(1, 6)]
    assert large == sorted(set(large))
    assert [lost(side, 5) for side in (128, 256, 512)] == pytest.approx([large[4]] * 3, abs=0.02)


def test_compression_takes_more_with_every_level() -> None:
    before = np.asarray(drawn(), dtype=float)
    lost = [
        np.abs(np.asarray(shown("jpeg", severity), dtype=float) - before).mean() for severity in range(1, 6)
    ]
    assert lost == sorted(set(lost)) and lost[0] > 0
    assert shown("jpeg", 5).size == (64, 48)
    file = io.BytesIO()
    drawn().save(file, "JPEG", quality=15, subsampling=2)
    assert np.array_equal(np.asarray(shown("jpeg", 3)), np.asarray(Image.open(file))), "level 3 is quality 15"


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

    sink = io.BytesIO()
    Image.new("RGB", (4, 4)).save(sink, "PNG")
    monkeypatch.setattr("PIL.PngImagePlugin.PngImageFile.load", load)
    with pytest.raises(MemoryError):
        render(recipe(), lambda digest: sink.getvalue())


def test_what_is_said_of_damage_is_the_same_in_every_run() -> None:
    told = []
    for _ in range(2):
        with pytest.raises(UserError) as caught:
            render(recipe(), lambda _: b"x")
        told.append(str(caught.value))
    assert "none of the formats PNG, JPEG" in told[0] and "0x" not in told[0] and told[0] == told[1]


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
def test_bombs_and_formats_that_run_programs_are_no_images() -> None:
    with pytest.raises(ValueError, match="more than 89,478,485 pixels"):
        decode(encoded(Image.new("1", (10_000, 9_000))))
    with pytest.raises(OSError, match="cannot identify"):
        decode(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\nshowpage\n")
