"""Download what the profile reads from the network: datasets with an `origin`, and the weights of hub models.

Datasets go into .vouch/sources, weights into the hub's own cache. What is there already is verified and left
alone. What cannot be fetched is named, a line each, and the others go on. Without a pinned commit or digest
(`unpinned`) the newest edition is taken, and named.

Examples:
  vouch fetch
  vouch fetch mmbench llava_v1_5_7b
"""

import argparse
import sys
from importlib import import_module
from pathlib import Path

from vouch.cli.printing import check_name, plain
from vouch.datasets.fetch.download import Found
from vouch.datasets.fetch.hub import fetch
from vouch.datasets.fetch.origin import REMOTE, Origin
from vouch.models.lock_entry import HubSource
from vouch.models.pins import fetch as fetch_weights
from vouch.params.check import check_project
from vouch.params.project import MODELS, Project, locked_models
from vouch.pipeline.errors import UserError


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `vouch fetch`."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="datasets and models; default: all")


def run(options: argparse.Namespace) -> int:
    """Fetches, and says what each name is now; what does not come has its line, and the others go on."""
    project = check_project()
    origins = {
        name: entry.origin
        for name, entry in project.datasets.items()
        if entry.origin and entry.source == REMOTE
    }
    models, by_hand = hub_models(project), to_bring(project)
    for name in options.names:
        check_name("dataset or model", name, [*origins, *models, *by_hand], "params.yaml: nothing to fetch")
    wanted = options.names or [*origins, *models, *by_hand]
    away = 0
    for name in wanted:
        try:
            if name in by_hand:
                raise UserError(by_hand[name])
            if name in origins:
                said = describe(origins[name], fetch(name, origins[name]))
            else:
                source = models[name]
                said = f"{source.repo} at {fetch_weights(source.repo, source.revision).name}"
        except UserError as error:
            away += 1
            print(plain(f"fetch: {name}: {error}"), file=sys.stderr, flush=True)
            continue
        print(f"fetch: {name}: {said}", flush=True)
    if not wanted:
        print("fetch: this profile reads nothing from the network")
    if away:
        print(f"fetch: {away} of {len(wanted)} did not come", file=sys.stderr)
    return 1 if away else 0


def to_bring(project: Project) -> dict[str, str]:
    """What of the profile is not here and no program can fetch: name -> what to do."""
    found = {}
    for name, entry in project.datasets.items():
        if entry.source == REMOTE:
            if entry.origin is None:
                place = getattr(import_module(f"vouch.datasets.loaders.{entry.loader}"), "PLACE", "")
                found[name] = place or "no `origin` to fetch it from; add one, or name a folder as `source`"
        elif not Path(entry.source).exists():
            found[name] = f"put it at {entry.source} by hand (docs/datasets.md)"
    for name, path in project.sources.items():
        made = name in project.train or path == str(MODELS)
        if not made and not Path(path).exists():
            found[name] = f"put its folder at {path} by hand"
    return found


def hub_models(project: Project) -> dict[str, HubSource]:
    """The models of the profile whose weights come from the hub."""
    locked = locked_models()
    sources = {name: locked[name].source for name, path in project.sources.items() if path == str(MODELS)}
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
