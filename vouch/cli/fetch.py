"""`vouch fetch`: the datasets and weights that a profile reads from the network."""

import argparse
import sys
from importlib import import_module
from pathlib import Path

from vouch.cli.command import argument, command
from vouch.cli.printing import plain
from vouch.datasets.fetch.download import Fetched, fetch
from vouch.datasets.fetch.origin import REMOTE, Origin
from vouch.models.lock_entry import HubSource, Program
from vouch.models.pins import fetch as fetch_weights
from vouch.models.pins import part_folder
from vouch.params.check import check_project
from vouch.params.project import MODELS, Project, locked_models
from vouch.pipeline.errors import UserError, check_name


@command(
    "fetch",
    "download the datasets and weights that the profile needs",
    argument("names", names="sources", nargs="*", metavar="NAME", help="datasets and models; default: all"),
)
def run(options: argparse.Namespace) -> int:
    """Download what the profile reads from the network: datasets with an `origin`, and weights of hub models.

    Datasets go into .vouch/sources, weights into the hub's own cache. Files that are already there are
    verified and left alone. If something cannot be fetched, a line says so, and the others go on. Without a
    pinned commit or digest (`unpinned`) the newest version is taken, and its commit or digest is shown.

    Examples:
      vouch fetch
      vouch fetch mmbench llava_v1_5_7b
    """
    project = check_project()
    origins = {
        name: entry.origin
        for name, entry in project.datasets.items()
        if entry.origin and entry.source == REMOTE
    }
    models, manual = hub_models(project), to_bring(project)
    for name in options.names:
        check_name("dataset or model", name, [*origins, *models, *manual], "params.yaml: nothing to fetch")
    wanted = options.names or [*origins, *models, *manual]
    missing = 0
    for name in wanted:
        try:
            if name in manual:
                raise UserError(manual[name])
            if name in origins:
                outcome = describe(origins[name], fetch(name, origins[name]))
            else:
                outcome = _fetched(models[name], locked_models()[name].program)
        except UserError as error:
            missing += 1
            print(plain(f"fetch: {name}: {error}"), file=sys.stderr, flush=True)
            continue
        print(f"fetch: {name}: {outcome}", flush=True)
    if not wanted:
        print("fetch: this profile reads nothing from the network")
    if missing:
        print(f"fetch: {missing} of {len(wanted)} could not be fetched", file=sys.stderr)
    return 1 if missing else 0


def _fetched(source: HubSource, program: Program | None) -> str:
    """Fetches a model, and what it is built of; says what came. Raises UserError."""
    folder = fetch_weights(source.repo, source.revision, everything=program is not None)
    for part in program.parts.values() if program else ():
        part_folder(part)
    return f"{source.repo} at {folder.name}"


def to_bring(project: Project) -> dict[str, str]:
    """By name, what to do about data that the profile needs, but that is not here and cannot be fetched."""
    advice = {}
    for name, entry in project.datasets.items():
        if entry.source == REMOTE:
            if entry.origin is None:
                where = getattr(import_module(f"vouch.datasets.loaders.{entry.loader}"), "PLACE", "")
                advice[name] = (
                    where or "has no `origin` to fetch it from; add one, or name a folder as `source`"
                )
        elif not Path(entry.source).exists():
            advice[name] = f"put it at {entry.source} by hand (docs/datasets.md)"
    for name, path in project.sources.items():
        made = name in project.train or path == str(MODELS)
        if not made and not Path(path).exists():
            advice[name] = f"put its folder at {path} by hand"
    return advice


def hub_models(project: Project) -> dict[str, HubSource]:
    """The models of the profile whose weights come from the hub."""
    locked = locked_models()
    sources = {name: locked[name].source for name, path in project.sources.items() if path == str(MODELS)}
    return {name: source for name, source in sources.items() if isinstance(source, HubSource)}


def describe(origin: Origin, fetched: Fetched) -> str:
    """Says what was fetched and, if the profile does not pin it, the commit or digests that would."""
    text = f"{origin}: {len(fetched.files)} files, {fetched.size:,} bytes"
    if origin.pinned:
        return text
    if fetched.revision:
        return f"{text}; it is at {fetched.revision}, `vouch lock` pins it"
    digests = ", ".join(f"{one.name} has SHA-256 {one.digest}" for one in fetched.files)
    return f"{text}; {digests}, `vouch lock` pins it"
