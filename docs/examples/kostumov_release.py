"""Lays out what Kostumov et al. released, as the profile `released` reads it (docs/tutorial-papers.md).

    git clone https://github.com/EnSec-AI/VLM-Uncertainty-Bench ../bench
    python docs/examples/kostumov_release.py ../bench ../released mmbench [MODEL ...]

The release has output/MODEL/DATASET.pkl: a list of rows, each with question, options, answer and logits. The
pickles are copied; the questions of the first one become items-DATASET.parquet. No code in a pickle is run.
"""

import argparse
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from vouch.models.released.logits import unpickle


def main() -> None:
    """Writes the folder."""
    parser = argparse.ArgumentParser()
    parser.add_argument("release", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("dataset")
    parser.add_argument("models", nargs="*", help="default: all of the release")
    given = parser.parse_args()
    models = given.models or sorted(
        path.parent.name for path in given.release.glob(f"output/*/{given.dataset}.pkl")
    )
    wanted = [given.release / "output" / model / f"{given.dataset}.pkl" for model in models]
    if not wanted or (missing := [path for path in wanted if not path.is_file()]):
        parser.error(
            f"{missing[0] if wanted else given.release / 'output'}: not here; give the clone of the release"
        )
    (given.folder / "pickles").mkdir(parents=True, exist_ok=True)
    for model, source in zip(models, wanted, strict=True):
        shutil.copy(source, given.folder / "pickles" / f"{model}.{given.dataset}.pkl")
    rows = unpickle((given.folder / "pickles" / f"{models[0]}.{given.dataset}.pkl").read_bytes())
    items = pa.Table.from_pylist([_item(row) for row in rows])
    pq.write_table(items, given.folder / f"items-{given.dataset}.parquet")
    print(f"{given.folder}: {len(rows)} rows of {given.dataset}, answered by {', '.join(models)}")


def _item(row: dict[str, Any]) -> dict[str, Any]:
    """A row without its logits; a missing text, NaN in the release, is None."""
    return {name: None if value != value else value for name, value in row.items() if name != "logits"}


if __name__ == "__main__":
    main()
