"""Fetch stored results from the DVC remote: everything, or the weights, pin and answers of one model.

DVC verifies each object as it comes; what is missing or damaged is named at the end.

Examples:
  vouch store pull
  vouch store pull llava_v1_5_7b --remote results
"""

import argparse
import os
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from vouch.cli.printing import and_more, check_name
from vouch.pipeline.dag import Dag, read_dag
from vouch.pipeline.dvc_store import addresses, cache, repository
from vouch.pipeline.errors import UserError
from vouch.pipeline.state import read_lock

_OF_A_MODEL = ("train", "pin", "extract")
STORAGE = Path(".dvc/storage")  # the remote inside this repository


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `vouch store pull`."""
    parser.add_argument("model", nargs="?", help="a model of params.yaml; default: everything")
    parser.add_argument("-r", "--remote", help="name of the DVC remote, default: the default remote")


def run(options: argparse.Namespace) -> int:
    """Pulls; returns 0 where everything came."""
    dag = read_dag()
    names = list(dag.stages) if options.model is None else stages_of(dag, options.model)
    remote = ["--remote", options.remote] if options.remote else []
    targets = [] if options.model is None else names
    urls = addresses()
    if not urls:
        raise UserError("dvc: no remote to pull from; name one with `dvc remote add --default NAME URL`")
    _refuse_unwritable(out for name in names for out in dag.stages[name].outs)
    try:
        status = subprocess.run(["dvc", "pull", *remote, *targets], check=False).returncode
    except FileNotFoundError:
        raise UserError("dvc: no such command; activate the environment (`. .venv/bin/activate`)") from None
    if status:
        _explain(names, options.remote, urls)
    return status


def _refuse_unwritable(outs: Iterable[str]) -> None:
    """Raises UserError where DVC could not write: what it says then names no folder, or blames the remote."""
    with repository() as repo:
        places = [Path(repo.tmp_dir or ".dvc/tmp"), Path(repo.cache.local.path)]
    for place in dict.fromkeys([*places, *(Path(out).parent for out in outs)]):
        there = next(path for path in (place.absolute(), *place.absolute().parents) if path.exists())
        if not os.access(there, os.W_OK):
            raise UserError(
                f"{there}: you may not write here, as a pull must; pull in a clone of your own, or have this "
                "folder made writable"
            )


def _explain(names: list[str], remote: str | None, urls: Mapping[str, str]) -> None:
    """Raises UserError that names what did not come, where something is missing. urls: of the remotes."""
    records = read_lock()
    missing = [
        (path, digest)
        for name in names
        if name in records
        for path, digest in sorted(records[name].outs.items())
        if not Path(path).exists()
    ]
    if missing:
        path, digest = missing[0]
        name = f" {remote}" if remote else ""
        mend = f"`vouch store verify --remote{name} --mend` removes what is damaged there"
        if Path(urls.get(remote or "", "")).resolve() == STORAGE.resolve():
            mend = f"`git checkout -- {STORAGE}` brings back what came with this repository"
        raise UserError(
            f"{_inside(path, str(digest))}{and_more(missing)}: its object {digest} is missing or damaged in "
            f"the remote; {mend}, `dvc repro` computes it anew, `dvc push` then completes the remote"
        )


def _inside(path: str, digest: str) -> str:
    """The path, or of a folder whose list came the first file that did not."""
    if not digest.endswith(".dir"):
        return path
    with cache() as store:
        lacking = store.lacking(digest)
    return f"{path}/{lacking[0]}" if lacking else path


def stages_of(dag: Dag, model: str) -> list[str]:
    """Full names of the stages that make something of one model: DVC pulls no pattern of loop stages.

    Raises UserError for an unknown model.
    """
    names: dict[str, list[str]] = {}
    for stage in dag.stages.values():
        group, _, keys = stage.name.partition("@")
        if group in _OF_A_MODEL:
            names.setdefault(keys.split("-")[0], []).append(stage.name)
    check_name("model", model, list(names))
    return names[model]
