"""Images and servers: how an image is sent, and whether a server's model takes any."""

import asyncio
import base64
import io
import os
from typing import TYPE_CHECKING

from vouch.models.server.client import (
    Client,
    GivenUp,
    RequestTally,
    ServerSettings,
    TurnedDown,
    read_settings,
)
from vouch.models.server.completions import BadAnswer
from vouch.models.server.problems import takes_no_images
from vouch.pipeline.errors import UserError

if TYPE_CHECKING:
    from PIL.Image import Image

_QUICK = 1  # of zlib: 4 x faster than Pillow's default, and a sixth more bytes
_SIDE = 64  # pixels of the image that a server is tried with; some refuse smaller ones
_SECONDS = 20.0


def data_url(image: "Image") -> str:
    """An image as a PNG in base64: its pixels and nothing else, the same bytes every time."""
    bare = image.copy()
    bare.info = {}  # Pillow would write colour profiles and resolutions of the source file
    sink = io.BytesIO()
    bare.save(sink, "PNG", compress_level=_QUICK)
    return "data:image/png;base64," + base64.b64encode(sink.getvalue()).decode("ascii")


def served_without_images(model: str, url: str, name: str) -> bool | None:
    """Whether a server, asked with the model's key, says that it takes no images; None without an answer."""
    return refuses_images(url, name, read_settings(model, url, os.environ))


def refuses_images(url: str, name: str, settings: ServerSettings) -> bool | None:
    """Whether a server says that its model takes no images, tried with one image and one token.

    None if it gives no answer, or another error. False is not certain: it may have left the image out.
    """
    from PIL import Image

    shown = {"type": "image_url", "image_url": {"url": data_url(Image.new("RGB", (_SIDE, _SIDE), "grey"))}}
    content = [shown, {"type": "text", "text": "What is it?"}]
    request = {"model": name, "messages": [{"role": "user", "content": content}], "max_tokens": 1}
    once = settings.model_copy(update={"tries": 1, "timeout": min(settings.timeout, _SECONDS)})

    async def refused() -> bool | None:
        client = Client(url, once, RequestTally())
        try:
            await client.ask(request, lambda answer: answer)
        except TurnedDown as error:
            return takes_no_images(str(error)) or None
        except (GivenUp, BadAnswer, UserError):
            return None
        finally:
            await client.close()
        return False

    return asyncio.run(refused())
