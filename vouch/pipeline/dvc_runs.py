"""DVC's records of runs, by which it finds results of other parameters in its cache again.

DVC writes one when a stage runs, none when results are pulled. dvc.lock alone knows of these, and forgets
them with the next profile: then they would be computed anew although the cache holds them.
"""

from collections.abc import Iterable
from copy import deepcopy
from pathlib import Path
from typing import Any

from vouch.pipeline.dvc_objects import repository
from vouch.pipeline.files import write_text


def remember(entries: Iterable[dict[str, Any]]) -> None:
    """Writes a record for each entry of dvc.lock that has none. Raises UserError."""
    from io import StringIO

    from dvc.stage.cache import _get_cache_hash
    from ruamel.yaml import YAML

    with repository() as repo:
        for entry in entries:
            key = _get_cache_hash(deepcopy(entry), key=True)  # which puts names in the place of its outputs
            path = Path(repo.stage_cache._get_cache_path(key, _get_cache_hash(entry)))
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                text = StringIO()
                YAML().dump(entry, text)
                write_text(path, text.getvalue())
