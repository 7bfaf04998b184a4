"""Write the report's tables as a dataset of the hub: a Parquet file and a configuration for each, and a card.

A repository that is not there yet is made, and is private. The token stands in the environment, as HF_TOKEN.

Examples:
  vouch publish hub me/my-results
  vouch publish hub --folder results           write the files only, and send nothing
"""

import argparse
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import yaml

from vouch.cli.printing import file_argument, plain, warn_if_outdated
from vouch.library.results import PUBLISHED, results
from vouch.pipeline.errors import UserError
from vouch.pipeline.files import replacing, write_text
from vouch.pipeline.hub import BRANCH, one_line
from vouch.pipeline.intact import intact

if TYPE_CHECKING:
    import pandas as pd

REPORTS = Path("reports")
TOKEN = "HF_TOKEN"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `vouch publish hub`."""
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("repo", nargs="?", metavar="OWNER/NAME", help="a dataset of the hub")
    where.add_argument("--folder", type=file_argument, help="write the files here, and send nothing")


def run(options: argparse.Namespace) -> int:
    """Writes the files, and sends them."""
    for path in (REPORTS / "tables").glob("*.csv"):
        intact(path)
    try:
        # `datasets` loads no table without a row
        tables = {name: table for name, table in results(REPORTS).items() if len(table)}
    except FileNotFoundError as error:
        raise UserError(str(error)) from None
    if options.folder:
        others = {path.name for path in options.folder.glob("*")} - {"README.md", Path(PUBLISHED).parts[0]}
        if others:
            raise UserError(f"{plain(options.folder)}: holds {plain(min(others))}; name a folder of its own")
        write(options.folder, tables, options.folder.name)
        print(f"hub: {len(tables)} tables in {plain(options.folder)}")
    else:
        print(f"hub: {len(tables)} tables in {_send(options.repo, tables)}")
    warn_if_outdated()
    return 0


def write(folder: Path, tables: "dict[str, pd.DataFrame]", name: str) -> None:
    """The files of a dataset that `datasets.load_dataset(name, TABLE)` and `vouch.results(folder)` read."""
    import datasets

    datasets.disable_progress_bars()
    for table, frame in tables.items():
        with replacing(folder / PUBLISHED.format(table)) as temporary:
            datasets.Dataset.from_pandas(frame, preserve_index=False).to_parquet(temporary)
    write_text(folder / "README.md", card(tables, name))


def card(tables: "dict[str, pd.DataFrame]", name: str) -> str:
    """Metadata between lines of dashes, then Markdown."""
    configs: list[dict[str, Any]] = [
        {"config_name": table, "data_files": PUBLISHED.format(table)} for table in tables
    ]
    first = "headline" if "headline" in tables else next(iter(tables))
    configs[list(tables).index(first)]["default"] = True
    metadata = yaml.safe_dump({"tags": ["vouch"], "configs": configs}, sort_keys=False)
    rows = "".join(
        f"| {table} | {len(frame):,} | {', '.join(frame.columns)} |\n" for table, frame in tables.items()
    )
    return (
        f"---\n{metadata}---\n\n# How far can these models' answers be trusted?\n\n"
        "Tables of a report of Vouch: accuracy, prediction sets, calibration, robustness and rankings "
        "of vision-language models.\n\n"
        f'```python\ndatasets.load_dataset("{name}", "{first}", split="train")\n```\n\n'
        f"| table | rows | columns |\n|---|---:|---|\n{rows}"
    )


def _send(repo: str, tables: "dict[str, pd.DataFrame]") -> str:
    from huggingface_hub import HfApi

    token = os.environ.get(TOKEN)
    if not token:
        raise UserError(f"{repo}: no token; set {TOKEN} to one that may write there")
    hub = HfApi(token=token)
    with TemporaryDirectory() as folder, one_line(repo, BRANCH, f"vouch publish hub {repo}", "the command"):
        write(Path(folder), tables, repo)
        address = hub.create_repo(repo, repo_type="dataset", private=True, exist_ok=True)
        hub.upload_folder(
            repo_id=repo, folder_path=folder, repo_type="dataset", commit_message="Results of Vouch",
            delete_patterns=PUBLISHED.format("*"),
        )  # fmt: skip
    return str(address)
