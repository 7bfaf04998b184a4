"""A line of JSON as an object, and nothing that JSON does not know or leaves open."""

import json
from typing import Any

from vouch.datasets.raw import Unusable


def json_object(line: bytes) -> dict[str, Any]:
    """The object on a line. Raises Unusable for anything else, NaN and keys that stand twice included."""
    try:
        value = json.loads(line.decode("utf-8"), parse_constant=_constant, object_pairs_hook=_unique)
    except UnicodeDecodeError as error:
        raise Unusable(f"not UTF-8 text (byte {error.start + 1} of the line)") from None
    except Unusable:
        raise
    except json.JSONDecodeError as error:
        raise Unusable(f"not JSON ({error.msg} at character {error.pos + 1})") from None
    except (ValueError, RecursionError):
        raise Unusable("not JSON that can be read (a number too long or brackets too deep)") from None
    if not isinstance(value, dict):
        raise Unusable(f"holds a {type(value).__name__}, not an object; write {{...}} on every line")
    return value


def _constant(text: str) -> Any:
    raise Unusable(f"holds {text}, which is not JSON; use null or a number")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise Unusable(f"key {key!r:.60} stands twice in one object")
            seen.add(key)
    return values
