"""Any server that speaks OpenAI's chat completions: vLLM, llama.cpp, hosted models. See docs/add-a-model.md.

letters     one request of one token; see vouch/models/server/server_reading.py for what a letter's value is
text        one request for the greedy text and for each sample
likelihood  refused: such a server does not score texts that it is given
"""

import os

from vouch.models.requests.config import Config
from vouch.models.requests.engine import Engine
from vouch.models.server.server_engine import ServerEngine
from vouch.models.server.server_settings import read_settings
from vouch.pipeline.errors import UserError
from vouch.tables.pins import Pin

REVISION = 1
SETTINGS = ()


def load(pin: Pin, config: Config) -> Engine:
    """The pinned server. Raises UserError where the pin or the environment does not say how to ask it."""
    if not pin.source.url or not pin.source.name:
        raise UserError(
            f"models.lock: {pin.model}: engine openai wants source: {{kind: server, url: ..., name: ...}}"
        )
    return ServerEngine(pin.source.url, pin.source.name, read_settings(pin.model, pin.source.url, os.environ))
