"""A profile's `released` section written out: its datasets, and the models whose logits the folder holds."""

from pathlib import Path
from typing import Any

from vouch.models.released.files import released_models
from vouch.pipeline.errors import UserError, did_you_mean
from vouch.tables.published import model_slug


def expand_released(document: dict[str, Any], where: str) -> None:
    """Replaces `released: {path, datasets}` by `datasets` and `models`, in place.

    path: a folder laid out as VLM-Uncertainty-Bench releases its files. datasets: of its, all where none are
    named. Raises UserError where the folder holds no such files.
    """
    section = dict(document.pop("released"))
    unknown = section.keys() - {"datasets", "path"}
    if unknown or "path" not in section:
        raise UserError(
            f"{where}: released must be {{path: FOLDER, datasets: [NAME, ...]}}, found keys {sorted(section)}"
        )
    folder = Path(str(section["path"]))
    here = [path.stem.removeprefix("items-") for path in sorted(folder.glob("items-*.parquet"))]
    if not here:
        raise UserError(
            f"{folder}/items-DATASET.parquet: no such file; point released.path to a folder laid out like "
            "VLM-Uncertainty-Bench's (docs/add-a-model.md): `vouch use released --set released.path=FOLDER`"
        )
    for dataset in section.get("datasets") or here:
        if dataset not in here:
            raise UserError(
                f"{folder}/items-{dataset}.parquet: no such file; {did_you_mean(str(dataset), here)}"
            )
        models = released_models(folder, dataset)
        if not models:
            raise UserError(
                f"{folder}: no logits-{dataset}/*.parquet and no pickles/*.{dataset}.pkl; nothing to score"
            )
        document["datasets"][model_slug(dataset)] = {
            "loader": "released",
            "source": str(folder),
            "template": "kostumov",
            "settings": {"dataset": dataset},
        }
        document["models"].update(dict.fromkeys(sorted(models), str(folder)))
