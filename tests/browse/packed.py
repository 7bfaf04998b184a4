"""What a page finds in the files of `browse`, read by Python's own gzip."""

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any

from stages.browse import REPORTS


def packed(dataset: str, name: str) -> Any:
    """The value in a file, which must be one call that hands over the value under its name."""
    text = (REPORTS / dataset / f"{name}.js").read_text("ascii")
    match = re.fullmatch(r'vouch\.put\("([^"]+)","([A-Za-z0-9+/=]+)"\);\n', text)
    assert match and match[1] == f"{dataset}/{name}"
    return json.loads(gzip.decompress(base64.b64decode(match[2])))


def all_pages(dataset: str) -> list[dict[str, Any]]:
    """Every page in order."""
    return [packed(dataset, path.stem) for path in sorted((REPORTS / dataset).glob("page-*.js"))]


def names(folder: Path) -> set[str]:
    """Names of files without their numbers."""
    return {re.sub(r"-\d+", "", path.name) for path in folder.iterdir()}
