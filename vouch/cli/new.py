"""`vouch new`: a profile of your own data and models."""

import argparse
import os
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from vouch.cli.command import FILES, argument, command
from vouch.cli.lock import locked
from vouch.cli.printing import plain, plain_lines
from vouch.cli.schema import FOLDER
from vouch.cli.use import MODELINE, PROFILES, as_params, edited, editor, flow, flowing
from vouch.datasets.loaders import jsonl
from vouch.datasets.read.files import SourceFiles
from vouch.datasets.read.forms import ENDINGS
from vouch.models.kinds import cannot_give, check_model_type, sees_images
from vouch.models.lock_entry import SERVER_ENGINE, LockEntry
from vouch.models.pins import PICKLED, check_model_folder, is_model
from vouch.models.released.files import INDEX, answer_files
from vouch.params.check import TRAINED, check_params
from vouch.params.project import MODELS, PARAMS, Models
from vouch.pipeline.errors import UserError, did_you_mean
from vouch.pipeline.files import write_text
from vouch.pipeline.validation import NAME, validated
from vouch.pipeline.yaml12 import load, loads
from vouch.tables.answered import WEIGHT_SUFFIX, read_json
from vouch.tables.asked import LETTERS, OUTPUTS, TEXT
from vouch.tables.results import model_slug

HUB = "hub:"
SERVER = re.compile(r"https?://")
ITEMS = jsonl.Settings().file
LINES = ".jsonl"
TABLES = [ending for ending in ENDINGS if not ending.startswith(".json")]
IMAGES = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff")
HOSTS = ("huggingface.co", "hf.co")
TEMPLATE = "plain"  # adds no options to those that the user wrote


def _absolute(given: str) -> str:
    """A folder as an absolute path: the command changes to the root of the checkout before it runs."""
    if not given.strip():
        raise argparse.ArgumentTypeError("is empty")
    if re.match(r"[\w.-]+:\d+(/|$)", given) and not os.path.exists(given):
        raise argparse.ArgumentTypeError(f"{given}: write the address of a server with http:// before it")
    away = given.startswith(HUB) or SERVER.match(given)
    return given if away else os.path.abspath(os.path.expanduser(given))


@command(
    "new",
    "begin with your own data and models (writes a profile)",
    argument("name", help="name of the profile: profiles/NAME.yaml"),
    argument(
        *("--data", "-d"),
        names=FILES,
        action="append",
        required=True,
        type=_absolute,
        metavar="FOLDER|FILE",
        help=f"a folder that holds {ITEMS}, or a file of such lines",
    ),
    argument(
        *("--model", "-m"),
        names=FILES,
        action="append",
        required=True,
        type=_absolute,
        metavar="FOLDER|hub:OWNER/NAME|URL",
    ),
)
def run(options: argparse.Namespace) -> int:
    """Begin with your own data and models: write a profile that names only these.

    Every other key has a default; `vouch use` writes them all into params.yaml. A data folder holds
    items.jsonl and images; a file of such lines may be given itself. A table (CSV, Parquet) needs an entry by
    hand, with `loader: table` and a meaning for each column (docs/add-a-dataset.md). A model is one of these:
    a folder of weights or of released answers; a repository of the hub, which is pinned in models.lock and
    needs the network; or a server that speaks OpenAI's protocol, which becomes an entry of models.lock (write
    URL#NAME if it serves several models). A server is asked once, in a few requests of one token, whether it
    takes images and gives log-probabilities; if it gives none, the profile asks for texts as well.

    Examples:
      vouch new mine --data ../kites --model ../weights/my-model
      vouch new mine --data ../kites --data ../signs --model hub:OWNER/NAME --model http://127.0.0.1:8000/v1
      then: vouch use mine; dvc repro
    """
    path = PROFILES / f"{options.name}.yaml"
    if not re.fullmatch(NAME, options.name):
        raise UserError(
            f"{options.name[:80]}: a name is a lower-case letter, then lower-case letters, digits, _"
        )
    if path.exists():
        raise UserError(f"{path}: exists already; take another name, or delete it")
    data = [lines_of(given) for given in options.data]
    questions = [count(path) for path in data]
    names = _distinct("--data", [str(path) for path in data], [_slug(_called(path), "data") for path in data])
    datasets = dict(zip(names, map(_entry, data), strict=True))
    before = MODELS.read_text(encoding="utf-8")
    lock, named, notes = before, list[tuple[str, str]](), list[str]()
    for wanted in options.model:
        lock, name, source = _model(wanted, lock, notes)
        named.append((name, source))
    _distinct("--model", options.model, [name for name, _ in named])
    models = dict(named)
    trained = dict(_trained(models))
    silent = _without_letters(models, lock)
    outputs = [*([] if len(silent) == len(models) else [LETTERS]), TEXT] if silent else None
    text = _profile(options.name, datasets, models, trained, outputs)
    try:
        if lock != before:
            write_text(MODELS, lock)
        check_params(loads(as_params(text, str(path)), str(path)), str(path))
        _check_folders(models)
    except UserError:
        write_text(MODELS, before)
        raise
    write_text(path, text)
    counted = ", ".join(f"{n} questions of {name}" for name, n in zip(datasets, questions, strict=True))
    next_steps = "switches to it, `dvc repro` runs it and builds reports/index.html"
    print(f"new: {path}: {plain(counted)}, for {plain(', '.join(models))}")
    for name in _without_images(models, lock):
        print(f"new: {plain(name)} takes no images: it is asked the questions without them")
    for name, why in silent.items():
        texts = f"has `outputs: [{', '.join(outputs or ())}]`, so that its texts are scored"
        print(f"new: {plain(name)} gives no letters: {why}; {path} {texts}")
    notes += [
        f"{name}: `train.{name}` in the profile is how it was trained; `dvc pull` brings its weights, so it "
        "is not trained again"
        for name in trained
    ]
    print(plain_lines(f"new: {note}" for note in notes), end="")
    print(f"new: `vouch use {options.name}` {next_steps}")
    return 0


