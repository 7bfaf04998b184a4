"""Bring what the present profile reads from the network to this machine: datasets with an `origin`, into
.vouch/sources, and the weights of the hub's models, into the hub's cache. What is there already is verified
and left alone. Without a pinned commit or digest (`unpinned`) the newest edition is taken, and named."""

import argparse

from stages.pin.config import HubSource
from stages.pin.hub import fetch as fetch_weights
from stages.runtime.check import MODELS, Models, Project, check_project
from stages.runtime.errors import UserError, did_you_mean
from stages.sources.fetching.locate import fetch
from stages.sources.fetching.origin import REMOTE, Origin
from stages.sources.fetching.store import Found
from stages.yaml12 import load


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `vouch fetch`."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="datasets and models; default: all")


def run(options: argparse.Namespace) -> int:
    """Fetches, and says what each name is now."""
    project = check_project()
    origins = {
        name: entry.origin
        for name, entry in project.datasets.items()
        if entry.origin and entry.source == REMOTE
    }
    models = hub_models(project)
    for name in options.names:
        if name not in origins and name not in models:
            known = did_you_mean(name, [*origins, *models])
            raise UserError(f"params.yaml: nothing to fetch for {name} in this profile; {known}")
    wanted = options.names or [*origins, *models]
    for name in wanted:
        if name in origins:
            print(f"fetch: {name}: {describe(origins[name], fetch(name, origins[name]))}", flush=True)
        else:
            source = models[name]
            folder = fetch_weights(source.repo, source.revision)
            print(f"fetch: {name}: {source.repo} at {folder.name}", flush=True)
    if not wanted:
        print("fetch: this profile reads nothing from the network")
    return 0


def hub_models(project: Project) -> dict[str, HubSource]:
    """The models of the profile whose weights come from the hub."""
    locked = Models.model_validate(load(MODELS)).models
    sources = {name: locked[name].source for name in project.pin}
    return {name: source for name, source in sources.items() if isinstance(source, HubSource)}


def describe(origin: Origin, found: Found) -> str:
    """What was fetched, in words, with what pins it where the profile does not."""
    said = f"{origin}: {len(found.files)} files, {found.size:,} bytes"
    if origin.pinned:
        return said
    if found.revision:
        return f"{said}; it is at {found.revision}, `vouch lock` pins it"
    digests = ", ".join(f"{one.name} has SHA-256 {one.digest}" for one in found.files)
    return f"{said}; {digests}, `vouch lock` pins it"
