"""Begin with your own data and models: write a profile that names them and nothing else.

Every other key has a default; `vouch use` writes them all into params.yaml. A folder of data holds
items.jsonl and pictures (docs/add-a-dataset.md). A model is a folder of weights or of released answers,
a repository of the hub (pinned in models.lock; needs the network), or a server that speaks OpenAI's protocol
(an entry of models.lock; write URL#NAME if it serves several models).

Examples:
  vouch new mine --data ../kites --model ../weights/my-model
  vouch new mine --data ../kites --data ../signs --model hub:OWNER/NAME --model http://127.0.0.1:8000/v1
  then: vouch use mine; dvc repro
"""

import argparse
import os
import re
from pathlib import Path

from vouch.cli.entries import MODELINE, PROFILES, edited, editor, flow, with_defaults
from vouch.cli.lock import locked
from vouch.cli.printing import plain
from vouch.datasets.loaders import jsonl
from vouch.datasets.read.files import Source
from vouch.params.check import check_params
from vouch.params.project import MODELS, Models
from vouch.params.schema import FOLDER
from vouch.pipeline.errors import UserError
from vouch.pipeline.files import write_text
from vouch.pipeline.validation import NAME, validated
from vouch.pipeline.yaml12 import loads
from vouch.tables.published import model_slug

HUB = "hub:"
SERVER = re.compile(r"https?://")
ITEMS = jsonl.Settings().file
TEMPLATE = "plain"  # which adds no options to those that the user wrote


def _place(given: str) -> str:
    """A folder as it is from the working directory of the person, before the command changes to the root."""
    return given if given.startswith(HUB) or SERVER.match(given) else os.path.abspath(given)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `vouch new`."""
    parser.add_argument("name", help="of the profile: profiles/NAME.yaml")
    parser.add_argument(
        *("--data", "-d"),
        action="append",
        required=True,
        type=_place,
        metavar="FOLDER",
        help=f"holds {ITEMS}",
    )
    parser.add_argument(
        *("--model", "-m"), action="append", required=True, type=_place, metavar="FOLDER|hub:OWNER/NAME|URL"
    )


def run(options: argparse.Namespace) -> int:
    """Writes the profile, and entries of models.lock where models need them."""
    path = PROFILES / f"{options.name}.yaml"
    if not re.fullmatch(NAME, options.name):
        raise UserError(
            f"{options.name[:80]}: a name is a lower-case letter, then lower-case letters, digits, _"
        )
    if path.exists():
        raise UserError(f"{path}: is there already; take another name, or delete it")
    questions = [count(folder) for folder in options.data]
    datasets = {_slug(Path(folder)): _relative(folder) for folder in options.data}
    before = MODELS.read_text(encoding="utf-8")
    lock, models = before, dict[str, str]()
    for given in options.model:
        lock, name, source = _model(given, lock)
        models[name] = source
    _distinct(options, datasets, models)
    text = _profile(options.name, datasets, models)
    try:
        if lock != before:
            write_text(MODELS, lock)
        check_params(loads(with_defaults(text, str(path)), str(path)), str(path))
    except UserError:
        write_text(MODELS, before)
        raise
    write_text(path, text)
    told = ", ".join(f"{n} questions of {name}" for name, n in zip(datasets, questions, strict=True))
    print(f"new: {path}: {plain(told)}, for {plain(', '.join(models))}")
    print(
        f"new: `vouch use {options.name}` switches to it, `dvc repro` runs it and builds reports/index.html"
    )
    return 0


def count(folder: str) -> int:
    """Questions in a folder of data. Raises UserError where there are none."""
    path = Path(folder) / ITEMS
    if not path.is_file():
        what = "no such file" if Path(folder).is_dir() else "no such folder"
        raise UserError(f"{path}: {what}; --data names a folder that holds {ITEMS} (docs/add-a-dataset.md)")
    found = jsonl.count(Source(Path(folder)), "", jsonl.Settings())
    if not found:
        raise UserError(f"{path}: is empty; put one JSON object per line into it (docs/add-a-dataset.md)")
    return found


def _relative(folder: str) -> str:
    return Path(os.path.relpath(folder)).as_posix()


def _slug(folder: Path) -> str:
    return model_slug(folder.name)


def _model(given: str, lock: str) -> tuple[str, str, str]:
    """models.lock with the entry that a model needs, its name, and its source in params.yaml."""
    if given.startswith(HUB):
        repo = given.removeprefix(HUB)
        known = validated(Models, loads(lock, str(MODELS)), str(MODELS)).models
        there = [n for n, one in known.items() if one.source.kind == "hub" and one.source.repo == repo]
        name = there[0] if there else model_slug(repo.rpartition("/")[2])
        if not there and name in known:
            raise UserError(
                f"{MODELS}: {name} is another model; rename that entry, or add this one by "
                f"`vouch lock NAME --repo {repo}`"
            )
        if not there or not known[name].pinned:
            lock, _ = locked(lock, name, None if there else repo, None)
        return lock, name, str(MODELS)
    if SERVER.match(given):
        return _of_server(given, lock)
    if not Path(given).exists():
        raise UserError(f"{given}: no such folder; give a folder, {HUB}OWNER/NAME or the address of a server")
    return lock, _slug(Path(given)), _relative(given)


def _of_server(given: str, lock: str) -> tuple[str, str, str]:
    url, _, name = given.partition("#")
    if not name:
        from vouch.models.server.listing import served

        names = served(url)
        if len(names) != 1:
            listed = ", ".join(names[:10]) or "none"
            raise UserError(f"{url}: serves {len(names)} models ({listed}); choose one, {url}#NAME")
        (name,) = names
    document = editor().load(lock)
    slug = model_slug(name)
    entry = document["models"].get(slug)
    if entry is None:
        document["models"].fa.set_block_style()
        document["models"][slug] = {"engine": "openai", "source": flow(kind="server", url=url, name=name)}
    elif entry["source"].get("url") != url or entry["source"].get("name") != name:
        raise UserError(
            f"{MODELS}: {slug} is another model; rename that entry, or name this one by hand there"
        )
    return edited(document), slug, str(MODELS)


def _distinct(options: argparse.Namespace, datasets: dict[str, str], models: dict[str, str]) -> None:
    for kind, given, found in (("--data", options.data, datasets), ("--model", options.model, models)):
        if len(found) < len(given):
            raise UserError(f"{kind}: two of {len(given)} have the same name; rename a folder")


def _profile(name: str, datasets: dict[str, str], models: dict[str, str]) -> str:
    document = editor().load(
        f"{MODELINE}../{FOLDER}/params.json\n"
        "# Data and models; every other key has a default, which `vouch use` writes out (docs/profiles.md).\n"
        f"profile: {name}\ndatasets: {{}}\nmodels: {{}}\n"
    )
    for section in (document["datasets"], document["models"]):
        section.fa.set_block_style()
    entries = {key: flow(source=source, template=TEMPLATE) for key, source in datasets.items()}
    document["datasets"].update(entries)
    document["models"].update(models)
    return edited(document)
