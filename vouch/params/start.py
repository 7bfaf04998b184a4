"""The start of every script of stages/ and of the Snakefile: a check of params.yaml and models.lock.

The check imports the configuration of every stage, which takes long for a small stage. It is skipped if
the same files passed it before, with the same code and versions.
"""

import hashlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from vouch.pipeline.dag import DEFINITION, Dag, read_dag
from vouch.pipeline.errors import UserError
from vouch.pipeline.files import sealed, unsealed, write_json
from vouch.pipeline.run import FILES, Run
from vouch.pipeline.run import run_stage as run_checked

PASSED = Path(".vouch/checked.json")
_CODE = Path(__file__).parents[1]


def check_once() -> None:
    """Runs `check_project`, unless it passed before with these files, code and versions. Raises UserError."""
    check_place()
    seen = _seen()
    if (unsealed(PASSED) or {}).get("seen") == seen:
        return
    from vouch.params.check import check_project

    check_project()
    if _seen() == seen:  # nothing was edited during the check
        with suppress(OSError):  # with a full disk, the check only runs again
            write_json(PASSED, sealed({"seen": seen}))


def check_place() -> None:
    """Raises UserError in a folder where DVC fails.

    DVC takes braces in the path of its cache for placeholders, and writes paths as UTF-8.
    """
    here = os.getcwd()
    if here.encode(errors="replace").decode() != here:
        raise UserError(f"{here}: DVC fails in a folder whose path is not UTF-8; rename or move it")
    if "{" in here or "}" in here:
        raise UserError(f"{here}: DVC fails in a folder with `{{` or `}}` in its path; rename or move it")


def _seen() -> str:
    """A digest of everything that the check depends on: files that people edit, sizes and times of code."""
    from importlib.metadata import version

    digest = hashlib.sha256(f"{sys.version} {version('pydantic')}".encode())
    for name in (*FILES, str(DEFINITION)):
        data = Path(name).read_bytes() if os.path.isfile(name) else b""
        digest.update(f"{name} {len(data)}\n".encode() + data)
    for root in sorted({os.path.realpath("vouch"), str(_CODE.resolve())}):
        for entry in _files(root):
            stat = entry.stat()
            line = f"{entry.path} {stat.st_size} {stat.st_mtime_ns} {stat.st_ctime_ns}\n"
            digest.update(os.fsencode(line))
    return digest.hexdigest()


def _files(folder: str) -> Iterator[os.DirEntry[str]]:
    """All files in a folder and below it, except bytecode, in a fixed order."""
    if not os.path.isdir(folder):
        return
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda one: one.name):
            if entry.is_dir(follow_symlinks=False):
                if entry.name != "__pycache__":
                    yield from _files(entry.path)
            elif entry.is_file():
                yield entry


def run_stage(name: str, body: Callable[[Run], None]) -> NoReturn:
    """Checks params.yaml and models.lock, and runs `body` as the stage whose command this process is.

    Exits with 0, or with one line on stderr that says what is wrong, where, and what to do.
    """
    run_checked(name, body, check_once)


def start_snakemake(
    config: Mapping[str, Any], main: bool, dry_run: bool, quiet: bool = False
) -> tuple[Dag, dict[str, dict[str, Any]]]:
    """The stages and their `resources:` by name; every stamp is set so that Snakemake plans the stale stages.

    config: of Snakemake. main: False in a job, whose Snakemake has done this already; jobs only read with the
    standard library and PyYAML. quiet: whether Snakemake's header is left out. Exits with one line on stderr
    if something is wrong, before jobs wait in a queue only to be refused.
    """
    from vouch.pipeline import resources, runners, state
    from vouch.pipeline.errors import UserError, refused_by_system

    try:
        if main:
            check_once()
        dag = read_dag()
        resources_of = resources.planner({key: config[key] for key in config if key != "image"})
        resources_by_stage = {name: resources_of(stage) for name, stage in dag.stages.items()}
        if main:
            runners.mend()
            if not dry_run:
                runners.enter()
            state.settle(dag)
            runners.shorten_messages(quiet, [*dag.groups(), *(stage.slug for stage in dag.stages.values())])
    except UserError as error:
        raise SystemExit(f"vouch: {error}") from None
    except OSError as error:
        raise SystemExit(f"vouch: {refused_by_system(error)}") from None
    return dag, resources_by_stage
