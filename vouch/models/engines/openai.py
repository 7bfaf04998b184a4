"""Any server that speaks OpenAI's chat completions: vLLM, llama.cpp, hosted models. See docs/add-a-model.md.

letters     one request of one token; see vouch/models/server/completions.py for what a letter's value is
text        one request for the greedy text and for each sample
likelihood  one request for the prompt and for each option, of servers that score given texts (vLLM)
"""

import os

from vouch.models.requests.config import Config
from vouch.models.requests.engine import Engine
from vouch.models.server.settings import read_settings
from vouch.pipeline.errors import UserError
from vouch.tables.answered import Pin

REVISION = 1
SETTINGS = ()


def load(pin: Pin, config: Config) -> Engine:
    """The pinned server. Raises UserError where the pin or the environment does not say how to ask it."""
    if not pin.source.url or not pin.source.name:
        raise UserError(
            f"models.lock: {pin.model}: engine openai wants source: {{kind: server, url: ..., name: ...}}"
        )
    from vouch.models.server.engine import ServerEngine

    settings = read_settings(pin.model, pin.source.url, os.environ)
    return ServerEngine(pin.source.url, pin.source.name, settings, pin.reasoning, pin.template_kwargs)
