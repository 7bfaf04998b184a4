"""How a server is asked: everything that the environment says and that changes no answer.

VOUCH_SERVER_KEY_NAME       the key for one model, its name in capitals
OPENAI_API_KEY              the key where that is not set, for api.openai.com or the host of OPENAI_BASE_URL
                            alone, with OPENAI_ORG_ID and OPENAI_PROJECT_ID where they are set
VOUCH_SERVER_CONCURRENCY    requests under way at once, default 16
VOUCH_SERVER_RATE           most requests a minute, retries included; default: no limit
VOUCH_SERVER_TRIES          how often one question is tried, default 6
VOUCH_SERVER_TIMEOUT        seconds without an answer after which a try has failed, default 120
VOUCH_PRICE_INPUT, _OUTPUT  price of a million tokens, for the cost in the run record
"""

import json
import math
import re
from collections.abc import Mapping
from ipaddress import ip_address
from urllib.parse import quote, urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from vouch.pipeline.errors import UserError

HIDDEN = "[key]"
OPENAI = "https://api.openai.com/v1"
_ESCAPE = re.compile(r"\\\\|\\u00([2-7][0-9A-Fa-f])")  # of JSON: a backslash, or a printable ASCII character
_VARIABLES = {
    name: f"VOUCH_SERVER_{name.upper()}" for name in ("concurrency", "rate", "tries", "timeout")
} | {name: f"VOUCH_{name.upper()}" for name in ("price_input", "price_output")}
_BILLED = {"organization": "OPENAI_ORG_ID", "project": "OPENAI_PROJECT_ID"}
SHORTEST_SECRET = 8  # a shorter key is a placeholder such as EMPTY, which is also a word


class Settings(BaseModel):
    """key: None where the server wants none. organization, project: whom OpenAI bills, None elsewhere.

    rate: requests a minute. timeout: seconds. prices: of a million tokens.
    backoff: seconds before the second try; each later wait is twice as long.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    key: str | None = Field(default=None, repr=False)
    organization: str | None = None
    project: str | None = None
    concurrency: int = Field(default=16, ge=1, le=1024)
    rate: float = Field(default=math.inf, ge=0.001)
    tries: int = Field(default=6, ge=1, le=100)
    timeout: float = Field(default=120.0, ge=0.1)
    backoff: float = 1.0
    price_input: float | None = Field(default=None, ge=0)
    price_output: float | None = Field(default=None, ge=0)

    def redact(self, text: str) -> str:
        """A server's text without the key, plain or escaped, in case the server repeats it."""
        if self.key is None or len(self.key) < SHORTEST_SECRET:
            return text
        text = _ESCAPE.sub(self._plain, text)
        for form in (
            self.key,
            json.dumps(self.key)[1:-1],
            self.key.replace("/", "\\/"),
            quote(self.key, safe=""),
        ):
            text = text.replace(form, HIDDEN)
        return text

    def _plain(self, escape: re.Match[str]) -> str:
        """A character of the key for its JSON escape, any other escape as it is."""
        char = chr(int(escape[1], 16)) if escape[1] else "\\"
        return char if char in (self.key or "") and char not in '"\\' else escape[0]


def read_settings(model: str, url: str, environment: Mapping[str, str]) -> Settings:
    """The settings for a model at an address. Raises UserError that names the variable, never the key."""
    openai = urlsplit(url).netloc in {
        urlsplit(one).netloc for one in (OPENAI, environment.get("OPENAI_BASE_URL", "").strip()) if one
    }
    given = {name: environment.get(name, "").strip() for name in (*_VARIABLES.values(), *_BILLED.values())}
    if bool(given["VOUCH_PRICE_INPUT"]) != bool(given["VOUCH_PRICE_OUTPUT"]):
        raise UserError("VOUCH_PRICE_INPUT, VOUCH_PRICE_OUTPUT: set both prices, or neither")
    fields = _VARIABLES | (_BILLED if openai else {})
    values = {field: given[name] for field, name in fields.items() if given[name]}
    try:
        return Settings(key=_key(model, url, openai, environment), **values)
    except ValidationError as error:
        first = error.errors()[0]
        name = _VARIABLES[str(first["loc"][0])]
        raise UserError(f"{name}: {first['msg']}, found {given[name][:40]}; set it anew") from None


def _key(model: str, url: str, openai: bool, environment: Mapping[str, str]) -> str | None:
    """openai: whether the common key may go to this address."""
    own = f"VOUCH_SERVER_KEY_{model.upper()}"
    name = "OPENAI_API_KEY" if openai and not environment.get(own, "").strip() else own
    key = environment.get(name, "").strip() or None
    if key is None:
        return None
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise UserError(f"{name}: a key is plain ASCII without spaces; set it anew")
    if urlsplit(url).scheme != "https" and not _is_loopback(urlsplit(url).hostname or ""):
        raise UserError(f"{url}: {name} would be sent unencrypted; give an https address, or unset the key")
    return key


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
