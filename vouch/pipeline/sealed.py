"""JSON that shows whether it is as it was written: a mapping with the digest of its own values beside them.

For what no other record covers: receipts, the memory of digests, modes. Whoever reads a file whose seal does
not fit goes on as if it were not there.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_SEAL = "seal"


def sealed(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values with their seal, to be written as JSON."""
    as_read = json.loads(json.dumps(values))  # keys that are no strings become strings before they are sorted
    return {**values, _SEAL: _digest(as_read)}


def unsealed(path: Path) -> dict[str, Any] | None:
    """The values in a file; None where it is missing, or not as it was written."""
    try:
        values = json.loads(path.read_bytes())
        return values if values.pop(_SEAL) == _digest(values) else None
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None


def _digest(values: Mapping[str, Any]) -> str:
    """Of values as JSON gives them back."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
