"""Fetch from the DVC remote everything that belongs to one model: weights, responses, scores.

DVC cannot pull a folder or a pattern of loop stages, so their full names are spelled out to it.
"""

import argparse
import subprocess

from stages.dag import read_dag
from stages.runtime.errors import UserError, did_you_mean

_OF_A_MODEL = ("zoo", "pin", "ingest", "extract", "score", "score_released")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `vouch pull`."""
    parser.add_argument("model", help="slug of the model, as in params.yaml")
    parser.add_argument("-r", "--remote", help="name of the DVC remote, default: the default remote")


def run(options: argparse.Namespace) -> int:
    """Pulls the model's stages; returns DVC's exit status."""
    names = stages_of(options.model)
    command = ["dvc", "pull", *(["--remote", options.remote] if options.remote else []), *names]
    print(f"pull: {', '.join(names)}")
    try:
        remotes = subprocess.run(["dvc", "remote", "list"], capture_output=True, text=True, check=False)
        if not remotes.stdout.strip():
            raise UserError("dvc: no remote to pull from; name one with `dvc remote add --default NAME URL`")
        return subprocess.run(command, check=False).returncode
    except FileNotFoundError:
        raise UserError("dvc: no such command; activate the environment (`. .venv/bin/activate`)") from None


def stages_of(model: str) -> list[str]:
    """Full names of the stages that make something of one model. Raises UserError for an unknown one."""
    names: dict[str, list[str]] = {}
    for stage in read_dag().stages.values():
        group, _, keys = stage.name.partition("@")
        if group in _OF_A_MODEL:
            names.setdefault(keys.split("-")[0], []).append(stage.name)
    if model not in names:
        raise UserError(f"params.yaml: no model {model} in this profile; {did_you_mean(model, list(names))}")
    return names[model]
