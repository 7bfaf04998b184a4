"""Fetching a pinned commit of a hub repository into the cache of huggingface_hub."""

from pathlib import Path

from stages.contracts.pins import LOADED_SUFFIXES
from stages.runtime.errors import UserError


def fetch(repo: str, revision: str) -> Path:
    """The folder that holds one commit, fetched where the cache lacks it. Raises UserError.

    Only files that a model is loaded from are fetched, and none of subfolders. With HF_HUB_OFFLINE=1
    the cache alone is asked.
    """
    from huggingface_hub import constants, snapshot_download
    from huggingface_hub.errors import (
        GatedRepoError,
        HfHubHTTPError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    try:
        return Path(
            snapshot_download(
                repo,
                revision=revision,
                allow_patterns=[f"*{suffix}" for suffix in LOADED_SUFFIXES],
                ignore_patterns=["*/*"],
                local_files_only=constants.HF_HUB_OFFLINE,
            )
        )
    except GatedRepoError:
        problem = "gated; accept its terms on the hub and log in with `hf auth login`"
    except RevisionNotFoundError:
        problem = "the repository has no such commit; correct source.revision in models.lock"
    except RepositoryNotFoundError:
        problem = (
            "no such repository, or a private one; correct source.repo in models.lock, or `hf auth login`"
        )
    except LocalEntryNotFoundError as error:
        problem = _not_local(error, constants.HF_HUB_OFFLINE)
    except HfHubHTTPError as error:
        problem = f"the hub answered {error.response.status_code}; log in with `hf auth login`, or try later"
    except Exception as error:  # whatever the transport or the disk raises in the middle of a download
        problem = f"the download broke off ({type(error).__name__}: {str(error)[:160]}); run `pin` again"
    raise UserError(f"{repo} at {revision[:12]}: {problem}")


def _not_local(error: Exception, offline: bool) -> str:
    if offline:
        return "not whole in the local cache; run `pin` without HF_HUB_OFFLINE"
    reason = type(error.__cause__ or error).__name__
    return f"no answer from the hub ({reason}) and not whole in the local cache; run `pin` with a network"
