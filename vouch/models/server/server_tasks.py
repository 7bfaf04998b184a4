"""Requests under way at a server: waiting for some of them, and ending all."""

import asyncio
from typing import TypeVar

from vouch.models.server.server_client import Client

Done = TypeVar("Done")
Tasks = set[asyncio.Task[Done]]


async def some_done(running: Tasks[Done]) -> tuple[Tasks[Done], Tasks[Done]]:
    """Those that are done, at least one, and those that still run."""
    return await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)


async def stop(client: Client, running: Tasks[Done]) -> None:
    """Breaks off what still runs, and closes the connections."""
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    await client.close()
