"""Fetching a dataset of the Hugging Face hub at one commit. Its code is never run."""

from pathlib import Path
from typing import Any

from vouch.datasets.fetch.card import CARD, choose, match
from vouch.datasets.fetch.origin import Origin, check_name
from vouch.datasets.fetch.store import STORE, Found, StoredFile, check_room, digest_of
from vouch.pipeline.errors import UserError
from vouch.pipeline.hub import BRANCH, one_line

# Repositories that moved from one organisation to another: both are asked, the named one first.
ORGANISATIONS = (("lmms-lab", "lmms-lab-encoder"),)


def fetch_hub(name: str, origin: Origin) -> Found:
    """Brings the chosen files into the store and verifies each. name: the dataset's. Raises UserError."""
    repo, revision = str(origin.hub), origin.revision or BRANCH
    with one_line(repo, revision, f"vouch fetch {name}", f"datasets.{name}.origin"):
        repo, info = _info(repo, revision)
        commit = str(info.sha)
        there = {sibling.rfilename: sibling for sibling in info.siblings or ()}
        chosen = _chosen(repo, commit, origin, there)
        for file in chosen:
            try:
                check_name(file)
            except ValueError as error:
                raise UserError(f"{repo}: {error}") from None
        check_room(sum(there[file].size or 0 for file in chosen), repo)
        return Found(commit, tuple(_kept(repo, commit, file, there[file]) for file in chosen))


def commit_of(name: str, origin: Origin, revision: str) -> str:
    """The commit of a branch or tag that has what the origin chooses. name: the dataset's.

    Raises UserError.
    """
    repo = str(origin.hub)
    with one_line(repo, revision, f"vouch lock {name}", f"datasets.{name}.origin"):
        repo, info = _info(repo, revision)
        there = {sibling.rfilename: sibling for sibling in info.siblings or ()}
        _chosen(repo, str(info.sha), origin, there)
        return str(info.sha)


def same_repositories(repo: str) -> list[str]:
    """The repository and those that it may have moved to."""
    owner, _, rest = repo.partition("/")
    others = next((group for group in ORGANISATIONS if owner in group), ())
    return [repo, *(f"{other}/{rest}" for other in others if other != owner)]


def _info(repo: str, revision: str) -> tuple[str, Any]:
    """The first of the repositories that has the commit, and what the hub says of it."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError, RevisionNotFoundError

    error: Exception | None = None
    for candidate in same_repositories(repo):
        try:
            return candidate, HfApi().dataset_info(candidate, revision=revision, files_metadata=True)
        except GatedRepoError:
            raise
        except (RepositoryNotFoundError, RevisionNotFoundError) as problem:
            if error is None or isinstance(problem, RevisionNotFoundError):  # it is there: that says more
                error = problem
    assert error is not None
    raise error


def _chosen(repo: str, commit: str, origin: Origin, there: dict[str, Any]) -> list[str]:
    if origin.split is None:
        names = match(sorted(there), origin.files)
        missing = [pattern for pattern in origin.files if not match(sorted(there), [pattern])]
        if missing:
            raise UserError(f"{repo}: no file {missing[0]} at {commit[:12]}; correct origin.files")
        return names
    card = ""
    if CARD in there:
        card = _download(repo, commit, CARD).read_text(encoding="utf-8", errors="replace")
    return choose(sorted(there), card, origin.config, origin.split, repo)


def _download(repo: str, commit: str, name: str) -> Path:
    from huggingface_hub import hf_hub_download

    cache = STORE / "hub"
    return Path(hf_hub_download(repo, name, repo_type="dataset", revision=commit, cache_dir=cache))


def _kept(repo: str, commit: str, name: str, sibling: Any) -> StoredFile:
    """The file, fetched and compared with the digest that the hub gives. Raises UserError."""
    path = _download(repo, commit, name)
    size = path.stat().st_size
    expected = str(sibling.lfs.sha256 if sibling.lfs else sibling.blob_id)
    found = digest_of(path, expected)
    if expected != found or sibling.size not in (None, size):
        path.resolve().unlink(missing_ok=True)
        path.unlink(missing_ok=True)
        raise UserError(
            f"{repo}: {name}: {size:,} bytes of digest {found}, but the hub says {expected}; it was "
            "damaged on its way and is removed, fetch it again"
        )
    return StoredFile(name, str(path.absolute().relative_to(STORE.absolute())), size, expected)
