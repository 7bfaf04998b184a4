"""Small pictures in every format that is read."""

import io

from PIL import Image

from vouch.tables.asked import FORMATS


def picture(kind: str, mode: str = "RGB") -> bytes:
    """An encoded picture of 8 x 6 pixels."""
    sink = io.BytesIO()
    Image.linear_gradient("L").resize((8, 6)).convert(mode).save(sink, kind)
    return sink.getvalue()


PNG = picture("PNG")
ALL = [
    *(picture(kind) for kind in FORMATS),
    picture("PNG", "P"),
    picture("PNG", "RGBA"),
    picture("TIFF", "CMYK"),
    picture("TIFF", "I"),
    picture("TIFF", "1"),
]
