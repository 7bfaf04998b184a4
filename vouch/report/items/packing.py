"""Values as script files: pages opened from a disk may run scripts, but not read files.

A file is one call, `vouch.put(name, text)`, where text is a value as JSON, compressed by gzip, in base64. So
nothing of what others wrote stands in a script as it is. pyarrow brings its own zlib: the same bytes
wherever its release is the same.
"""

import base64
import json
from pathlib import Path
from typing import Any

import pyarrow as pa

_CODEC = pa.Codec("gzip", compression_level=6)
_SYSTEM = 9  # place of the byte that names the operating system, in gzip's header (RFC 1952)
_UNKNOWN = b"\xff"


def text(value: Any) -> str:
    """A value as JSON on one line. Raises ValueError for NaN and infinities."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def script(name: str, json_text: str) -> str:
    """The script that hands over a value, given as JSON, under a name."""
    # JSON may hold half a surrogate pair, which has no UTF-8 form.
    packed = _CODEC.compress(json_text.encode("utf-8", "replace"), asbytes=True)
    packed = packed[:_SYSTEM] + _UNKNOWN + packed[_SYSTEM + 1 :]
    return f'vouch.put({json.dumps(name)},"{base64.b64encode(packed).decode("ascii")}");\n'


def write(folder: Path, dataset: str, name: str, json_text: str) -> None:
    """Writes the file `NAME.js`; its value comes under `DATASET/NAME`."""
    path = folder / f"{name}.js"
    path.write_text(script(f"{dataset}/{name}", json_text), encoding="ascii", newline="\n")


def cut(words: str | None, most: int) -> str | None:
    """A text of others at a length that a page can bear; says how much is missing."""
    if words is None or len(words) <= most:
        return words
    return f"{words[:most]} … ({len(words) - most:,} more characters)"
