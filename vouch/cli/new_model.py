"""The models that `vouch new` is given: folders, repositories of the hub and servers.

Each gets a name and a source for params.yaml, and one of the hub or on a server an entry of models.lock.
"""

import os
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from vouch.cli.lock import locked
from vouch.cli.use import edited, editor, flow, flowing
from vouch.datasets.loaders import jsonl
from vouch.models.kinds import check_model_type, sees_images
from vouch.models.lock_entry import SERVER_ENGINE, LockEntry, ServerSource
from vouch.models.model_folder import PICKLED, check_model_folder, is_model
from vouch.models.released.files import INDEX, answer_files
from vouch.models.unsupported import unsupported_outputs
from vouch.params.check import TRAINED
from vouch.params.project import LONGEST_SLUG, MODELS, Models
from vouch.pipeline.errors import UserError, did_you_mean
from vouch.pipeline.validation import validated
from vouch.pipeline.yaml12 import loads
from vouch.tables.answered import WEIGHT_SUFFIX, read_json
from vouch.tables.asked import LETTERS, OUTPUTS
from vouch.tables.results import model_slug

HUB = "hub:"
SERVER = re.compile(r"https?://")
ITEMS = jsonl.Settings().file
HUB_PAGE = re.compile(r"https?://(?:huggingface\.co|hf\.co)(?::\d+)?(?=[/?#]|$)([^?#]*)", re.IGNORECASE)


def model_of(given: str, lock: str, notes: list[str]) -> tuple[str, str, str]:
    """models.lock with the entry that the model needs, the model's name, and its source for params.yaml.

    notes: lines for the user are added to them.
    """
    if given.startswith(HUB):
        return _of_hub(given.removeprefix(HUB), lock)
    if SERVER.match(given):
        if page := HUB_PAGE.match(given):
            repo = "/".join(page[1].strip("/").split("/")[:2])
            raise UserError(f"{given}: is a page of the hub, not a server; write {HUB}{repo}")
        return _of_server(given, lock, notes)
    source = relative(given)
    if not Path(given).exists() and Path(source).parent != TRAINED:
        raise UserError(_not_a_model(Path(given), lock))
    return lock, slug_of(Path(given).name, "model"), source


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
    name = there[0] if there else slug_of(repo.rpartition("/")[2], "model")
    if not there and name in known:
        raise UserError(
            f"{MODELS}: {name} is another model; rename that entry, or add this one by "
            f"`vouch lock NAME --repo {repo}`"
        )
    if not there or not known[name].pinned:
        lock, _ = locked(lock, name, None if there else repo, None)
    return lock, name, str(MODELS)


def _of_server(given: str, lock: str, notes: list[str]) -> tuple[str, str, str]:
    from vouch.models.server.abilities import served_abilities

    url, _, name = given.partition("#")
    _check_server(url, name or "any")  # nothing is sent to an address that holds a key
    name = name or _only_one(url)
    document = editor().load(lock)
    short = _file(name)
    slug = slug_of(re.sub(r"(?i)\.gguf$", "", short), "model")
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


def _only_one(url: str) -> str:
    """The name of the one model that a server serves. Raises UserError."""
    from vouch.models.server.client import served

    names = served(url)
    if not names:
        raise UserError(f"{url}: serves no models yet; load one there first, or write {url}#NAME")
    if len(names) != 1:
        listed = ", ".join(_cut(names[:10]))
        raise UserError(f"{url}: serves {len(names)} models ({listed}); choose one, {url}#NAME")
    _check_server(url, names[0])
    return names[0]


def _check_server(url: str, name: str) -> None:
    """Raises UserError unless models.lock may hold this address and name."""
    validated(ServerSource, {"kind": "server", "url": url, "name": name}, "--model")


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
            f"{url}: serves no model {name[:80]}; {did_you_mean(name, _cut(names))}; correct the name after "
            f"#, or write the entry into {MODELS} by hand"
        )


def _cut(names: Sequence[str]) -> list[str]:
    """A server's names, short enough for a line."""
    return [name[:80] for name in names]


def _file(name: str) -> str:
    """The last part of a server's name for a model if it is an absolute path or a file of llama.cpp."""
    parts = re.split(r"[/\\]", name)
    is_path = parts[-1].lower().endswith(".gguf") or re.fullmatch("|[A-Za-z]:", parts[0])
    return parts[-1] if is_path and parts[-1] else name


def _locked(lock: str) -> Mapping[str, LockEntry]:
    return validated(Models, loads(lock, str(MODELS)), str(MODELS)).models


def _not_a_model(path: Path, lock: str) -> str:
    """What to write for a model that is no folder here."""
    entry = _locked(lock).get(path.name)
    if entry and entry.source.kind == "hub":
        return f"{path}: no such folder; {MODELS} has a model {path.name}: write {HUB}{entry.source.repo}"
    repo = "OWNER/NAME" if path.parent.is_dir() else f"{path.parent.name}/{path.name}"
    return f"{path}: no such folder; give a folder, {HUB}{repo} or the address of a server"


def check_folders(models: dict[str, str], lock: str) -> None:
    """Raises UserError for a folder or file that is neither a whole model nor answers."""
    entries = _locked(lock)
    for name, source in models.items():
        here = Path(source)
        own_code = name in entries and entries[name].program
        if here == MODELS or here.parent == TRAINED or own_code:
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
    if not (whole / "config.json").is_file() and first_file(path, [".gguf"]):
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


def without_images(models: dict[str, str], lock: str) -> Iterator[str]:
    """The models that take no images, as far as is known."""
    entries = _locked(lock)
    return (name for name, source in models.items() if not sees_images(name, source, entries.get(name)))


def without_letters(models: dict[str, str], lock: str) -> dict[str, str]:
    """The models that give no letters, with the reason, as far as is known."""
    entries = _locked(lock)
    unsupported = {name: unsupported_outputs(entries[name]) for name in models if name in entries}
    return {name: reasons[LETTERS] for name, reasons in unsupported.items() if LETTERS in reasons}


def first_file(given: Path, endings: Sequence[str]) -> Path | None:
    """The given file, or the first in the given folder, if it has one of these endings."""
    files = [given] if given.is_file() else sorted(given.glob("*"))
    return next((path for path in files if path.suffix.lower() in endings and path.is_file()), None)


def relative(folder: str) -> str:
    """A folder's path from here, for params.yaml."""
    return Path(os.path.relpath(folder)).as_posix()


def slug_of(name: str, other: str) -> str:
    """A short name for a folder or model, without accents; `other` if none of a-z and 0-9 are left."""
    letters = "".join(char for char in unicodedata.normalize("NFKD", name) if not unicodedata.combining(char))
    slug = model_slug(letters) if re.search("[a-z0-9]", letters.lower()) else other
    return slug[:LONGEST_SLUG].rstrip("_")
