"""Words painted into a picture, for typographic attacks (Goh et al. 2021).

The letters are Pillow's bitmap font, which is part of its code: no font of the machine, and no renderer of
outlines, can change a pixel.

Operations of picture recipes: what may be done to images before a model sees them.

Most work on each image by itself; a joining one makes one picture of two. All compute in whole numbers
or in Pillow's fixed-point arithmetic: the same pixels on every machine.
"""

import io
import textwrap
from collections.abc import Callable, Mapping, Sequence

from PIL import Image, ImageDraw, ImageFilter, ImageFont

from vouch.images import corruptions
from vouch.pipeline.errors import UserError, did_you_mean

COLOURS = (("black", "white"), ("white", "black"), ("yellow", "blue"), ("white", "red"))
"""Of the letters and of the sheet behind them, so that they can be read on any picture."""
SHARES = (5, 6, 7)  # width of the sheet in tenths of the picture's; it is half as high
PLACES = 9  # three rows of three
LOOKS = len(COLOURS) * len(SHARES) * PLACES
LONGEST = 80  # characters
_LINE = 16  # characters


def paintable(text: str) -> bool:
    """Whether the font has all letters of a text."""
    return bool(text.strip()) and text.isascii() and text.isprintable()


def paint_words(image: Image.Image, text: str, look: int) -> Image.Image:
    """The picture with a text, in one of LOOKS: place, size and colours.

    The sheet behind the letters covers the same pixels whatever they say.
    """
    look, colours = divmod(look % LOOKS, len(COLOURS))
    place, share = divmod(look, len(SHARES))
    letters, sheet = COLOURS[colours]
    width = max(1, image.width * SHARES[share] // 10)
    height = max(1, min(width, image.height) // 2)
    left = (image.width - width) * (place % 3) // 2
    top = (image.height - height) * (place // 3) // 2
    mask = _mask(text)
    if mask.width * height < mask.height * width:  # as large as fits
        size = max(1, mask.width * height // mask.height), height
    else:
        size = width, max(1, mask.height * width // mask.width)
    painted = image.copy()
    painted.paste(sheet, (left, top, left + width, top + height))
    corner = left + (width - size[0]) // 2, top + (height - size[1]) // 2
    painted.paste(letters, corner, mask.resize(size, Image.Resampling.BOX))
    return painted


def _mask(text: str) -> Image.Image:
    """White letters on black, a pixel of margin around them."""
    font = ImageFont.load_default_imagefont()
    lines = textwrap.wrap(text[:LONGEST], _LINE) if len(text) > _LINE else text.split()
    sizes = [font.getbbox(line)[2:] for line in lines]
    height = max(int(each[1]) for each in sizes)
    mask = Image.new("L", (max(int(each[0]) for each in sizes) + 2, height * len(lines) + 2))
    draw = ImageDraw.Draw(mask)
    for number, line in enumerate(lines):
        draw.text((1, 1 + height * number), line, 255, font)
    return mask


# By severity, 1 to 5, as in ImageNet-C (Hendrycks and Dietterich 2019), whose pictures are 224 pixels wide;
# PARC leaves its strengths open. A blur scales with the shorter side, so that small and large pictures
# lose as much.
BLUR = (1.0, 2.0, 3.0, 4.0, 6.0)  # standard deviation in pixels where the shorter side has BLUR_SIDE
BLUR_SIDE = 224
LIGHT = (0.1, 0.2, 0.3, 0.4, 0.5)  # added to every channel, as a share of the full range
QUALITY = (25, 18, 15, 10, 7)  # of JPEG
LEVELS = 5
GREY = (128, 128, 128)


def _blur(image: Image.Image, level: int) -> Image.Image:
    return image.filter(ImageFilter.GaussianBlur(BLUR[level] * min(image.size) / BLUR_SIDE))


def _brighten(image: Image.Image, level: int) -> Image.Image:
    # Channels alone, in whole numbers: by way of hue and saturation the last bits would be the machine's.
    more = round(255 * LIGHT[level])
    return image.point([min(255, value + more) for value in range(256)] * 3)


def _jpeg(image: Image.Image, level: int) -> Image.Image:
    """Encoded and decoded again, colours at half the resolution; libjpeg-turbo computes in whole numbers."""
    file = io.BytesIO()
    image.save(file, "JPEG", quality=QUALITY[level], subsampling="4:2:0", optimize=False, progressive=False)
    with Image.open(file, formats=("JPEG",)) as compressed:
        return compressed.convert("RGB")


def _rotate(image: Image.Image) -> Image.Image:
    """By 90 degrees clockwise; Pillow counts the other way."""
    return image.transpose(Image.Transpose.ROTATE_270)


def _blank(image: Image.Image) -> Image.Image:
    return Image.new("RGB", image.size, GREY)


def _side_by_side(left: Image.Image, right: Image.Image) -> Image.Image:
    if left.height != right.height:
        raise UserError(
            f"picture operation side_by_side joins pictures of one height, these have {left.height} and "
            f"{right.height} pixels; give the dataset a template with `pictures: merged`"
        )
    whole = Image.new("RGB", (left.width + right.width, left.height))
    whole.paste(left, (0, 0))
    whole.paste(right, (left.width, 0))
    return whole


LINE = (1, 8, 1)  # pixels of black, white and black between merged pictures


def _merged(left: Image.Image, right: Image.Image) -> Image.Image:
    """Both at their average height, a line between them, as CompBench shows pairs (Kil et al. 2024)."""
    height = max(1, (left.height + right.height) // 2)
    left, right = (_of_height(image, height) for image in (left, right))
    whole = Image.new("RGB", (left.width + sum(LINE) + right.width, height), "black")
    whole.paste(left, (0, 0))
    whole.paste("white", (left.width + LINE[0], 0, left.width + LINE[0] + LINE[1], height))
    whole.paste(right, (left.width + sum(LINE), 0))
    return whole


def _of_height(image: Image.Image, height: int) -> Image.Image:
    width = max(1, image.width * height // image.height)
    return image.resize((width, height), Image.Resampling.BICUBIC)


def _written(image: Image.Image, said: str) -> Image.Image:
    """said: `LOOK:TEXT`, the number of a look and what is painted."""
    look, _, text = said.partition(":")
    if not look.isdecimal() or not paintable(text):
        raise UserError(f"picture operation write:{said:.60} names no look and text; run `dvc repro`")
    return paint_words(image, text, int(look))


# name -> the revision that its recipes carry, and what makes the picture from an image and a level, 0 to 4
LEVELLED: Mapping[str, tuple[int, Callable[[Image.Image, int], Image.Image]]] = {
    "blur": (1, _blur),
    "brighten": (1, _brighten),
    "contrast": (1, corruptions.contrast),
    "fog": (1, corruptions.fog),
    "jpeg": (1, _jpeg),
    "motion": (1, corruptions.motion),
    "noise": (1, corruptions.noise),
    "pixelate": (1, corruptions.pixelate),
}
# name -> the revision, and what makes the picture from an image
PLAIN: Mapping[str, tuple[int, Callable[[Image.Image], Image.Image]]] = {
    "blank": (1, _blank),
    "rotate": (1, _rotate),
}
# name -> the revision, and what makes the picture from an image and what follows the colon in `NAME:TEXT`
SAYING: Mapping[str, tuple[int, Callable[[Image.Image, str], Image.Image]]] = {"write": (1, _written)}
# name -> the revision, and what makes one picture of a left and a right one
JOINING: Mapping[str, tuple[int, Callable[[Image.Image, Image.Image], Image.Image]]] = {
    "merged": (1, _merged),
    "side_by_side": (1, _side_by_side),
}


def revision_of(name: str) -> int:
    """The present revision of an operation. Raises UserError with the valid names."""
    known: dict[str, tuple[int, object]] = {**LEVELLED, **PLAIN, **JOINING, **SAYING}
    name = name.partition(":")[0]
    if name not in known:
        raise UserError(f"picture operation {name} is unknown; {did_you_mean(name, list(known))}")
    return known[name][0]


def apply(images: Sequence[Image.Image], name: str, severity: int, revision: int) -> list[Image.Image]:
    """The images after one step of a recipe. Raises UserError for a step that is not understood."""
    present = revision_of(name)
    if revision != present:
        raise UserError(
            f"picture operation {name} is at revision {present}, the prompts were made for {revision}; "
            "run `dvc repro` to make the prompts anew"
        )
    name, _, said = name.partition(":")
    if name in SAYING:
        return [SAYING[name][1](image, said) for image in images]
    if name in PLAIN:
        return [PLAIN[name][1](image) for image in images]
    if name in LEVELLED:
        if severity not in range(1, LEVELS + 1):
            raise UserError(
                f"picture severity {severity} is none of 1 to {LEVELS}; correct the file of "
                "vouch/prompts/variations that names it"
            )
        return [LEVELLED[name][1](image, severity - 1) for image in images]
    if len(images) != 2:
        raise UserError(
            f"picture operation {name} joins two images, the recipe has {len(images)}; run `dvc repro` to "
            "make the prompts anew"
        )
    return [JOINING[name][1](*images)]
