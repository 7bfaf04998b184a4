"""DVC's stored data: objects of its cache or a remote, compared with their names, and its records of runs."""

import hashlib
import json
import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any

from vouch.pipeline.errors import UserError
from vouch.pipeline.files import write_text
from vouch.pipeline.records import DIGEST, check_lock
from vouch.pipeline.yaml12 import dumped

_CHUNK = 1 << 20


class Store:
    """Objects by digest; a name with .dir is a folder's list of files. place: its name in messages."""

    def __init__(self, odb: Any, place: str) -> None:
        self._odb, self.place = odb, place

    def names(self) -> list[str]:
        """Names of all objects, sorted; temporary files of transfers lie beside them."""
        return sorted(name for name in self._odb.all() if DIGEST.fullmatch(name))

    def path(self, name: str) -> str:
        """The path of an object in the store's own file system."""
        return str(self._odb.oid_to_path(name))

    def is_whole(self, name: str) -> bool:
        """Whether an object's content has the digest that is its name."""
        digest = hashlib.md5(usedforsecurity=False)
        with self._odb.fs.open(self.path(name), "rb") as handle:
            while chunk := handle.read(_CHUNK):  # hashlib.file_digest cannot read a file over SSH
                digest.update(chunk)
        return digest.hexdigest() == name[:32]

    def naming(self, damaged: set[str], whole: list[str]) -> list[str]:
        """Folder lists that name a damaged object; while such a list exists, DVC does not check its files."""
        return [name for name in whole if name.endswith(".dir") and damaged & self._listed(name).keys()]

    def missing(self, name: str) -> list[str]:
        """Files of a folder whose objects are missing here; empty if the folder's list is missing too."""
        there = set(self.names())
        listed = self._listed(name) if name in there else {}
        return sorted(path for digest, path in listed.items() if digest not in there)

    def remove(self, name: str) -> None:
        """Removes an object."""
        self._odb.fs.remove(self.path(name))

    def _listed(self, name: str) -> dict[str, str]:
        """Digest -> path of the files of a folder."""
        with self._odb.fs.open(self.path(name), "rb") as handle:
            return {entry["md5"]: entry["relpath"] for entry in json.loads(handle.read())}


def object_path(name: str) -> Path:
    """The path at which DVC's cache has, or would have, an object. Raises UserError."""
    return _path_in(_objects(), name)


def _path_in(objects: Path, name: str) -> Path:
    return objects / name[:2] / name[2:]


def _objects() -> Path:
    """The folder of objects in DVC's cache; only DVC's settings are loaded. Raises UserError."""
    from dvc.config import Config, ConfigError

    try:
        settings = Config(dvc_dir=str(Path(".dvc").absolute()))["cache"]
    except ConfigError as error:
        raise UserError(f".dvc/config: {' '.join(str(error).split())}; correct it") from None
    return Path(settings.get("dir", ".dvc/cache")) / "files" / "md5"


def held(digests: Iterable[str]) -> set[str]:
    """Those of the digests whose objects are in DVC's cache; a folder needs all its files there.

    Only folder lists are read. Raises UserError, OSError.
    """
    objects = _objects()

    def there(name: str) -> bool:
        path = _path_in(objects, name)
        if not path.exists():
            return False
        try:
            listed = (
                [entry["md5"] for entry in json.loads(path.read_bytes())] if name.endswith(".dir") else []
            )
        except (ValueError, KeyError, TypeError):
            raise UserError(f"{path}: damaged; `vouch store verify --mend` removes what is damaged") from None
        return all(map(there, listed))

    return {name for name in digests if there(name)}


def fetch(digests: Iterable[str]) -> set[str]:
    """Brings files that DVC's cache lacks from the default remote, if any; returns those that neither has.

    Raises UserError if the remote does not answer, or if a file in the cache is damaged.
    """
    digests = set(digests)
    if missing := digests - held(digests):
        with repository() as repo:
            if repo.config["core"].get("remote"):
                from dvc_data.hashfile.hash_info import HashInfo

                # the caller says what is missing
                logging.getLogger("dvc.data_cloud").setLevel(logging.ERROR)
                repo.cloud.pull([HashInfo("md5", name) for name in sorted(missing)])
        missing -= held(missing)
    objects = _objects()
    for name in sorted(digests - missing):
        path = _path_in(objects, name)
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False))
        if digest.hexdigest() != name:
            raise UserError(
                f"{path}: damaged; `vouch store verify --mend` removes what is damaged; then run this again"
            )
    return missing


@contextmanager
def cache() -> Iterator[Store]:
    """DVC's cache of this checkout. Raises UserError."""
    with repository() as repo:
        yield Store(repo.cache.local, "DVC's cache")


@contextmanager
def remote(name: str | None) -> Iterator[Store]:
    """A remote, or the default one. Raises UserError if it is unknown or does not answer."""
    with repository() as repo:
        odb = repo.cloud.get_remote_odb(name, "verify", hash_name="md5")
        yield Store(odb, f"the remote {name}" if name else "the default remote")


def addresses() -> dict[str, str]:
    """The remotes of this checkout by name; the default one also as "". Raises UserError."""
    with repository() as repo:
        urls = {str(name): str(settings.get("url", "")) for name, settings in repo.config["remote"].items()}
        default = repo.config["core"].get("remote")
    return urls | ({"": urls[default]} if default in urls else {})


@contextmanager
def repository() -> Iterator[Any]:
    """This checkout as DVC opens it. Raises UserError if DVC refuses something in the block."""
    check_lock()
    from dvc.exceptions import DvcException
    from dvc.repo import Repo

    try:
        with Repo() as repo:
            yield repo
    except (DvcException, OSError) as error:
        if isinstance(error, OSError) and error.filename:
            raise  # about a file here: no remote is to blame
        what = "correct it, `dvc remote list` names the remotes there are"
        if "not a git repository" in str(error):
            what = "take a clone, or `git init` here"  # an archive of the repository has no .git
        raise UserError(f"dvc: {error}; {what}") from None


def remember(entries: Iterable[dict[str, Any]]) -> None:
    """Gives DVC a record of a run for each entry of dvc.lock that has none. Raises UserError.

    By these records DVC finds results of other parameters in its cache. It writes one when a stage runs, but
    none when results are pulled. These are named only in dvc.lock, until the next profile replaces it; they
    would then be computed again although the cache has them.
    """
    from dvc.stage.cache import _get_cache_hash

    with repository() as repo:
        for entry in entries:
            key = _get_cache_hash(deepcopy(entry), key=True)  # replaces the outputs of its argument by names
            path = Path(repo.stage_cache._get_cache_path(key, _get_cache_hash(entry)))
            if not path.exists():
                write_text(path, dumped(entry))
