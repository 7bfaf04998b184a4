"""Secrets of the environment and of addresses, taken out of what people are told."""

import os
import re
from collections.abc import Mapping

SHORTEST = 8  # characters; a shorter value (EMPTY, none) is a placeholder, and may be a word
_NAME = re.compile(  # also in one word with what it is of (PGPASSWORD); PWD alone is the folder
    r"(?:^|_)(?:KEY|PASS|SSHPASS|[A-Z0-9]*(?:APIKEY|TOKEN|SECRET|PASSWORD|PASSWD))(?:_|$)|\w_(?:PWD|PAT)$",
    re.IGNORECASE,
)
_USER = re.compile(r"(?<=://)[^\s/'\"@]*(?=@)")
_QUERY = re.compile(
    r"(?<=[?&])([\w-]*(?:key|token|secret|password|signature|credential|sig)=)[^\s&'\"]+", re.I
)


def hidden(text: str, environment: Mapping[str, str] = os.environ) -> str:
    """A text without the values of variables that are named as secrets, and without those of addresses.

    `https://user:password@host/?token=x` becomes `https://[hidden]@host/?token=[hidden]`.
    """
    for name, value in environment.items():
        if len(value) >= SHORTEST and value in text and _NAME.search(name):
            text = text.replace(value, f"[{name}]")
    return _QUERY.sub(r"\1[hidden]", _USER.sub("[hidden]", text))
