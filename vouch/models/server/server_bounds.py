"""A server's answer is read up to a limit, so that it can at worst be refused."""

from collections.abc import AsyncIterator
from typing import cast

import httpx2

MAX_BODY = 8 * 2**20  # a text of 4096 tokens with their log-probabilities takes less than one


class AnswerTooLarge(httpx2.RequestError):
    """More than MAX_BODY bytes."""


class AnswerCompressed(httpx2.RequestError):
    """Compressed, though it was asked not to be: what it unpacks to is not known."""


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = MAX_BODY
        async for chunk in self._stream:
            left -= len(chunk)
            if left < 0:
                raise AnswerTooLarge(f"more than {MAX_BODY:,} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


async def bounded(response: httpx2.Response) -> None:
    """A hook of the client: bounds a response before it is read."""
    if response.headers.get("content-encoding", "identity") != "identity":
        raise AnswerCompressed("compressed")
    response.stream = _Bounded(cast(httpx2.AsyncByteStream, response.stream))
