"""Logs as files, and the one line in which a log is refused."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import vouch

Line = dict[str, Any]


def written(path: Path, lines: Sequence[Line]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(json.dumps(line, ensure_ascii=False) for line in lines), "utf-8")
    return path


def refused(*paths: Path, **more: Any) -> str:
    """The one line in which a log is refused."""
    with pytest.raises(ValueError) as error:
        vouch.from_log(*paths, **more)
    message = str(error.value)
    assert "\n" not in message and len(message) < 500, message
    return message.replace(str(paths[0].parent) + "/", "")
