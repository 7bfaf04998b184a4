"""Any server that speaks OpenAI's chat completions: vLLM, llama.cpp, hosted models. See docs/servers.md.

letters     one request of one token; see stages/extract/server_reading.py for what a letter's value is
text        one request for the greedy text and for each sample
likelihood  refused: such a server does not score texts that it is given
"""

import os

from stages.contracts.pins import Pin
from stages.extract.config import Config
from stages.extract.engine import Engine
from stages.extract.server_engine import ServerEngine
from stages.extract.server_settings import read_settings
from stages.runtime.errors import UserError

REVISION = 1
SETTINGS = ()


def load(pin: Pin, config: Config) -> Engine:
    """The pinned server. Raises UserError where the pin or the environment does not say how to ask it."""
    if not pin.source.url or not pin.source.name:
        raise UserError(
            f"models.lock: {pin.model}: engine openai wants source: {{kind: server, url: ..., name: ...}}"
        )
    return ServerEngine(pin.source.url, pin.source.name, read_settings(pin.model, pin.source.url, os.environ))