def lines_of(given: str) -> Path:
    """The file of questions that --data means: the given one, or a folder's items.jsonl. Raises UserError."""
    path = Path(given)
    if path.is_file() and path.suffix.lower() == LINES:
        return path
    if (path / ITEMS).is_file():
        return path / ITEMS
    raise UserError(f"{_not_data(given, path)} (docs/add-a-dataset.md)")


def _not_data(given: str, path: Path) -> str:
    """What is wrong with --data, and what to do."""
    if given.startswith(HUB) or SERVER.match(given):
        return f"{given}: is not on this machine; write the entry into a profile by hand, with an `origin`"
    if not path.exists():
        return f"{path}: no such folder or file; --data names a folder that holds {ITEMS}"
    if table := _first(path, TABLES):
        return (
            f"{table}: is a table, of which only you know what each column holds; name its folder in a "
            "profile with `loader: table` and `settings: {columns: ...}`"
        )
    if (path / "config.json").is_file():
        return f"{path}: is a model; give it with --model, and the folder of your questions with --data"
    if lines := _first(path, [LINES]):
        return f"{path}: has no {ITEMS}, but {lines.name}; give that file: --data {_relative(str(lines))}"
    if other := _first(path, [".json"]):
        return f"{other}: is one JSON document; write {ITEMS}, with one JSON object on each line"
    if image := _first(path, IMAGES):
        return f"{image}: is an image; write the questions into {ITEMS} beside it, one on each line"
    return f"{path}: has no {ITEMS}; write your questions into it, one JSON object on each line"


def _first(given: Path, endings: Sequence[str]) -> Path | None:
    """The given file, or the first in the given folder, if it has one of these endings."""
    files = [given] if given.is_file() else sorted(given.glob("*"))
    return next((path for path in files if path.suffix.lower() in endings and path.is_file()), None)


def count(path: Path) -> int:
    """The number of questions in a file of lines. Raises UserError if there are none."""
    questions = jsonl.count(SourceFiles(path.parent), "", jsonl.Settings(file=path.name))
    if not questions:
        raise UserError(f"{path}: is empty; put one JSON object per line into it (docs/add-a-dataset.md)")
    return questions


def _called(path: Path) -> str:
    """The name of a dataset: that of its folder, or of a file with another name than is usual."""
    return path.parent.name if path.name == ITEMS else path.stem


def _entry(path: Path) -> dict[str, Any]:
    """A dataset's entry in the profile."""
    settings = {} if path.name == ITEMS else {"settings": flow(file=path.name)}
    return {"source": _relative(str(path.parent)), "template": TEMPLATE, **settings}


def _relative(folder: str) -> str:
    return Path(os.path.relpath(folder)).as_posix()


def _slug(name: str, other: str) -> str:
    """A name for a folder or model, without accents; `other` if no characters of a-z and 0-9 are left."""
    letters = "".join(char for char in unicodedata.normalize("NFKD", name) if not unicodedata.combining(char))
    return model_slug(letters) if re.search("[a-z0-9]", letters.lower()) else other


