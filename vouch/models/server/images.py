"""How an image is sent to a server."""

import base64
import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image

_QUICK = 1  # of zlib: 4 x faster than Pillow's default, and a sixth more bytes


def data_url(image: "Image") -> str:
    """An image as a PNG in base64: its pixels and nothing else, the same bytes every time."""
    bare = image.copy()
    bare.info = {}  # Pillow would write colour profiles and resolutions of the source file
    sink = io.BytesIO()
    bare.save(sink, "PNG", compress_level=_QUICK)
    return "data:image/png;base64," + base64.b64encode(sink.getvalue()).decode("ascii")
