"""Words painted into a picture, for typographic attacks (Goh et al. 2021).

The letters are Pillow's bitmap font, which is part of its code: no font of the machine, and no renderer of
outlines, can change a pixel.
"""

import textwrap

from PIL import Image, ImageDraw, ImageFont

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


def write(image: Image.Image, text: str, look: int) -> Image.Image:
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