def _model(given: str, lock: str, notes: list[str]) -> tuple[str, str, str]:
    """models.lock with the entry that the model needs, the model's name, and its source for params.yaml.

    notes: lines for the user are added to them.
    """
    if given.startswith(HUB):
        return _of_hub(given.removeprefix(HUB), lock)
    if SERVER.match(given):
        address = urlsplit(given)
        if address.hostname in HOSTS:
            repo = "/".join(address.path.strip("/").split("/")[:2])
            raise UserError(f"{given}: is a page of the hub, not a server; write {HUB}{repo}")
        return _of_server(given, lock, notes)
    source = _relative(given)
    if not Path(given).exists() and Path(source).parent != TRAINED:
        raise UserError(_not_a_model(Path(given), lock))
    return lock, _slug(Path(given).name, "model"), source


def _of_hub(repo: str, lock: str) -> tuple[str, str, str]:
    known = _locked(lock)
    there = [n for n, one in known.items() if one.source.kind == "hub" and one.source.repo == repo]
    if not there and not re.fullmatch(r"[^/]+/[^/]+", repo):
        here = known.get(repo)
        meant = (
            here.source.repo if here and here.source.kind == "hub" else f"OWNER/{repo.strip('/') or 'NAME'}"
        )
        raise UserError(
            f"{HUB}{repo}: is no OWNER/NAME, as the hub's page of the model has it; write {HUB}{meant}"
        )
    name = there[0] if there else _slug(repo.rpartition("/")[2], "model")
    if not there and name in known:
        raise UserError(
            f"{MODELS}: {name} is another model; rename that entry, or add this one by "
            f"`vouch lock NAME --repo {repo}`"
        )
    if not there or not known[name].pinned:
        lock, _ = locked(lock, name, None if there else repo, None)
    return lock, name, str(MODELS)


def _locked(lock: str) -> Mapping[str, LockEntry]:
    return validated(Models, loads(lock, str(MODELS)), str(MODELS)).models


def _not_a_model(path: Path, lock: str) -> str:
    """What to write for a model that is no folder here."""
    entry = _locked(lock).get(path.name)
    if entry and entry.source.kind == "hub":
        return f"{path}: no such folder; {MODELS} has a model {path.name}: write {HUB}{entry.source.repo}"
    repo = "OWNER/NAME" if path.parent.is_dir() else f"{path.parent.name}/{path.name}"
    return f"{path}: no such folder; give a folder, {HUB}{repo} or the address of a server"


def _check_folders(models: dict[str, str]) -> None:
    """Raises UserError for a folder or file that is neither a whole model nor answers."""
    for name, source in models.items():
        here = Path(source)
        if here == MODELS or here.parent == TRAINED:
            continue
        if problem := _no_model(here):
            raise UserError(f"{here}: {problem}")
        if is_model(here):
            check_model_folder(here)
            check_model_type(read_json(here / "config.json"), source)
        else:
            answer_files(here, name)


def _no_model(path: Path) -> str:
    """What is wrong with a folder or file given as a model; empty if it may be one, or holds answers."""
    whole = path.parent if path.is_file() else path
    if path.is_file() and (whole / "config.json").is_file():
        return f"is one file of a model; give its folder, {whole}"
    if not (whole / "config.json").is_file() and _first(path, [".gguf"]):
        return (
            "is GGUF, which llama.cpp runs: start `llama-server -m FILE --mmproj FILE` and give its address, "
            "http://127.0.0.1:8080/v1"
        )
    if path.is_file() and path.suffix in (WEIGHT_SUFFIX, *PICKLED):
        return (
            "is one file of weights; give a folder that also has config.json, the tokenizer and the processor"
        )
    answers = (path / INDEX).is_file() or (path / "config.json").is_file()
    if path.is_dir() and not answers and (path / ITEMS).is_file():
        return f"holds questions ({ITEMS}), not a model; give it with --data, and a model with --model"
    return ""


def _without_images(models: dict[str, str], lock: str) -> Iterator[str]:
    """The models that take no images, as far as is known."""
    entries = _locked(lock)
    return (name for name, source in models.items() if not sees_images(name, source, entries.get(name)))


def _without_letters(models: dict[str, str], lock: str) -> dict[str, str]:
    """The models that give no letters, with the reason, as far as is known."""
    entries = _locked(lock)
    lacking = {name: cannot_give(entries[name]) for name in models if name in entries}
    return {name: reasons[LETTERS] for name, reasons in lacking.items() if LETTERS in reasons}


def _trained(models: dict[str, str]) -> Iterator[tuple[str, Any]]:
    """The entries of `train` for models that a stage makes: from params.yaml, or else from a profile.

    Raises UserError if none of them has such an entry.
    """
    for source in map(Path, models.values()):
        if source.parent == TRAINED:
            entries = (load(path).get("train") or {} for path in (PARAMS, *sorted(PROFILES.glob("*.yaml"))))
            known = next((train for train in entries if source.name in train), None)
            if known is None:
                raise UserError(
                    f"{source}: no profile trains {source.name}, and {TRAINED} is only for what the stage "
                    "train makes; move the folder elsewhere, or correct its name"
                )
            yield source.name, known[source.name]


