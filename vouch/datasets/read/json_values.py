"""What stands under a key of a line of JSON, read as an item needs it.

key: for the person who is told what is wrong. Every function raises Unusable.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from vouch.datasets.raw import Unusable


def references(value: Any, key: str) -> list[str]:
    """A text or several, of which each is a right answer."""
    texts = value if isinstance(value, list) else [value]
    if not all(isinstance(text, str) for text in texts):
        raise Unusable(f"{key} is not a text or a list of texts; put numbers in quotes")
    return texts


def text(values: Mapping[str, Any], key: str) -> str:
    """A text that must be there."""
    value = values[key]
    if not isinstance(value, str):
        raise Unusable(f"{key} is a {type(value).__name__}, not a text")
    return value


def options(value: Any, key: str) -> list[str | None]:
    """The options in their order; null for a missing text."""
    if not isinstance(value, list):
        raise Unusable(f"{key} is a {type(value).__name__}, not a list of texts")
    for index, option in enumerate(value):
        if option is not None and not isinstance(option, str):
            raise Unusable(f"{key}[{index}] is a {type(option).__name__}, not a text; put it in quotes")
    return value


def turns(value: Any, key: str) -> list[str]:
    """Ids of the earlier lines of a conversation, first to last."""
    ids = [] if value is None else value
    if not isinstance(ids, list) or not all(type(one) in (str, int) for one in ids):
        raise Unusable(f"{key} is not a list of ids of earlier lines")
    return [str(one) for one in ids]


def exchange(value: Any, key: str) -> list[str | None]:
    """For each image the path of the one that can take its place, or null."""
    paths = [] if value is None else value
    if not isinstance(paths, list) or not all(path is None or isinstance(path, str) for path in paths):
        raise Unusable(f"{key} is not a list of paths and nulls, one for each image")
    return paths


def group(value: Any, key: str) -> str:
    """The name of a group."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise Unusable(f"{key} is a {type(value).__name__}, not a text or an integer that names a group")
    return str(value)


def answers(value: Any, options: Sequence[str | None], key: str) -> list[int]:
    """0-based indices of the options that are right; given as indices, texts or letters, one or several."""
    given = value if isinstance(value, list) else [value]
    return [_index(one, options, key) for one in given]


def _index(value: Any, options: Sequence[str | None], key: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if not isinstance(value, str):
        raise Unusable(f"{key} is a {type(value).__name__}, not an index, a letter or an option's text")
    protocols = {index for index, option in enumerate(options) if option == value}
    letter = ord(value) - ord("A") if len(value) == 1 else -1
    if 0 <= letter < len(options):
        protocols.add(letter)
    if not protocols:
        raise Unusable(f"{key} {value!r:.80} is neither a letter nor a text of its {len(options)} options")
    if len(protocols) > 1:
        letters = " or ".join(chr(ord("A") + index) for index in sorted(protocols))
        raise Unusable(f"{key} {value!r:.80} can mean option {letters}; give the 0-based index")
    return protocols.pop()
