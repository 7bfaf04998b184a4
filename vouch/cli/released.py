"""A profile's `released` section written out: one dataset, one `ingest` entry per file of logits."""

from pathlib import Path
from typing import Any

from vouch.pipeline.errors import UserError
from vouch.tables.published import model_slug

_FORMS = ("logits-{dataset}/*.parquet", "pickles/*.{dataset}.pkl")


def expand_released(document: dict[str, Any], where: str) -> None:
    """Replaces `released: {dataset, path}` by datasets, ingest and the list of models, in place.

    A model with a parquet file and a pickle is read from the parquet file. Raises UserError where the
    folder holds no such files.
    """
    section = dict(document["released"])
    unknown = section.keys() - {"dataset", "path"}
    if unknown or section.keys() != {"dataset", "path"}:
        raise UserError(
            f"{where}: released must be {{dataset: NAME, path: FOLDER}}, found keys {sorted(section)}"
        )
    dataset, folder = str(section["dataset"]), Path(str(section["path"]))
    if not (folder / f"items-{dataset}.parquet").is_file():
        raise UserError(
            f"{folder}/items-{dataset}.parquet: no such file; point released.path to a folder laid out like "
            "VLM-Uncertainty-Bench's (docs/add-a-dataset.md): `vouch use released --set released.path=FOLDER`"
        )
    files: dict[str, str] = {}
    for form in _FORMS:
        for file in sorted(folder.glob(form.format(dataset=dataset))):
            name = file.name.removesuffix(".pkl").removesuffix(f".{dataset}").removesuffix(".parquet")
            files.setdefault(model_slug(name), str(file))
    if not files:
        raise UserError(
            f"{folder}: no logits-{dataset}/*.parquet and no pickles/*.{dataset}.pkl; nothing to ingest"
        )
    entry = {
        "loader": "released",
        "source": str(folder),
        "template": "kostumov",
        "settings": {"dataset": dataset},
    }
    document["datasets"][model_slug(dataset)] = entry
    document["ingest"] = {
        f"{model}-{model_slug(dataset)}": {"model": model, "dataset": model_slug(dataset), "file": file}
        for model, file in sorted(files.items())
    }
    document["released"] = sorted(files)