def _of_server(given: str, lock: str, notes: list[str]) -> tuple[str, str, str]:
    from vouch.models.server.abilities import served_abilities
    from vouch.models.server.client import served

    url, _, name = given.partition("#")
    if not name:
        names = served(url)
        if len(names) != 1:
            listed = ", ".join(names[:10]) or "none"
            raise UserError(f"{url}: serves {len(names)} models ({listed}); choose one, {url}#NAME")
        (name,) = names
    document = editor().load(lock)
    short = _file(name)
    slug = _slug(re.sub(r"(?i)\.gguf$", "", short), "model")
    entry = document["models"].get(slug)
    if entry is None:
        if "#" in given:
            _check_listed(url, name)
        if short != name:
            notes.append(
                f"{slug}: its server calls it by the path of a file, {name}, and so does {MODELS} now; start "
                "llama.cpp with `--alias NAME` (vLLM with `--served-model-name NAME`) for a name that lasts"
            )
        can = served_abilities(slug, url, name)
        unknown = [*(["takes images"] if can.sees is None else [])]
        unknown += ["gives log-probabilities"] if can.outputs is None else []
        if unknown:
            notes.append(
                f"{slug}: {url} gives no answer that says whether it {' and '.join(unknown)}; once it does, "
                f"`vouch lock {slug}` asks it and writes that down"
            )
        document["models"].fa.set_block_style()
        document["models"][slug] = {
            "engine": SERVER_ENGINE,
            "source": flow(kind="server", url=url, name=name),
            **({"sees": False} if can.sees is False else {}),
            **({"outputs": flowing(can.outputs)} if can.outputs not in (None, OUTPUTS) else {}),
        }
    elif entry["source"].get("url") != url or entry["source"].get("name") != name:
        raise UserError(
            f"{MODELS}: {slug} is another model; rename that entry, or name this one by hand there"
        )
    return edited(document), slug, str(MODELS)


def _check_listed(url: str, name: str) -> None:
    """Raises UserError if a server lists its models and this one is not among them.

    A name may lack a tag (`:latest` at Ollama) or have one (`:online` at OpenRouter).
    """
    from vouch.models.server.client import served

    try:
        names = served(url)
    except UserError:  # not every server gives its list to everybody
        return
    if names and not {name, f"{name}:latest", name.rpartition(":")[0]}.intersection(names):
        raise UserError(
            f"{url}: serves no model {name[:80]}; {did_you_mean(name, names)}; correct the name after #, or "
            f"write the entry into {MODELS} by hand"
        )


def _file(name: str) -> str:
    """The last part of a server's name for a model if it is an absolute path or a file of llama.cpp."""
    parts = re.split(r"[/\\]", name)
    is_path = parts[-1].lower().endswith(".gguf") or re.fullmatch("|[A-Za-z]:", parts[0])
    return parts[-1] if is_path and parts[-1] else name


def _distinct(kind: str, given: list[str], names: list[str]) -> list[str]:
    """The names. Raises UserError if two are the same."""
    first: dict[str, str] = {}
    for each, name in zip(given, names, strict=True):
        if first.get(name) == each:
            raise UserError(f"{kind}: {each}: is given twice; name it once")
        if name in first:
            advice = _renaming(first[name], each)
            raise UserError(f"{kind}: {first[name]} and {each} would both be called {name}; {advice}")
        first[name] = each
    return names


def _renaming(*given: str) -> str:
    """What to do about two that would have one name: only a folder can be renamed."""
    folders = [one for one in given if not (one.startswith(HUB) or SERVER.match(one))]
    if folders:
        return "rename a folder" if len(folders) > 1 else f"rename {folders[0]}"
    return f"leave one out, and write it into {MODELS} and the profile under another name"


def _profile(
    name: str,
    datasets: dict[str, dict[str, Any]],
    models: dict[str, str],
    train: dict[str, Any],
    outputs: Sequence[str] | None,
) -> str:
    document = editor().load(
        f"{MODELINE}../{FOLDER}/params.json\n"
        "# Data and models; every other key has a default, which `vouch use` writes out (docs/profiles.md).\n"
        f"profile: {name}\ndatasets: {{}}\nmodels: {{}}\n"
    )
    for section in (document["datasets"], document["models"]):
        section.fa.set_block_style()
    document["datasets"].update({key: flow(**entry) for key, entry in datasets.items()})
    document["models"].update(models)
    if outputs:
        document["outputs"] = flowing(outputs)
    if train:
        document["train"] = {key: flow(**values) for key, values in train.items()}
    return edited(document)
