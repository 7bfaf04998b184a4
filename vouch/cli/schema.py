"""Write the JSON schemas of params.yaml, models.lock and a line of items.jsonl into docs/schema.

Tables of the documentation that follow from declarations (conformal scores, metrics, rankers, uncertainty
estimates) are written again as well.

Editors that speak to yaml-language-server find them by the first line of params.yaml and of each profile, and
complete and check keys while you type. After a change of a parameter's model, write them again.

Examples:
  vouch schema
"""

import argparse

from vouch.params.schema import schemas
from vouch.pipeline.files import write_text


def arguments(parser: argparse.ArgumentParser) -> None:
    """None."""


def run(_options: argparse.Namespace) -> int:
    """Writes those that differ, and says which."""
    made = schemas()
    stale = [path for path, text in made.items() if not path.is_file() or path.read_text("utf-8") != text]
    for path in stale:
        write_text(path, made[path])
    print(f"schema: {', '.join(map(str, stale)) or 'all are up to date'}")
    return 0
